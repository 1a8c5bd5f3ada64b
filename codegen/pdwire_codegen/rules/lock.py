"""Rules of released layouts: what peers speak does not change.

Rules: these look at the built model, file by file, and only at files without other
faults, because half a layout has no fingerprint worth comparing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pdwire_codegen.diagnostics import Fault
from pdwire_codegen.lock_file import Lock, LockedLayout
from pdwire_codegen.model import Layout, Message

Broken = set[tuple[str, str | None]]
"""Group and name of messages that were not built; no name where that is unknown."""

LOCK_RULES = {
    "changed-released-layout": "A locked layout travels as it did when it was locked.",
    "removed-released-layout": "A locked layout is still there.",
    "moved-release": "A release stays in the layout that it was locked with.",
    "unlocked-layout": "Every layout is locked.",
    "lock-form": "The lock's lines are as they were written.",
}


def lock_faults(
    lock: Lock, messages: Iterable[Message], *, broken: Broken, new_allowed: bool
) -> Iterator[Fault]:
    """Compare built messages with the lock.

    Nothing is said about ``broken`` ones. ``new_allowed`` accepts layouts that the lock
    does not have yet.
    """
    found: set[tuple[str, str, str]] = set()
    for message in messages:
        for layout in message.layouts:
            key = (message.group, message.name, layout.id)
            found.add(key)
            entry = lock.entries.get(key)
            if entry is not None:
                yield from _compare(_file(lock, message), message, layout, entry)
            elif not new_allowed:
                yield _unlocked(_file(lock, message), message, layout)
    for key, entry in lock.entries.items():
        silent = {(entry.group, entry.message), (entry.group, None)} & broken
        if key not in found and not silent:
            yield Fault(
                file=lock.file,
                line=entry.line,
                rule="removed-released-layout",
                message=f"layout {entry.layout} of {entry.group} {entry.message} is gone",
                hint="peers still speak it; restore it",
            )


def _file(lock: Lock, message: Message) -> str:
    """The message's file, called as the lock's own folder is."""
    return f"{lock.file.rpartition('/')[0]}/{message.group}/{message.module}.toml"


def _unlocked(file: str, message: Message, layout: Layout) -> Fault:
    return Fault(
        file=file,
        line=layout.line,
        rule="unlocked-layout",
        message=f"layout {layout.id} of {message.name} is not in the lock",
        hint="when it is right: pdwire generate --lock",
    )


def _compare(file: str, message: Message, layout: Layout, entry: LockedLayout) -> Iterator[Fault]:
    if layout.fingerprint != entry.fingerprint:
        yield Fault(
            file=file,
            line=layout.line,
            rule="changed-released-layout",
            message=f"layout {layout.id} of {message.name} is {layout.fingerprint[:16]}, "
            f"and was released as {entry.fingerprint[:16]}",
            hint="released layouts do not change: add a layout for the releases that differ",
        )
    for backend, releases in entry.speakers.items():
        gone = [item for item in releases if item not in layout.speakers.get(backend, ())]
        if gone:
            yield Fault(
                file=file,
                line=layout.line,
                rule="moved-release",
                message=f"{backend} {', '.join(gone)} left layout {layout.id} of {message.name}",
                hint="a release speaks what it spoke when it was locked",
            )
