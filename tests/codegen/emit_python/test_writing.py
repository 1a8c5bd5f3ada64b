"""Pieces of generated code: literals, lines that are split, texts that are wrapped."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdwire_codegen.emit_python.fitting import WIDTH, alternatives, fit, operands
from pdwire_codegen.emit_python.prose import Prose, docstring, prose
from pdwire_codegen.emit_python.writing import (
    Module,
    call,
    choice,
    condition,
    import_order,
    literal,
    natural,
    spans,
)

LONG = "a_name_of_fifty_characters_that_makes_a_line_long_"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", '""'),
        ("it's", '"it\'s"'),
        ('say "x"', "'say \"x\"'"),
        ("\\'\"", '"\\\\\'\\""'),
        ("a\nb\x7f", '"a\\nb\\x7f"'),
        (b'a"', "b'a\"'"),
        (b"\x00\xff", 'b"\\x00\\xff"'),
        (("a",), '("a",)'),
        ((1, b"x"), '(1, b"x")'),
        (((0, b"x"),), '((0, b"x"),)'),
        ((), "()"),
        (None, "None"),
        (True, "True"),
        (-1, "-1"),
    ],
)
def test_literals_have_the_formatters_quotes(value: object, text: str) -> None:
    assert literal(value) == text
    assert ast.literal_eval(text) == value


@given(st.text() | st.binary())
def test_a_literal_is_its_value(value: str | bytes) -> None:
    assert ast.literal_eval(literal(value)) == value


def test_a_line_that_fits_is_left_alone() -> None:
    line = f"x = f({'a' * (WIDTH - 7)})"
    assert len(line) == WIDTH
    assert fit(line) == [line]


SPLIT = [
    # The last brackets, what is in them on one line or an item a line.
    ("x = LONG[LONG](a, b)", ["x = LONG[LONG](", "    a, b", ")"]),
    ("x = f(LONG, LONG)", ["x = f(", "    LONG,", "    LONG,", ")"]),
    (
        "f(LONG, g(LONG, LONG)),",
        ["f(", "    LONG,", "    g(", "        LONG,", "        LONG,", "    ),", "),"],
    ),
    # Brackets and commas in literals are neither.
    (
        'x = f("), (", LONG, "[" + LONG)',
        ["x = f(", '    "), (",', "    LONG,", '    "[" + LONG,', ")"],
    ),
    ("x = f('\\'), (', LONG, LONG)", ["x = f(", "    '\\'), (',", "    LONG,", "    LONG,", ")"]),
    # Brackets that only group get no comma: that would be a tuple.
    ("x = (LONG or LONG)", ["x = (", "    LONG", "    or LONG", ")"]),
    ("x = (LONG and LONG, a)", ["x = (", "    LONG and LONG,", "    a,", ")"]),
    ("if (LONG != 1 or LONG != 2):", ["if (", "    LONG != 1", "    or LONG != 2", "):"]),
    # A choice as an item has a part a line.
    ('b"" if LONG is None else f(LONG),', ['b""', "if LONG is None", "else f(LONG),"]),
    # What cannot be split stays as it is.
    ('x = f"LONG LONG"', ['x = f"LONG LONG"']),
    ("x = LONG_LONG()", ["x = LONG_LONG()"]),
]


@pytest.mark.parametrize(("line", "lines"), SPLIT)
@pytest.mark.parametrize("indent", ["", " " * 8])
def test_a_longer_line_is_split(line: str, lines: list[str], indent: str) -> None:
    def put(text: str) -> str:
        return indent + text.replace("LONG", LONG)

    assert fit(put(line)) == [put(part) for part in lines]


@pytest.mark.parametrize("line", [line for line, _ in SPLIT if not line.endswith((",", ":"))])
def test_a_split_line_means_the_same(line: str) -> None:
    whole = line.replace("LONG", LONG)
    assert ast.dump(ast.parse("\n".join(fit(whole)))) == ast.dump(ast.parse(whole))


def test_an_expression_comes_apart_at_its_own_operators() -> None:
    assert alternatives('f(a if b else c) if "if" else d') == [
        "f(a if b else c)",
        'if "if"',
        "else d",
    ]
    assert alternatives("a") == ["a"]
    assert operands("a and (b and c) and d", "and") == ["a", "(b and c)", "d"]
    assert operands('a or " or "', "or") == ["a", '" or "']


def test_calls_and_lists() -> None:
    assert call("x = f", ["a", "b"]) == ["x = f(a, b)"]
    assert spans("x = [", [LONG, LONG], "]", "  ") == [
        "  x = [",
        f"      {LONG},",
        f"      {LONG},",
        "  ]",
    ]


def test_conditions() -> None:
    assert condition(["a", "b"], "and", "") == ["if a and b:"]
    many = [f"len({LONG})", "b", "c is not None and d"]
    assert condition(many, "and", "") == ["if " + " and ".join(many) + ":"]
    assert condition([LONG, LONG, "c is not None and d"], "and", "") == [
        "if (",
        f"    {LONG}",
        f"    and {LONG}",
        "    and c is not None",
        "    and d",
        "):",
    ]
    assert condition([f"{LONG} != 1 or {LONG} != 2"], "and", "") == [
        "if (",
        f"    {LONG} != 1",
        f"    or {LONG} != 2",
        "):",
    ]


def test_two_tests_are_split_in_their_brackets() -> None:
    assert condition([LONG, f"len({LONG})"], "and", "") == [
        f"if {LONG} and len(",
        f"    {LONG}",
        "):",
    ]
    assert condition([f"f({LONG}, {LONG})", "g(x)"], "or", "") == [
        "if f(",
        f"    {LONG},",
        f"    {LONG},",
        ") or g(x):",
    ]


def test_choices() -> None:
    assert choice("x = ", ["a", "if b", "else c"]) == ["x = a if b else c"]
    assert choice("  x = ", [LONG, "if b", f"else {LONG[:30]}"]) == [
        "  x = " + f"{LONG} if b else {LONG[:30]}"
    ]
    assert choice(f"  x.{LONG} = ", [LONG, "if b", "else c"]) == [
        f"  x.{LONG} = (",
        f"      {LONG} if b else c",
        "  )",
    ]
    assert choice("  x = ", [LONG, "if b", f"else f({LONG}, {LONG})"]) == [
        "  x = (",
        f"      {LONG}",
        "      if b",
        "      else f(",
        f"          {LONG},",
        f"          {LONG},",
        "      )",
        "  )",
    ]


def test_a_docstring_has_a_summary_and_wrapped_paragraphs() -> None:
    assert docstring("Says it.", "    ") == ['    """Says it."""']
    assert docstring("Says it.", rest=["word " * 30]) == [
        '"""Says it.',
        "",
        ("word " * 20).strip(),
        ("word " * 10).strip(),
        '"""',
    ]
    long = f"First sentence. {'word ' * 30}"
    assert docstring(long)[:3] == ['"""First sentence.', "", ("word " * 20).strip()]
    assert docstring("word " * 30, brief="In short.")[0] == '"""In short.'


