"""Rules of released layouts: what peers speak does not change.

Rules: these look at the built model, file by file, and only at files without other
faults, because half a layout has no fingerprint worth comparing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from pdwire_codegen.diagnostics import Fault
from pdwire_codegen.lock_file import Lock, LockedLayout
from pdwire_codegen.model import Layout, Message
from pdwire_codegen.released import Released

Broken = set[tuple[str, str | None]]
"""Group and name of messages that were not built; no name where that is unknown."""

LOCK_RULES = {
    "changed-released-layout": "A locked layout travels as it did when it was locked.",
    "removed-released-layout": "A locked layout is still there.",
    "moved-release": "A release stays in the layout that it was locked with.",
    "unlocked-layout": "Every layout is locked.",
    "lock-form": "The lock's lines are as they were written, from the first to the last.",
    "missing-lock": "A protocol has a lock; only `pdwire generate --lock` makes a first one.",
}


def lock_faults(
    lock: Lock,
    messages: Iterable[Message],
    *,
    broken: Broken,
    new_allowed: bool,
    demanded: bool = True,
    released: Released | None = None,
) -> Iterator[Fault]:
    """Compare built messages with the lock.

    Nothing is said about ``broken`` ones. ``new_allowed`` accepts layouts that the lock
    does not have yet, and without ``demanded`` there need be no lock. ``released`` says how a
    layout changed, and stands in for a lock that is missing and need not be there.
    """
    folder = lock.file.rpartition("/")[0]
    # Where the lock is missing or cut off, each of its layouts is missing for one reason.
    new_allowed = new_allowed or bool(lock.missing) or lock.broken
    if lock.missing and demanded:
        yield _missing(lock)
    if lock.missing and released is not None:
        lock = replace(released.lock, missing="")
    found: set[tuple[str, str, str]] = set()
    for message in messages:
        for layout in message.layouts:
            key = (message.group, message.name, layout.id)
            found.add(key)
            entry, file = lock.entries.get(key), f"{folder}/{message.group}/{message.module}.toml"
            if entry is not None:
                yield from _compare(file, message, layout, entry, released)
            elif not new_allowed:
                yield _unlocked(file, message, layout)
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


def _missing(lock: Lock) -> Fault:
    return Fault(
        file=lock.file,
        line=1,
        rule="missing-lock",
        message=f"{lock.missing}: nothing holds released layouts to what they were",
        hint="restore it from version control; for a new protocol: pdwire generate --lock",
    )


def _unlocked(file: str, message: Message, layout: Layout) -> Fault:
    return Fault(
        file=file,
        line=layout.line,
        rule="unlocked-layout",
        message=f"layout {layout.id} of {message.name} is not in the lock",
        hint="when it is right: pdwire generate --lock",
    )


def _compare(
    file: str, message: Message, layout: Layout, entry: LockedLayout, released: Released | None
) -> Iterator[Fault]:
    if layout.fingerprint != entry.fingerprint:
        told = f"is {layout.fingerprint[:16]}, and was released as {entry.fingerprint[:16]}"
        if released is not None and (
            changes := released.changes(message, layout, entry.fingerprint)
        ):
            told = f"is not as it was released: {'; '.join(changes)}"
        yield Fault(
            file=file,
            line=layout.line,
            rule="changed-released-layout",
            message=f"layout {layout.id} of {message.name} {told}",
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
