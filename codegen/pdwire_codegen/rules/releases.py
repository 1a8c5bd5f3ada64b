"""Rules of release lists: known releases, each of a backend in exactly one place."""

from __future__ import annotations

from collections.abc import Iterator

from pdwire_codegen.diagnostics import did_you_mean
from pdwire_codegen.draft import Draft, DraftMessage, ReleaseList
from pdwire_codegen.facts import absent_of, by_age, expand, speakers
from pdwire_codegen.rules.rule import Finding, Rule, at, each_message_of


def _lists(message: DraftMessage) -> Iterator[ReleaseList]:
    yield from (layout.releases for layout in message.layouts)
    yield from (absent.releases for absent in message.absent)


def bad_release(draft: Draft, message: DraftMessage) -> Iterator[Finding]:
    """Every release of a list, and both ends of a range, are known."""
    known = draft.protocol.releases
    for releases in _lists(message):
        for index, item in enumerate(releases.items):
            for release in item.split("..", 1):
                if release not in known:
                    path = (*releases.path, index)
                    hint = did_you_mean(release, known)
                    yield at(message.document, path, f"{release!r} is no release", hint)


def bad_range(draft: Draft, message: DraftMessage) -> Iterator[Finding]:
    """A range runs from an older release to a newer one."""
    known = draft.protocol.releases
    for releases in _lists(message):
        for index, item in enumerate(releases.items):
            first, dots, last = item.partition("..")
            if not dots or first not in known or last not in known:
                continue
            if known.index(first) >= known.index(last):
                path = (*releases.path, index)
                hint = f'write "{last}..{first}", or one release alone'
                yield at(message.document, path, f"the range {item} is empty or backwards", hint)


def duplicate_release(draft: Draft) -> Iterator[Finding]:
    """No list names a release twice."""
    top = draft.protocol
    for index, release in enumerate(top.written):
        if release in top.written[:index]:
            yield at(top.document, ("releases", index), f"{release} is listed twice", "drop one")
    for message in draft.messages:
        for releases in _lists(message):
            yield from _repeats(draft, message, releases)


def _repeats(draft: Draft, message: DraftMessage, releases: ReleaseList) -> Iterator[Finding]:
    seen: set[str] = set()
    for index, item in enumerate(releases.items):
        named = set(expand(item, draft.protocol.releases))
        if named & seen:
            again = ", ".join(
                release for release in draft.protocol.releases if release in named & seen
            )
            path = (*releases.path, index)
            yield at(message.document, path, f"{again} is listed twice in one list", "drop one")
        seen |= named


def release_in_two(draft: Draft, message: DraftMessage) -> Iterator[Finding]:
    """A backend's release is in one layout, or absent, never twice."""
    taken: dict[tuple[str, str], str] = {}
    for absent in message.absent:
        for release in absent_of(draft.protocol, message, absent.backend):
            taken[absent.backend, release] = "[absent]"
    for layout in message.layouts:
        clashes: dict[tuple[str, str], list[str]] = {}
        for backend, releases in speakers(draft.protocol, message, layout).items():
            for release in releases:
                if (other := taken.setdefault((backend, release), layout.id)) != layout.id:
                    clashes.setdefault((backend, other), []).append(release)
        for (backend, other), releases_ in clashes.items():
            text = f"{backend} {_span(releases_)} is in layout {layout.id} and in {other}"
            hint = "a release of a backend speaks one layout; take it out of one of them"
            yield at(message.document, layout.releases.path, text, hint)


def release_in_none(draft: Draft, message: DraftMessage) -> Iterator[Finding]:
    """Every release that has the backend is in a layout or absent."""
    spoken = {
        (backend, release)
        for layout in message.layouts
        for backend, releases in speakers(draft.protocol, message, layout).items()
        for release in releases
    }
    lacking: dict[tuple[str, ...], list[str]] = {}
    for backend in message.backends:
        if draft.protocol.backend(backend) is None:
            continue
        absent = absent_of(draft.protocol, message, backend)
        missing = tuple(
            release
            for release in draft.protocol.releases_of(backend)
            if (backend, release) not in spoken and release not in absent
        )
        if missing and backend not in lacking.get(missing, ()):
            lacking.setdefault(missing, []).append(backend)
    for missing, backends in lacking.items():
        shown = ", ".join(backends)
        text = f"{shown} {_span([*missing])} is in no layout of {message.shown}"
        hint = f"add it to a layout, or to [absent] {shown} with a reason"
        yield at(message.document, ("message", "backends"), text, hint)


def _span(releases: list[str]) -> str:
    """Releases for a message; a long list is shortened in the middle."""
    if len(releases) <= 4:
        return ", ".join(releases)
    return f"{releases[0]}, {releases[1]}, … {releases[-1]} ({len(releases)} releases)"


def layout_unspoken(draft: Draft, message: DraftMessage) -> Iterator[Finding]:
    """A layout is spoken by somebody."""
    for layout in message.layouts:
        usable = all(expand(item, draft.protocol.releases) for item in layout.releases.items)
        known = all(draft.protocol.backend(name) for name in layout.backends or message.backends)
        if usable and known and not speakers(draft.protocol, message, layout):
            text = f"no backend speaks layout {layout.id} in any release"
            yield at(message.document, layout.releases.path, text, "drop it or name its releases")


def newest_layout(draft: Draft, message: DraftMessage) -> Iterator[Finding]:
    """All backends that still have the message speak one newest layout."""
    if not draft.protocol.releases:
        return
    newest = draft.protocol.releases[-1]
    last: dict[str, list[str]] = {}
    for layout in by_age(draft, message):
        for backend, releases in speakers(draft.protocol, message, layout).items():
            if newest in releases:
                last.setdefault(layout.id, []).append(backend)
    if len(last) > 1:
        shown = "; ".join(f"{layout}: {', '.join(names)}" for layout, names in last.items())
        text = f"backends speak different layouts in {newest} ({shown})"
        hint = "the class has one newest layout; split the message into a file per group"
        yield at(message.document, ("message", "backends"), text, hint)


RULES = (
    Rule(
        id="bad-release",
        holds="Every release named in a message file is known.",
        check=each_message_of(bad_release),
    ),
    Rule(
        id="bad-range",
        holds="A range of releases runs from an older to a newer one.",
        check=each_message_of(bad_range),
    ),
    Rule(
        id="duplicate-release",
        holds="No list names a release twice.",
        check=duplicate_release,
    ),
    Rule(
        id="release-in-two",
        holds="A release of a backend is in one layout of a message, or absent, not both.",
        check=each_message_of(release_in_two),
    ),
    Rule(
        id="release-in-none",
        holds="Every release that has the backend is in a layout of the message or absent.",
        check=each_message_of(release_in_none),
    ),
    Rule(
        id="layout-unspoken",
        holds="Every layout is spoken by a backend in a release.",
        check=each_message_of(layout_unspoken),
    ),
    Rule(
        id="newest-layout",
        holds="All backends that still have a message speak the same newest layout.",
        check=each_message_of(newest_layout),
    ),
)
