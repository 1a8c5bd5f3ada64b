from __future__ import annotations

import tomllib

import pytest

from pdwire_codegen.toml_lines import Document, TomlError, parse

TEXT = '''\
# a comment with [brackets] = and "quotes"
title = "a # b"

[message]
name = 'x = [1]'  # not an array
doc = """
[not.a.table]
key = "nor a key"
"""
lines = [
  "one",  # ]
  "two, three",
  [1, 2],
]
recognise = { frame = 0, "equals" = "}" }
dotted.key = 1

[layout.r1.frames]
0 = "room"
"1" = { field = "x",
type = "u64" }

[layout.r1]
doc = "comes behind its own part"

[[invariant]]
id = "a"
[[invariant]]
id = "b"
[invariant.more]
deep = true
'''


def _document() -> Document:
    # tomllib takes no line feed in an inline table; the scanner does not care.
    text = TEXT.replace('"x",\ntype', '"x", type')
    return parse("x.toml", text)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("title",), 2),
        (("message",), 4),
        (("message", "name"), 5),
        (("message", "doc"), 6),
        (("message", "lines"), 10),
        (("message", "lines", 0), 11),
        (("message", "lines", 1), 12),
        (("message", "lines", 2, 1), 13),
        (("message", "recognise", "equals"), 15),
        (("message", "dotted", "key"), 16),
        (("layout", "r1", "frames"), 18),
        (("layout", "r1", "frames", "0"), 19),
        (("layout", "r1", "frames", "1", "type"), 20),
        (("layout", "r1"), 22),
        (("layout", "r1", "doc"), 23),
        (("layout",), 18),
        (("invariant", 0), 25),
        (("invariant", 0, "id"), 26),
        (("invariant", 1, "id"), 28),
        (("invariant", 1, "more", "deep"), 30),
        (("invariant",), 25),
    ],
)
def test_line_of_every_table_and_key(path: tuple[str | int, ...], line: int) -> None:
    assert _document().line(*path) == line


def test_data_is_what_tomllib_reads() -> None:
    text = TEXT.replace('"x",\ntype', '"x", type')
    assert _document().data == tomllib.loads(text)


def test_unwritten_path_has_the_line_of_its_table() -> None:
    document = _document()
    assert document.line("message", "missing", "deeper") == 4
    assert document.line("nowhere") == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a = 1\nb = \n", 2),
        ("a = 1\n\na = 2\n", 3),
        ("[t]\n[t]\n", 2),
        ('a = """never closed\n\n', 2),
    ],
)
def test_mistake_has_its_line(text: str, line: int) -> None:
    with pytest.raises(TomlError) as caught:
        parse("x.toml", text)
    assert caught.value.line == line
    assert "at line" not in str(caught.value)


def test_quotes_at_the_end_of_long_strings() -> None:
    document = parse("x.toml", "a = \"\"\"say \"it\"\"\"\"\"\nb = '''don't'''\nc = ''\nd = 1\n")
    assert document.data == {"a": 'say "it""', "b": "don't", "c": "", "d": 1}
    assert [document.line(key) for key in "abcd"] == [1, 2, 3, 4]
