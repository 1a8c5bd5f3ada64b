from __future__ import annotations

import pytest

from pdwire_codegen.compare import changed_in, differences

CODE = '''\
"""A codec."""

from struct import Struct

WIDTH = 4


class Codec:
    """Decodes."""

    name: str = "x"

    def decode(self, frames):
        """Frames to values."""
        first, second = frames
        return first, second


def helper(value):
    def inner():
        return value

    return inner
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A codec."""', '"""Another docstring."""'),
        ('        """Frames to values."""\n', ""),
        ("WIDTH = 4\n", "WIDTH = (4)  # bytes\n"),
        (
            "        return first, second",
            "        return (\n            first,\n            second,\n        )",
        ),
    ],
)
def test_text_only(old: str, new: str) -> None:
    assert old in CODE
    assert changed_in(CODE, CODE.replace(old, new)) == ()


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("first, second = frames", "second, first = frames", ("Codec.decode",)),
        ("        return value", "        return -value", ("helper",)),
        ("WIDTH = 4", "WIDTH = 8", ("module: WIDTH",)),
        ('name: str = "x"', 'name: str = "y"', ("class Codec: name",)),
        ("class Codec:", "class Codec(tuple):", ("class Codec",)),
        ("def helper", "def helped", ("helped (added)", "helper (removed)")),
        ("from struct import Struct", "from struct import pack", ("module: imports",)),
    ],
)
def test_behaviour_is_named(old: str, new: str, where: tuple[str, ...]) -> None:
    assert changed_in(CODE, CODE.replace(old, new)) == where


def test_functions_are_named_before_constants() -> None:
    other = CODE.replace("WIDTH = 4", "WIDTH = 8").replace("return value", "return None")
    assert changed_in(CODE, other) == ("helper", "module: WIDTH")


def test_order_matters() -> None:
    assert changed_in("A = 1\nB = 2\n", "B = 2\nA = 1\n") == ("module: order of definitions",)


def test_broken_python_on_disk() -> None:
    (where,) = changed_in("def f(:\n", "def f():\n    pass\n")
    assert where.startswith("module: not Python on disk")


def test_states_of_files() -> None:
    found = {"a.py": "x = 1\n", "b.py": "x = 1\n", "c.md": "a\n", "d.py": None, "e.py": "x\n"}
    wanted = {"a.py": "x=1\n", "b.py": "x = 2\n", "c.md": "b\n", "d.py": "y\n", "e.py": None}
    assert [(item.path, item.state) for item in differences(found, wanted)] == [
        ("b.py", "behaviour"),
        ("a.py", "text"),
        ("c.md", "content"),
        ("d.py", "missing"),
        ("e.py", "stale"),
    ]


def test_same_files_do_not_differ() -> None:
    assert differences({"a.py": "x = 1\n"}, {"a.py": "x = 1\n"}) == []


def test_a_long_diff_is_shortened() -> None:
    before = "".join(f"{line}\n" for line in range(100))
    after = "".join(f"{line}!\n" for line in range(100))
    (item,) = differences({"a.md": before}, {"a.md": after})
    assert len(item.diff) == 13
    assert item.diff[-1] == "… 191 more lines"
