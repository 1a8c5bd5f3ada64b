"""``pdwire show``: the spec's layouts, and what has been proved about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from pdwire.cli import proofs
from pdwire.cli.console import (
    FOUND,
    Format,
    Formatted,
    choose,
    console,
    did_you_mean,
    fail,
    print_json,
    remark,
)
from pdwire.cli.listing import Spoken, layout_json, messages_json, spoken
from pdwire.cli.render_show import layout_page, messages_table, proof_table
from pdwire.reading.export import packaged_spec
from pdwire.reading.spec import Message, Spec

Name = Annotated[
    str | None,
    typer.Argument(metavar="[MESSAGE]", help="A message's name; 'nixl.TransferInfo' is one too."),
]
OfBackend = Annotated[str | None, typer.Option("--backend", "-b", help="Only this backend.")]
OfRelease = Annotated[
    str | None, typer.Option("--release", "-r", help="Only what this release speaks.")
]
OfLayout = Annotated[str | None, typer.Option("--layout", "-l", help="Only this layout, r8.")]


def command(
    message: Name = None,
    *,
    backend: OfBackend = None,
    release: OfRelease = None,
    layout: OfLayout = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every layout, not only the newest that is left.")
    ] = False,
    verified: Annotated[
        bool, typer.Option("--verified", help="What was proved against which real release.")
    ] = False,
    format_: Formatted = Format.TABLE,
) -> None:
    """Show the layouts of a message; without one, list the messages of every backend.

    With MESSAGE the newest layout of each backend is shown, or the one that --release or
    --layout names, or --all of them.
    """
    spec = packaged_spec()
    choose("backend", backend, [each.name for each in spec.backends])
    choose("release", release, spec.releases)
    messages = _named(spec, message)
    told = sorted(
        _left(spec, messages, backend, release, layout), key=lambda one: _order(spec, one)
    )
    if not told:
        _explain_lack(messages, backend, release, layout)
    if verified:
        _verified(spec, told, format_)
    elif message is None and layout is None and not every:
        _list(spec, told, format_)
    else:
        newest = not every and layout is None and release is None
        _layouts(spec, _newest(told) if newest else told, format_)


def _named(spec: Spec, name: str | None) -> list[Message]:
    if name is None:
        return list(spec.messages)
    found = list(spec.find(name))
    if not found:
        known = sorted({message.name for message in spec.messages})
        fail(f"no message {name!r}{did_you_mean(name, known)} (known: {', '.join(known)})")
    return found


def _left(
    spec: Spec,
    messages: Sequence[Message],
    backend: str | None,
    release: str | None,
    layout: str | None,
) -> list[Spoken]:
    backends = [each.name for each in spec.backends if backend in {None, each.name}]
    return [
        one
        for one in spoken(messages, backends)
        if release in {None, *one.releases} and layout in {None, one.layout.id}
    ]


def _explain_lack(
    messages: Sequence[Message],
    backend: str | None,
    release: str | None,
    layout: str | None,
) -> None:
    """Say why nothing is left, and exit 1."""
    for message in messages:
        for name, (releases, why) in message.absent.items():
            if release in releases and backend in {None, name}:
                remark(f"{name} has no {message.name} in {release}: {why}")
    wanted = [
        f"{word} {value}"
        for word, value in (("backend", backend), ("release", release), ("layout", layout))
        if value is not None
    ]
    names = {message.name for message in messages}
    what = names.pop() if len(names) == 1 else "message"
    remark(f"no {what} with {', '.join(wanted)}")
    raise typer.Exit(FOUND)


def _newest(told: Sequence[Spoken]) -> list[Spoken]:
    """The newest layout of each backend's message; layouts come oldest first."""
    last = {(one.backend, one.message.key): one for one in told}
    return list(last.values())


def _list(spec: Spec, told: Sequence[Spoken], format_: Format) -> None:
    if format_ is Format.JSON:
        print_json(messages_json(spec, told))
        return
    groups: dict[tuple[str, str], list[Spoken]] = {}
    for one in told:
        groups.setdefault((one.backend, one.message.key), []).append(one)
    messages_table(console(), groups.values(), spec.releases)


def _order(spec: Spec, one: Spoken) -> tuple[int, int]:
    """Backends as the spec has them, what travels on sockets first, HTTP last."""
    backends = [each.name for each in spec.backends]
    return backends.index(one.backend), ("zmq", "notification", "http").index(one.message.transport)


def _layouts(spec: Spec, told: Sequence[Spoken], format_: Format) -> None:
    if format_ is Format.JSON:
        print_json([layout_json(one) for one in told])
        return
    out = console()
    pages = {(one.message.key, one.layout.id): one for one in told}
    for one in pages.values():
        out.print(layout_page(one.message, one.layout, spec.releases))
        out.print()


def _verified(spec: Spec, told: Sequence[Spoken], format_: Format) -> None:
    try:
        found = proofs.beside(told, proofs.load())
    except (ValueError, KeyError, TypeError) as error:
        fail(f"the packaged proof cannot be read: {error}")
    if format_ is Format.JSON:
        print_json([proofs.proof_json(proof) for proof in found])
    else:
        proof_table(console(), found, spec.releases)
    if any(proof.failed for proof in found):
        raise typer.Exit(FOUND)
