"""Rules of ``protocol.toml``: releases in order, backends that hang together."""

from __future__ import annotations

from collections.abc import Iterator

from pdwire_codegen.diagnostics import did_you_mean
from pdwire_codegen.draft import Draft
from pdwire_codegen.reader.protocol import age_of
from pdwire_codegen.rules.rule import Finding, Rule, at


def release_order(draft: Draft) -> Iterator[Finding]:
    """Every release is a version, and each is newer than the one before it."""
    protocol = draft.protocol
    before: tuple[tuple[int, ...], int] | None = None
    for index, release in enumerate(protocol.written):
        here = age_of(release)
        path = ("releases", index)
        if here is None:
            yield at(
                protocol.document,
                path,
                f"{release!r} is not a release",
                "write 0.5.6 or 0.5.6.post1",
            )
        elif before is not None and here < before:
            hint = "list releases oldest first"
            yield at(protocol.document, path, f"{release} stands behind a newer release", hint)
        before = here or before


def unknown_since(draft: Draft) -> Iterator[Finding]:
    """``since`` is one of the releases."""
    for backend in draft.protocol.backends:
        if backend.since is not None and backend.since not in draft.protocol.releases:
            yield at(
                draft.protocol.document,
                ("backend", backend.name, "since"),
                f"backend {backend.name} is there since {backend.since!r}, which is no release",
                did_you_mean(backend.since, draft.protocol.releases),
            )


def inheritance(draft: Draft) -> Iterator[Finding]:
    """A parent exists, inherits nothing itself and is at least as old."""
    protocol = draft.protocol
    for backend in protocol.backends:
        if backend.inherits is None:
            continue
        path = ("backend", backend.name, "inherits")
        parent = protocol.backend(backend.inherits)
        if parent is None:
            hint = did_you_mean(backend.inherits, (item.name for item in protocol.backends))
            text = f"{backend.name} inherits from {backend.inherits!r}, which is no backend"
            yield at(protocol.document, path, text, hint)
        elif parent.inherits is not None:
            text = f"{backend.name} inherits from {parent.name}, which inherits itself"
            yield at(protocol.document, path, text, "name the backend at the root")
        elif len(protocol.releases_of(backend.name)) > len(protocol.releases_of(parent.name)):
            text = f"{backend.name} is older than {parent.name}, from which it inherits"
            yield at(protocol.document, path, text, "correct one of the two `since`")


RULES = (
    Rule(
        id="release-order",
        holds="Releases are versions, oldest first.",
        check=release_order,
    ),
    Rule(id="unknown-since", holds="`since` is a known release.", check=unknown_since),
    Rule(
        id="bad-inheritance",
        holds="A backend inherits from one that is known, older, and inherits nothing.",
        check=inheritance,
    ),
)
