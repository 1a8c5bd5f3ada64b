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
from pdwire_codegen.generate import Change
from pdwire_codegen.load import LOCK_NAME, load
from pdwire_codegen.model import Spec
from pdwire_codegen.report import difference_lines, report_json
from pdwire_codegen.rules import RULE_IDS


class Format(StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"


Root = Annotated[
    Path | None,
    typer.Option(
        help="The project's root.",
        exists=True,
        file_okay=False,
        show_default="this folder, or the nearest above it that has a protocol",
    ),
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
    root: Root = None,
) -> None:
    """Turn the spec into codecs, reference pages, JSON and test vectors."""
    if check and lock:
        raise typer.BadParameter("--check writes nothing, and --lock writes the lock")
    folder, root = _places(protocol, root)
    if check:
        _check(folder, root, format_)
        return
    # A layout under work is generated before it is locked; only --check insists. A lock that
    # was there and is not is no layout under work: a first one is made on demand alone.
    spec = _loaded(folder, root, format_, allow_unlocked=True, demand_lock=not lock)
    changes = work.generate(spec, root)
    if lock and work.lock(spec, folder):
        changes.append(Change(path=_below(folder / LOCK_NAME, root), state="written"))
    if format_ is Format.JSON:
        typer.echo(report_json(ok=True, files=changes))
        return
    for change in changes:
        typer.echo(f"{change.path}: {change.state}")
    typer.echo(f"{len(changes)} files changed", err=True)


def _places(protocol: Path | None, root: Path | None) -> tuple[Path, Path]:
    """The spec's directory and the project's root; the root is looked for if not named."""
    if protocol is not None:
        return protocol, root or Path()
    here = root or _found(Path.cwd()) or Path()
    folder = here / "protocol"
    if not folder.is_dir():
        above = "" if root else ", nor one above this folder"
        raise typer.BadParameter(f"there is no {folder}{above}; name it with --protocol or --root")
    return folder, here


def _found(start: Path) -> Path | None:
    """The nearest folder at or above ``start`` that has a protocol; ``Path()`` for itself."""
    for folder in (start, *start.parents):
        if (folder / "protocol" / "protocol.toml").is_file():
            return Path() if folder == start else folder
    return None


def _below(path: Path, root: Path) -> str:
    """A path as the other changes are shown: relative to the root, if it lies there."""
    whole, top = path.resolve(), root.resolve()
    return (whole.relative_to(top) if whole.is_relative_to(top) else path).as_posix()


def _loaded(
    protocol: Path,
    root: Path,
    format_: Format,
    *,
    allow_unlocked: bool,
    demand_lock: bool | None = None,
) -> Spec:
    try:
        return load(protocol, allow_unlocked=allow_unlocked, demand_lock=demand_lock, root=root)
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
        spec = load(protocol, root=root)
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
    root: Root = None,
) -> None:
    """Check the spec alone and print every fault."""
    folder, root = _places(protocol, root)
    spec = _loaded(folder, root, format_, allow_unlocked=allow_unlocked)
    if format_ is Format.JSON:
        typer.echo(report_json(ok=True))
    layouts = sum(len(message.layouts) for message in spec.messages)
    typer.echo(f"{len(spec.messages)} messages, {layouts} layouts: no faults", err=True)


@app.command(name="lock")
def lock_spec(*, protocol: Protocol = None, root: Root = None) -> None:
    """Add new layouts to protocol/released.lock; a released layout is never changed."""
    folder, root = _places(protocol, root)
    spec = _loaded(folder, root, Format.TABLE, allow_unlocked=True)
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
