from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

Run = Callable[..., Result]
RunJson = Callable[..., Any]

REGISTER_18 = [
    b"None", b"10.0.0.2", b"5000", b"10.0.0.2:17000", struct.pack("<2Q", 1, 2**63), bytes(8), b"",
    b"0", b"8", b"4096", b"", b"", b"", b"", struct.pack("<Q", 2**63), b"65536", b"1", b"0",
]  # fmt: skip
TRANSFER = [
    b"7", b"10.0.0.2", b"5000", b"agentA", struct.pack("<2i", 4, 5), b"3", b"1", b"", b"0", b"0",
]  # fmt: skip


def hexed(*messages: list[bytes]) -> bytes:
    """Messages as hex lines."""
    return "\n---\n".join(
        "\n".join(frame.hex() or '""' for frame in frames) for frames in messages
    ).encode()


def changed(frames: list[bytes], place: int, raw: bytes) -> list[bytes]:
    return [*frames[:place], raw, *frames[place + 1 :]]


def test_an_exact_fit(run: Run, run_json: RunJson) -> None:
    (verdict,) = run_json("explain", "explain", stdin=hexed(REGISTER_18))
    assert (verdict["verdict"], verdict["message"], verdict["layout"]) == (
        "exact",
        "KVArgsRegisterInfo",
        "r6",
    )
    assert verdict["fits"][0]["speakers"]["mooncake"] == ["0.5.17", "0.5.18"]
    assert verdict["values"]["dst_kv_ptrs"] == [1, 2**63]
    table = run("explain", stdin=hexed(REGISTER_18)).stdout
    assert "fits mooncake.KVArgsRegisterInfo r6   mooncake, ascend 0.5.17–0.5.18" in table
    assert "9223372036854775808" in table


def test_one_bad_frame_is_pointed_at(run: Run, run_json: RunJson) -> None:
    text = hexed(changed(REGISTER_18, 15, b"1_000"))
    (verdict,) = run_json("explain", "explain", stdin=text, code=1)
    bad = [row for row in verdict["rows"] if row["status"] == "bad"]
    assert [(row["position"], row["name"]) for row in bad] == [(15, "staging_total_size")]
    assert bad[0]["fault"]["expected"] == "a canonical decimal 0..2^63-1"
    assert bad[0]["fault"]["came"] == '"1_000"'
    assert len(verdict["rows"]) == 18
    result = run("explain", stdin=text)
    assert result.exit_code == 1
    marked = [line for line in result.stdout.splitlines() if line.startswith(" >")]
    assert len(marked) == 1
    assert "15  staging_total_size" in marked[0]
    shown = [line.split()[0] for line in result.stdout.splitlines() if line[:9].strip().isdigit()]
    assert shown == [str(place) for place in range(18) if place != 15]


def test_a_count_tells_who_the_peer_is(run: Run) -> None:
    result = run("explain", "--release", "0.5.23", stdin=hexed(REGISTER_18))
    assert result.exit_code == 1
    flat = " ".join(result.stdout.split())
    assert "likely: 18 frames: a mooncake, ascend 0.5.17–0.5.18 peer (layout r6" in flat
    assert "which they fit exactly" in flat
    assert "dst_kv_item_lens missing" in flat
    assert "expected 20 frames; came 18 frames" in flat


def test_a_flat_list_that_reads_as_a_nested_one_is_ambiguous(run: Run, run_json: RunJson) -> None:
    flat = changed([b"NixlMsgGuard", *TRANSFER[:-1]], 8, struct.pack("<3i", 1, 4, 9))
    (verdict,) = run_json("explain", "explain", stdin=hexed(flat), code=1)
    assert verdict["verdict"] == "ambiguous"
    (difference,) = verdict["differences"]
    assert difference["field"] == "dst_state_indices"
    assert {each["layout"]: each["value"] for each in difference["readings"]} == {
        "r4": [[9]],
        "r3": [[1, 4, 9]],
    }
    assert "ambiguous: no byte tells which" in run("explain", stdin=hexed(flat)).stdout
    assert run("explain", "-r", "0.5.14", stdin=hexed(flat)).exit_code == 0


