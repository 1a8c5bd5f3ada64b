"""How ``show`` looks: tables that read well at 100 columns.

Rules: a table has the first clause of each doc, JSON has the whole; a dash means that an
empty or a missing frame is an error; a column that would say nothing is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pdwire.cli.listing import Spoken
from pdwire.cli.proofs import DIRECTIONS, Proof, Result
from pdwire.reading.causes import speakers
from pdwire.reading.errors import shorten_value
from pdwire.reading.releases import runs
from pdwire.reading.spec import REQUIRED, Field, Given, Layout, Meaning, Message, Repeat, Slot
from pdwire.reading.texts import parts

_WIDEST = 32
"""No column but the last is wider; the longest name of a field or key fits."""

Cell: TypeAlias = str | Text

_SENTENCE = re.compile(r"(?s)(.+?[.])(?:\s|$)")
_ROUND = {2**31 - 1, 2**63 - 1}
"""Upper ends that say no more than "any number": left out of tables."""


def table(*columns: tuple[str, str], title: str | None = None) -> Table:
    """An empty table; a column is its heading and its style."""
    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", padding=(0, 1, 0, 0))
    for heading, style in columns:
        made.add_column(heading, style=style, overflow="fold")
    return made


def first_sentence(doc: str) -> str:
    """A doc's first sentence, without line breaks."""
    flat = " ".join(doc.split())
    found = _SENTENCE.match(flat)
    return found[1] if found else flat


def first_clause(doc: str) -> str:
    """As much of a doc's first sentence as stands before a colon or semicolon."""
    sentence = first_sentence(doc)
    for found in re.finditer(r"[;:] ", sentence):
        clause = sentence[: found.start()]
        if clause.count("(") == clause.count(")"):
            return clause
    return sentence.removesuffix(".")


def meaning_text(meaning: Meaning) -> Text:
    """What an empty or a missing frame means."""
    if isinstance(meaning, Given):
        value = meaning.value
        if isinstance(value, str):
            return Text(value or '""')
        return Text("none" if value is None else "[]" if value == [] else shorten_value(value))
    if isinstance(meaning, Repeat):
        what = meaning.from_field or str(meaning.word)
        return Text(f"{what} per {meaning.like}")
    return Text("-", style="dim")


def type_text(kind: str, low: int | None, high: int | None, allowed: Sequence[str]) -> str:
    """A type with what narrows it."""
    if allowed:
        return f"{kind} {'|'.join(allowed)}"
    integer = kind in {"dec", "json:int", "json:int?"}
    if not integer or low is None or high is None or (low == 0 and high in _ROUND):
        return kind
    return f"{kind} {low}.." if high in _ROUND else f"{kind} {low}..{high}"


def messages_table(
    console: Console, rows: Iterable[Sequence[Spoken]], order: Sequence[str]
) -> None:
    """One row per backend and message."""
    made = table(
        ("backend", "cyan"),
        ("message", "bold"),
        ("direction", ""),
        ("layouts", ""),
        ("releases", ""),
    )
    last = None
    for group in rows:
        first = group[0]
        if last not in {None, first.backend}:
            made.add_section()
        made.add_row(
            first.backend if first.backend != last else "",
            first.message.name,
            "\n".join(first.message.directions),
            _span([one.layout.id for one in group]),
            runs((release for one in group for release in one.releases), order),
        )
        last = first.backend
    console.print(made)


def _span(ids: list[str]) -> str:
    return ids[0] if len(ids) == 1 else f"{ids[0]}–{ids[-1]} ({len(ids)})"


def layout_page(message: Message, layout: Layout, order: Sequence[str]) -> Group:
    """One layout: who speaks it, its frames, its rules."""
    head = Text.assemble(
        (f"{message.name} {layout.id}", "bold"),
        f"   {', '.join(message.directions)}   ",
        (speakers(layout, order), "cyan"),
    )
    shown: list[RenderableType] = [head, _note(first_sentence(message.doc))]
    shown += [_note(text) for text in _facts(message, layout)]
    if layout.unverified:
        shown.append(_note(f"unverified: {layout.unverified}", style="yellow"))
    shown.append(_frames(message, layout) if layout.frames else _keys(message, layout))
    shown += [_bullet("rule", text) for text in _rules(layout)]
    shown += [_bullet("note", text) for text in [*layout.notes, *message.notes]]
    return Group(*shown)


def _note(text: str, *, style: str = "") -> Padding:
    return Padding(Text(text, style=style), (0, 0, 0, 2))


def _bullet(label: str, text: str) -> Table:
    """A labelled paragraph whose lines hang together."""
    made = Table.grid(padding=(0, 1, 0, 0))
    made.add_column(width=6, style="dim", justify="right")
    made.add_column()
    made.add_row(label, text)
    return made


