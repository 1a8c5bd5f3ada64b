"""The compiler's command line: ``pdwire generate``, and ``python -m pdwire_codegen``.

Rules: exit 0 when all is well, 1 when something was found (faults, differences), 2 for
wrong usage; results on stdout, remarks on stderr.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from pdwire_codegen import generate as work
from pdwire_codegen.compare import Difference
from pdwire_codegen.diagnostics import Fault, SpecError
from pdwire_codegen.load import load
from pdwire_codegen.model import Spec
from pdwire_codegen.report import difference_lines, report_json
from pdwire_codegen.rules import RULE_IDS


class Format(StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"


Root = Annotated[
    Path,
    typer.Option(help="The project's root.", exists=True, file_okay=False, show_default="."),
]
Protocol = Annotated[
    Path | None,
    typer.Option(
        help="The spec's directory.",
        exists=True,
        file_okay=False,
        show_default="ROOT/protocol",
    ),
]
Formatted = Annotated[Format, typer.Option("--format", help="Text for people, or JSON.")]


def command(
    *,
    check: Annotated[
        bool,
        typer.Option("--check", help="Write nothing; exit 1 and say how, if anything differs."),
    ] = False,
    lock: Annotated[
        bool, typer.Option("--lock", help="Add new layouts to protocol/released.lock.")
    ] = False,
    format_: Formatted = Format.TABLE,
    protocol: Protocol = None,
    root: Root = Path(),
) -> None:
    """Turn the spec into codecs, reference pages, JSON and test vectors."""
    if check and lock:
        raise typer.BadParameter("--check writes nothing, and --lock writes the lock")
    folder = protocol or _default(root)
    if check:
        _check(folder, root, format_)
        return
    # A layout under work is generated before it is locked; only --check insists.
    spec = _loaded(folder, format_, allow_unlocked=True)
    if lock and work.lock(spec, folder):
        typer.echo(f"{folder / 'released.lock'}: written", err=True)
    changes = work.generate(spec, root)
    if format_ is Format.JSON:
        typer.echo(report_json(ok=True, files=changes))
        return
    for change in changes:
        typer.echo(f"{change.path}: {change.state}")
    typer.echo(f"{len(changes)} files changed", err=True)


def _default(root: Path) -> Path:
    folder = root / "protocol"
    if not folder.is_dir():
        raise typer.BadParameter(f"there is no {folder}; name it with --protocol or --root")
    return folder


def _loaded(protocol: Path, format_: Format, *, allow_unlocked: bool) -> Spec:
    try:
        return load(protocol, allow_unlocked=allow_unlocked)
    except SpecError as error:
        _faulty(error, format_)


def _faulty(error: SpecError, format_: Format) -> NoReturn:
    """Print every fault and exit 1."""
    _print(error.faults, [], format_)
    raise typer.Exit(1)


def _check(protocol: Path, root: Path, format_: Format) -> None:
    """Report faults and differences; a spec that only left its lock is still compared."""
    faults: tuple[Fault, ...] = ()
    spec: Spec | None
    try:
        spec = load(protocol)
    except SpecError as error:
        faults, spec = error.faults, error.spec
    found = work.check(spec, root) if spec is not None else []
    _print(faults, found, format_)
    if faults or found:
        raise typer.Exit(1)
    typer.echo("generated files are up to date", err=True)


def _print(faults: tuple[Fault, ...], found: list[Difference], format_: Format) -> None:
    if format_ is Format.JSON:
        typer.echo(report_json(ok=not faults and not found, faults=faults, files=found))
        return
    for fault in faults:
        typer.echo(str(fault))
    for item in found:
        typer.echo("\n".join(difference_lines(item)))
    if faults:
        count = len(faults)
        typer.echo(f"{count} fault{'s' * (count != 1)} in the spec", err=True)
    if found:
        first = "mend the spec first, then " if faults else ""
        typer.echo(f"{len(found)} files differ; {first}run: pdwire generate", err=True)


app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
app.command(name="generate")(command)


@app.command(name="check")
def check_spec(
    *,
    allow_unlocked: Annotated[
        bool, typer.Option("--allow-unlocked", help="Accept layouts that the lock lacks.")
    ] = False,
    format_: Formatted = Format.TABLE,
    protocol: Protocol = None,
    root: Root = Path(),
) -> None:
    """Check the spec alone and print every fault."""
    spec = _loaded(protocol or _default(root), format_, allow_unlocked=allow_unlocked)
    if format_ is Format.JSON:
        typer.echo(report_json(ok=True))
    layouts = sum(len(message.layouts) for message in spec.messages)
    typer.echo(f"{len(spec.messages)} messages, {layouts} layouts: no faults", err=True)


@app.command(name="lock")
def lock_spec(*, protocol: Protocol = None, root: Root = Path()) -> None:
    """Add new layouts to protocol/released.lock; a released layout is never changed."""
    folder = protocol or _default(root)
    spec = _loaded(folder, Format.TABLE, allow_unlocked=True)
    state = "written" if work.lock(spec, folder) else "up to date"
    typer.echo(f"{folder / 'released.lock'}: {state}", err=True)


@app.command(name="rules")
def list_rules() -> None:
    """List every rule: its id and what must hold."""
    width = max(map(len, RULE_IDS))
    for rule, holds in sorted(RULE_IDS.items()):
        typer.echo(f"{rule:{width}}  {holds}")


def main() -> None:
    """Run the command line."""
    app()