def test_a_message_without_its_guard(run: Run, run_json: RunJson) -> None:
    (verdict,) = run_json("explain", "explain", "-b", "nixl", stdin=hexed(TRANSFER), code=1)
    assert verdict["rows"][0]["status"] == "missing"
    assert verdict["rows"][0]["name"] == "guard"
    assert [row["status"] for row in verdict["rows"][1:]] == ["ok"] * 10
    assert "the guard is missing" in run("explain", stdin=hexed(TRANSFER)).stdout


def test_two_messages_in_one(run: Run) -> None:
    result = run("explain", stdin=hexed([b"123", b"2", b"7", b"124", b"2", b"6"]))
    assert result.exit_code == 1
    assert "2 KV_STATUS messages in one" in result.stdout


def test_frames_that_contradict_each_other(run: Run, run_json: RunJson) -> None:
    text = hexed(changed(REGISTER_18, 17, b"1"))
    (verdict,) = run_json("explain", "explain", stdin=text, code=1)
    assert [(fault["kind"], fault["rule"]) for fault in verdict["faults"]] == [
        ("invariant", "dcp-rank")
    ]
    assert (
        "rule dcp-rank: expected dst_dcp_rank below dst_dcp_size"
        in run("explain", stdin=text).stdout
    )


def test_texts_and_bodies(run_json: RunJson) -> None:
    text = b'"7_kv_0_1_0"\n---\n"engine_rank=-1&target_dp_group=-1&target_pp_rank=-1"'
    first, second = run_json("explain", "explain", stdin=text)
    assert (first["message"], second["message"]) == ("NOTIF_KV", "ROUTE_GET")
    assert second["values"]["asks_server_info"] is True


def test_what_is_no_message(run: Run, run_json: RunJson) -> None:
    text = hexed([b"\xff\xfe", b"\x80\x05"])
    (verdict,) = run_json("explain", "explain", stdin=text, code=1)
    assert verdict["verdict"] == "unknown"
    assert "no message that is known" in run("explain", stdin=text).stdout
    (named,) = run_json("explain", "explain", "-m", "ABORT", stdin=text, code=1)
    assert named["verdict"] == "faulty"


def test_an_empty_message(run_json: RunJson) -> None:
    (verdict,) = run_json("explain", "explain", stdin=b"[]", code=1)
    assert verdict["verdict"] == "unknown"


def test_several_messages_and_one_that_is_bad(run_json: RunJson) -> None:
    status = [b"7", b"4", b"0"]
    text = hexed(status, changed(status, 1, b"9"), status)
    verdicts = run_json("explain", "explain", stdin=text, code=1)
    assert [each["verdict"] for each in verdicts] == ["exact", "faulty", "exact"]
    assert [each["line"] for each in verdicts] == [1, 5, 9]


def test_a_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "frames.hex"
    path.write_bytes(hexed(REGISTER_18))
    assert run("explain", str(path)).exit_code == 0
    missing = run("explain", str(tmp_path / "nothing"))
    assert missing.exit_code == 2
    assert "No such file" in missing.stderr


@pytest.mark.parametrize(
    ("stdin", "arguments", "says"),
    [
        (b"37\nzz", [], "stdin: line 2, column 1: 'z' is neither hex nor quoted text"),
        (b"", [], "stdin: no frames in it"),
        (b"37", ["-m", "ABRT"], "did you mean 'ABORT'?"),
        (b"37", ["-b", "x"], "no backend 'x'"),
        (b"37", ["-b", "mori", "-m", "STAGING_REQ"], "no layout with backend mori"),
    ],
)
def test_what_cannot_be_read(run: Run, stdin: bytes, arguments: list[str], says: str) -> None:
    result = run("explain", *arguments, stdin=stdin)
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stdout == ""