@pytest.mark.parametrize(
    "text",
    [
        'Ends in a quote "',
        '"Begins with one.',
        'Three """ in a row.',
        "Ends in a backslash \\",
        "a \\n b",
    ],
)
@pytest.mark.parametrize("write", [docstring, prose])
def test_whatever_a_text_has_it_stays_in_its_literal(text: str, write: object) -> None:
    lines = write(text, "    ")  # type: ignore[operator]  # both take these
    told = ast.literal_eval("\n".join(lines).strip())
    assert told.strip() == text.replace('"""', "'''")
    assert all(isinstance(line, Prose) for line in lines)


def test_text_is_never_taken_for_code() -> None:
    module = Module("Module.", "protocol/x.toml")
    word = f"x=f({LONG},{LONG})"
    module.add(*prose(word), *fit("y = 1"))
    assert f'"""{word}"""' in module.render()


def test_imports_are_sorted_with_numbers_as_numbers() -> None:
    names = ["r10", "r2", "B", "aB", "A_C", "a as X"]
    assert sorted(names, key=import_order) == ["A_C", "B", "a as X", "aB", "r2", "r10"]
    assert sorted(["x_10", "x_9", "x"], key=natural) == ["x", "x_9", "x_10"]
    module = Module("Module.", "protocol/x.toml")
    module.need("pdwire.wire.a", *names[:2])
    module.need("pdwire.wire.a10", LONG, f"{LONG}2", f"{LONG}10")
    module.need("pdwire.wire.a9", "x")
    module.need("typing", "Any")
    module.need_module("re")
    module.add("x = 1")
    assert module.render().splitlines() == [
        '"""Module.',
        "",
        "GENERATED from protocol/x.toml by `pdwire generate`. Do not edit.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "import re",
        "from typing import Any",
        "",
        "from pdwire.wire.a import r2, r10",
        "from pdwire.wire.a9 import x",
        "from pdwire.wire.a10 import (",
        f"    {LONG},",
        f"    {LONG}2,",
        f"    {LONG}10,",
        ")",
        "",
        "x = 1",
    ]
