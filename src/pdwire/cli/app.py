"""The application: our verbs, and room for those that other packages bring."""

from __future__ import annotations

from typing import Annotated

import typer

import pdwire
from pdwire.cli import explain, show
from pdwire.cli.plugins import Verbs

app = typer.Typer(
    cls=Verbs,
    name="pdwire",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="The wire contract of prefill/decode KV-cache hand-off.",
)
app.command("show")(show.command)
app.command("explain")(explain.command)


def _version(*, asked: bool) -> None:
    if asked:
        typer.echo(f"pdwire {pdwire.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Say the version."),
    ] = False,
) -> None:
    """Options that stand before the verb."""
    del version


def main() -> None:
    """Run ``pdwire`` with the process's arguments."""
    app(prog_name="pdwire")
