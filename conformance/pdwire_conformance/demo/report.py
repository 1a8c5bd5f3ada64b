"""What the demo shows: one table per message, one line per direction, one line at the end.

Rules: the JSON form (``pdwire.demo/1``, described in ``docs/schema/demo.schema.json``) is
stable; the tables are for people and may change.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pdwire.reading.export import packaged_spec
from pdwire.reading.spec import Layout, Message, Slot
from pdwire_conformance.demo.codecs import Generated
from pdwire_conformance.demo.exchange import Difference, Leg, Trial

SCHEMA = "pdwire.demo/1"
_FEW = 6
"""Elements of a list, and pairs of bytes, that a table cell shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One run of the demo."""

    release: str
    source: str
    """``"live"``: the release ran here. ``"recorded"``: its recorded frames were used."""
    reason: str
    """Why not live; empty when live."""
    wheel_sha256: str
    generated: Generated
    trials: tuple[Trial, ...]

    @property
    def holds(self) -> bool:
        """The codecs are the spec's, and every trial of a run that tried anything holds."""
        return (
            self.generated.current
            and bool(self.trials)
            and all(trial.holds for trial in self.trials)
        )

    @property
    def verdict(self) -> str:
        """The last line: what was proved, or what was not."""
        legs = [leg for trial in self.trials for leg in (trial.peer_to_ours, trial.ours_to_peer)]
        fields = sum(leg.compared for leg in legs)
        same = sum(trial.same_bytes for trial in self.trials)
        peer = f"SGLang {self.release}" + (" (recorded)" if self.source == "recorded" else "")
        done = f"{_many(len(self.trials), 'message')}, {fields} fields compared in both directions"
        if self.holds:
            return f"Proved: {done}, all equal, {same} byte-identical; peer: {peer}."
        broken = sum(len(leg.differences) + bool(leg.fault) for leg in legs)
        broken += not self.generated.current
        return f"Not proved: {done}, {_many(broken, 'finding')}; peer: {peer}."


def as_json(report: Report) -> dict[str, Any]:
    """The report as one JSON object."""
    return {
        "schema": SCHEMA,
        "release": report.release,
        "source": report.source,
        "reason": report.reason,
        "wheel_sha256": report.wheel_sha256,
        "generated": asdict(report.generated),
        "messages": [_trial_json(trial) for trial in report.trials],
        "holds": report.holds,
        "verdict": report.verdict,
    }


def show(report: Report, console: Console) -> None:
    """Write the report for a person."""
    console.print(f"Codecs: {report.generated.text}.")
    where = "running in a process of its own"
    if report.source == "recorded":
        where = f"its recorded frames, because {report.reason}"
    console.print(f"Peer: SGLang {report.release}, {where}.")
    for trial in report.trials:
        console.print()
        console.print(_table(trial))
        _show_leg(f"SGLang {report.release} → pdwire", trial.peer_to_ours, "", console)
        same = ", the same bytes" if trial.same_bytes else ""
        _show_leg(f"pdwire → SGLang {report.release}", trial.ours_to_peer, same, console)
    console.print()
    style = "bold green" if report.holds else "bold red"
    console.print(Text(report.verdict, style), soft_wrap=True)


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _trial_json(trial: Trial) -> dict[str, Any]:
    codec = trial.codec
    return {
        "backend": codec.backend,
        "message": codec.message,
        "layout": codec.layout,
        "frames": [frame.hex() for frame in trial.frames],
        "values": trial.values,
        "same_bytes": trial.same_bytes,
        "peer_to_ours": asdict(trial.peer_to_ours),
        "ours_to_peer": asdict(trial.ours_to_peer),
    }


def _table(trial: Trial) -> Table:
    message, layout = _described(trial)
    codec = trial.codec
    table = Table(
        title=f"{codec.backend} {codec.message}, layout {layout.id}: {len(trial.frames)} frames, "
        + " and ".join(codec.directions),
        title_justify="left",
    )
    table.add_column("Frame", justify="right")
    table.add_column("Field", no_wrap=True)
    table.add_column("Bytes", justify="right")
    table.add_column("Value", overflow="fold")
    frames = list(trial.frames)
    if message.guard is not None and frames:
        guard = frames.pop(0)
        table.add_row("guard", "", str(len(guard)), guard.decode("ascii", "replace"))
    for slot, frame in zip(layout.frames, frames, strict=False):
        value = _cell(slot, message, trial, frame)
        table.add_row(str(slot.position), slot.name, str(len(frame)), value)
    return table


def _described(trial: Trial) -> tuple[Message, Layout]:
    codec = trial.codec
    for message in packaged_spec().messages:
        if message.name == codec.message and codec.backend in message.backends:
            layout = message.layout(codec.layout)
            if layout is not None:
                return message, layout
    raise LookupError(f"no {codec.backend} {codec.message} {codec.layout} in the spec")


def _cell(slot: Slot, message: Message, trial: Trial, frame: bytes) -> str:
    if slot.field is None:
        return frame.decode("ascii", "replace") if slot.kind == "const" else f"{len(frame)} bytes"
    field = message.field(slot.field)
    is_address = field is not None and field.unit == "address"
    text = told(trial.values[slot.field], is_address=is_address)
    return text if frame or text in ("[]", "none") else f"{text} (empty frame)"


def told(value: Any, *, is_address: bool = False) -> str:  # noqa: ANN401 - any field's value
    """A value in a few words: addresses in hexadecimal, long lists by their beginning.

    >>> told(list(range(8))), told([4096], is_address=True), told(None)
    ('[0, 1, 2, 3, 4, 5, … 8 in all]', '[0x1000]', 'none')
    """
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:#x}" if is_address else str(value)
        case {"hex": str(digits)}:
            dots = "…" if len(digits) > 4 * _FEW else ""
            return f"{digits[: 4 * _FEW]}{dots} ({len(digits) // 2} bytes)"
        case list():
            shown = [told(item, is_address=is_address) for item in value[:_FEW]]
            if len(value) > _FEW:
                shown.append(f"… {len(value)} in all")
            return f"[{', '.join(shown)}]"
    return str(value)


def _show_leg(name: str, leg: Leg, same: str, console: Console) -> None:
    outcome = leg.fault or "; ".join(map(_difference, leg.differences))
    mark = Text("  ✓ ", "green") if leg.holds else Text("  ✗ ", "red")
    line = mark + Text(f"{name}: {outcome or f'{leg.compared} fields equal{same}'}")
    console.print(line, soft_wrap=True)


def _difference(found: Difference) -> str:
    return f"{found.field}: the peer says {told(found.peer)}, we say {told(found.ours)}"
