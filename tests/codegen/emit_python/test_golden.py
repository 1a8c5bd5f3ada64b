"""What is emitted for a small spec, to the letter.

A change of the emitter shows here as a difference that a person can read. When it is
right, ``PDWIRE_UPDATE_GOLDEN=1 pytest tests/codegen/emit_python`` writes it down.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.codegen.imported import import_wire, write_tree

from pdwire_codegen.emit_python import emit
from pdwire_codegen.load import load

GOLDEN = Path(__file__).with_name("golden")


def emitted() -> dict[str, str]:
    return emit(load(GOLDEN / "protocol", allow_unlocked=True))


def shown(files: dict[str, str]) -> str:
    return "".join(f"#### {path}\n{text}\n" for path, text in sorted(files.items()))


def test_the_emitted_text_is_the_one_that_was_written_down() -> None:
    text, file = shown(emitted()), GOLDEN / "emitted.txt"
    if os.environ.get("PDWIRE_UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text.splitlines() == file.read_text(encoding="utf-8").splitlines()


def test_two_runs_emit_the_same_bytes() -> None:
    assert emitted() == emitted()


def test_there_is_a_module_per_layout_and_message_and_a_package_per_group() -> None:
    assert sorted(emitted()) == [
        "src/pdwire/wire/__init__.py",
        "src/pdwire/wire/alpha/__init__.py",
        "src/pdwire/wire/alpha/want/__init__.py",
        "src/pdwire/wire/alpha/want/message.py",
        "src/pdwire/wire/alpha/want/r1.py",
        "src/pdwire/wire/alpha/want/r2.py",
        "src/pdwire/wire/table.py",
    ]


def test_the_written_down_codecs_do_what_the_spec_says(tmp_path: Path) -> None:
    wire = import_wire(write_tree(emitted(), tmp_path))
    want = wire.alpha.Want(room=7, indices=([4, 5],), dummy=False)
    old = wire.layout("alpha", "WANT", release="1.0")
    assert old.encode(want) == [b"AlphaGuard", b"7", b"\4\0\0\0\5\0\0\0"]
    new = wire.layout("alpha", "WANT", release="1.2")
    nested = b"\1\0\0\0\x08\0\0\0\4\0\0\0\5\0\0\0"
    want = wire.alpha.Want(room=7, endpoint="::1", indices=([4, 5],), dummy=False)
    assert new.encode(want) == [b"AlphaGuard", b"7", b"v2", b"::1", nested]
    frames = [b"AlphaGuard", b"7", b"v2", b"::1", b"", b""]
    assert new.decode(frames).dummy
    assert new.decode(frames).prefix is None
    assert new.encode(new.decode(frames)) == frames


def test_importing_a_tree_leaves_the_shipped_one_alone(tmp_path: Path) -> None:
    from pdwire import wire

    before = wire.mooncake.TransferInfo
    drawn = import_wire(write_tree(emitted(), tmp_path))
    from pdwire import wire as after

    assert after is wire is not drawn
    assert after.mooncake.TransferInfo is before
    assert not hasattr(drawn, "mooncake")
    assert not list(tmp_path.rglob("*.pyc"))