def _facts(message: Message, layout: Layout) -> list[str]:
    told = [layout.doc] if layout.doc else []
    if message.guard:
        told.append(f"guard {message.guard} comes first; positions do not count it")
    if layout.frames and (len(layout.counts) > 1 or layout.counts != (len(layout.frames),)):
        told.append(f"frame counts: {' or '.join(str(count) for count in layout.counts)}")
    if layout.text:
        told.append(f"text: {layout.text}")
    if message.path:
        told.append(f"{message.method} {message.path}, {message.body} {message.part}")
    return told


def _rules(layout: Layout) -> list[str]:
    told = [
        f"{each.field}: true when "
        + " and ".join(f"{name} is {condition}" for name, condition in each.when)
        for each in layout.derivations
    ]
    return told + [f"{each.id}: {first_sentence(each.doc)}" for each in layout.invariants]


def filled(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[Cell]]) -> Table:
    """A table of ``rows`` without the columns in which no row says anything."""
    kept = [
        place
        for place, _ in enumerate(columns)
        if any(str(row[place]) not in {"", "-"} for row in rows)
    ]
    made = table(*(columns[place] for place in kept))
    for column in made.columns[:-1]:
        column.no_wrap = column.header not in {"absent", "empty"}
        column.max_width = _WIDEST if column.no_wrap else _WIDEST // 2
    for row in rows:
        made.add_row(*(row[place] for place in kept))
    return made


def _frames(message: Message, layout: Layout) -> Table:
    columns = [
        ("frame", "cyan"), ("field", "bold"), ("type", ""), ("unit", ""), ("empty", ""),
        ("absent", ""), ("meaning", ""),
    ]  # fmt: skip
    return filled(columns, [_frame(message, slot) for slot in layout.frames])


def _frame(message: Message, slot: Slot) -> list[Cell]:
    place = f"{slot.position:>5}"
    if slot.const is not None:
        word = f'constant "{slot.const}"' if slot.const else "always empty"
        return [place, Text(slot.name, style="dim"), "const", "", "", "", word]
    if slot.length_of is not None:
        return [place, slot.name, slot.type, "bytes", "", "", f"length of {slot.length_of}"]
    field = message.field(slot.name)
    doc = first_clause(field.doc) if field else ""
    return [
        place,
        slot.name,
        type_text(slot.type, slot.min, slot.max, slot.allowed),
        field.unit if field else "",
        meaning_text(slot.empty),
        meaning_text(slot.absent),
        f"(nobody reads it) {doc}" if slot.unread else doc,
    ]


def _keys(message: Message, layout: Layout) -> Table:
    columns = [
        ("key", "bold"), ("field", ""), ("type", ""), ("unit", ""), ("absent", ""), ("meaning", ""),
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    for key in layout.keys:
        field = message.field(key.field)
        if field is not None:
            rows.append(_key(key.key, key.type, field, optional=key.optional))
    for part in parts(layout.text or ""):
        field = message.field(part.field) if part.field is not None else None
        if field is not None:
            rows.append(_key(field.name, field.type, field, optional=part.tail))
    return filled(columns, rows)


def _key(name: str, kind: str, field: Field, *, optional: bool) -> list[Cell]:
    return [
        name,
        "" if name == field.name else field.name,
        type_text(kind, field.min, field.max, field.allowed),
        field.unit,
        meaning_text(field.absent if optional else REQUIRED),
        first_clause(field.doc),
    ]


_STYLES = {"proved": "green", "failed": "red", "not run": "yellow", "unverified": "dim"}


def proof_table(console: Console, proofs: Iterable[Proof], order: Sequence[str]) -> None:
    """What was proved, per backend, message and layout."""
    made = table(
        ("backend", "cyan"), ("message", "bold"), ("layout", ""), ("real peer → ours", ""),
        ("ours → real peer", ""), ("values", ""),
    )  # fmt: skip
    reasons: dict[str, list[Result]] = {}
    for proof in proofs:
        one = proof.spoken
        cells = [_proved(proof, direction, order) for direction in DIRECTIONS]
        values = sum(result.values for result in proof.results.values())
        made.add_row(one.backend, one.message.name, one.layout.id, *cells, f"{values:,}")
        for result in proof.results.values():
            if result.reason:
                # The same reason in several releases is told once, the releases behind it.
                reason = result.reason.removeprefix(f"{result.release}: ")
                reasons.setdefault(reason, []).append(result)
    console.print(made)
    for reason, results in reasons.items():
        console.print(_because(reason, results, order))


def _proved(proof: Proof, direction: str, order: Sequence[str]) -> Text:
    cell = Text()
    for status, style in _STYLES.items():
        releases = [r for r in proof.spoken.releases if proof.status(r, direction) == status]
        if releases:
            word = "" if status == "proved" else f"{status}: "
            cell.append(("\n" if cell else "") + word + runs(releases, order), style=style)
    return cell


def _because(reason: str, results: Sequence[Result], order: Sequence[str]) -> Text:
    who: dict[str, list[str]] = {}
    for result in results:
        name = f"{result.backend} {result.message} {result.layout}, {result.direction}"
        who.setdefault(name, []).append(result.release)
    lines = [f"    {name}: {runs(releases, order)}" for name, releases in who.items()]
    return Text("\n".join([f"  {reason}", *lines]))
