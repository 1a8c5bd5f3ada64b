"""The compiler's command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pdwire_codegen.diagnostics import SpecError
from pdwire_codegen.load import load

app = typer.Typer(add_completion=False, no_args_is_help=True)

_PROTOCOL = typer.Option("--protocol", help="The spec's directory.", exists=True, file_okay=False)


@app.command()
def check(
    protocol: Annotated[Path, _PROTOCOL] = Path("protocol"),
    allow_unlocked: Annotated[
        bool, typer.Option(help="Accept layouts that are not in released.lock yet.")
    ] = False,
) -> None:
    """Check the spec and print every fault."""
    try:
        spec = load(protocol, allow_unlocked=allow_unlocked)
    except SpecError as error:
        for fault in error.faults:
            typer.echo(str(fault))
        typer.echo(f"{len(error.faults)} faults", err=True)
        raise typer.Exit(1) from None
    layouts = sum(len(message.layouts) for message in spec.messages)
    typer.echo(f"{len(spec.messages)} messages, {layouts} layouts: no faults", err=True)


@app.command(hidden=True)
def version() -> None:
    """Keep `check` a verb while it is the only one."""


def main() -> None:
    """Run the command line."""
    app()
