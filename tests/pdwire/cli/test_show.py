from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from pdwire.cli import proofs
from pdwire.reading import packaged_spec

Run = Callable[..., Result]
RunJson = Callable[..., Any]


def test_every_layout_of_every_message(run_json: RunJson) -> None:
    shown = run_json("show-layouts", "show", "--all")
    spec = packaged_spec()
    assert {(one["backend"], one["message"], one["layout"]) for one in shown} == {
        (backend, message.name, layout.id)
        for message in spec.messages
        for layout in message.layouts
        for backend in layout.speakers
    }
    spoken = [(one["backend"], one["message"], each) for one in shown for each in one["releases"]]
    assert len(spoken) == len(set(spoken))


def test_staging_and_dcp_of_the_eighteen_frame_registration(run_json: RunJson) -> None:
    (shown,) = run_json(
        "show-layouts", "show", "KVArgsRegisterInfo", "-b", "mooncake", "-r", "0.5.18"
    )
    names = {frame["position"]: frame["name"] for frame in shown["frames"]}
    assert shown["counts"] == [18]
    assert (names[14], names[15]) == ("staging_base_ptr", "staging_total_size")
    assert (names[16], names[17]) == ("dst_dcp_size", "dst_dcp_rank")
    assert shown["frames"][14]["empty"] == {"value": 0}
    assert shown["frames"][1]["empty"] is None
    assert (shown["direction"], shown["counts_guard"], shown["guard"]) == (
        "decode -> prefill",
        False,
        None,
    )


def test_a_guard_is_told_and_not_counted(run_json: RunJson) -> None:
    (shown,) = run_json("show-layouts", "show", "nixl.TransferInfo", "--layout", "r1")
    assert shown["guard"] == "NixlMsgGuard"
    assert shown["counts"] == [len(shown["frames"])]
    assert shown["frames"][0]["name"] == "room"


def test_texts_and_bodies_have_their_own_shape(run_json: RunJson) -> None:
    (text,) = run_json("show-layouts", "show", "NOTIF_KV")
    assert text["text"].startswith("{room}_kv_")
    body = run_json("show-layouts", "show", "ROUTE_PUT", "-b", "nixl", "-r", "0.5.6")[0]
    assert "attn_tp_size" in {key["key"] for key in body["keys"]}
    assert (text["frames"], body["frames"]) == ([], [])


def test_the_list_of_messages(run: Run, run_json: RunJson) -> None:
    rows = run_json("show-messages", "show")
    names = {(row["backend"], row["message"]) for row in rows}
    assert ("ascend", "KVArgsRegisterInfo") in names
    assert ("mori", "STAGING_REQ") not in names
    assert [row["transport"] for row in rows if row["backend"] == "nixl"] == sorted(
        (row["transport"] for row in rows if row["backend"] == "nixl"),
        key=("zmq", "notification", "http").index,
    )
    table = run("show").stdout
    assert "KVArgsRegisterInfo" in table
    assert "0.5.6–0.5.23" in table


def test_one_release_has_fewer(run_json: RunJson) -> None:
    old = {
        row["message"] for row in run_json("show-messages", "show", "-r", "0.5.6", "-b", "mooncake")
    }
    assert "KVArgsRegisterInfo" in old
    assert "STAGING_REQ" not in old


def test_a_table_fits_in_100_columns(run: Run) -> None:
    for arguments in (["KVArgsRegisterInfo", "--all"], ["ROUTE_PUT", "--all"], ["--verified"], []):
        result = run("show", *arguments)
        assert result.exit_code == 0
        assert max(len(line) for line in result.stdout.splitlines()) <= 100
        assert "\x1b" not in result.stdout


def test_a_table_has_every_frame(run: Run) -> None:
    table = run("show", "KVArgsRegisterInfo", "-b", "mooncake", "-r", "0.5.18").stdout
    lines = [line.split() for line in table.splitlines()]
    frames = [words[1] for words in lines if words and words[0].isdigit()]
    spec = packaged_spec()
    (message,) = spec.find("mooncake.KVArgsRegisterInfo")
    layout = message.spoken("mooncake", "0.5.18")
    assert layout is not None
    assert frames == [slot.name for slot in layout.frames]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["Transferinf"], "did you mean 'TransferInfo'?"),
        (["-b", "moncake"], "did you mean 'mooncake'?"),
        (["-r", "0.5.5"], "no release '0.5.5'"),
        (["nixl.STAGING_RQ"], "no message 'nixl.STAGING_RQ'"),
        (["--format", "yaml"], "yaml"),
    ],
)
def test_wrong_usage(run: Run, arguments: list[str], says: str) -> None:
    result = run("show", *arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stdout == ""


def test_why_there_is_none(run: Run) -> None:
    result = run("show", "STAGING_REQ", "-r", "0.5.6", "-b", "mooncake")
    assert result.exit_code == 1
    assert "mooncake has no STAGING_REQ in 0.5.6: " in result.stderr


def result_of(**changed: Any) -> proofs.Result:  # noqa: ANN401
    told: dict[str, Any] = {
        "release": "0.5.23",
        "backend": "mooncake",
        "message": "KV_STATUS",
        "layout": "r2",
        "direction": "peer-to-ours",
        "values": 200,
        "failed": 0,
    }
    return proofs.Result(**(told | changed))


VERIFIED = ["show", "KV_STATUS", "-b", "mooncake", "-l", "r2", "--verified"]


def test_what_was_proved(run: Run, run_json: RunJson, monkeypatch: pytest.MonkeyPatch) -> None:
    results = [
        result_of(wheel_sha256="ab"),
        result_of(release="0.5.22", values=0, reason="0.5.22: no wheel for this machine"),
        result_of(release="0.5.21", values=0, reason="0.5.21: no wheel for this machine"),
    ]
    monkeypatch.setattr(proofs, "load", lambda: results)
    (proof,) = run_json("show-verified", *VERIFIED)
    told = {each["release"]: each["peer-to-ours"] for each in proof["releases"]}
    assert {release: each["status"] for release, each in told.items()} == {
        "0.5.20": "unverified",
        "0.5.21": "not run",
        "0.5.22": "not run",
        "0.5.23": "proved",
    }
    assert (told["0.5.23"]["values"], told["0.5.23"]["wheel_sha256"]) == (200, "ab")
    table = run(*VERIFIED).stdout
    assert "not run: 0.5.21–0.5.22" in table
    assert table.count("no wheel for this machine") == 1
    assert "mooncake KV_STATUS r2, peer-to-ours: 0.5.21–0.5.22" in table


def test_a_failed_proof_is_a_finding(
    run: Run, run_json: RunJson, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proofs, "load", lambda: [result_of(failed=1)])
    (proof,) = run_json("show-verified", *VERIFIED, code=1)
    assert proof["releases"][-1]["peer-to-ours"]["status"] == "failed"
    assert "failed: 0.5.23" in run(*VERIFIED).stdout


def proof_file(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str | None) -> None:
    if text is not None:
        (folder / "wire_proof.json").write_text(text, encoding="utf-8")
    monkeypatch.setattr(proofs, "files", lambda _package: folder)


def test_no_file_means_unverified(
    run_json: RunJson, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proof_file(tmp_path, monkeypatch, None)
    (proof,) = run_json("show-verified", *VERIFIED)
    assert {each["ours-to-peer"]["status"] for each in proof["releases"]} == {"unverified"}


def test_a_file_that_is_no_proof(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proof_file(tmp_path, monkeypatch, '{"schema": "pdwire.spec/1"}')
    result = run(*VERIFIED)
    assert result.exit_code == 2
    assert "not a pdwire.proof/1 document" in result.stderr


def test_a_wheel_told_once_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = {name: getattr(result_of(), name) for name in ("release", "backend", "message")}
    entry |= {"layout": "r2", "direction": "peer-to-ours", "values": 1, "failed": 0}
    text = json.dumps({"schema": proofs.SCHEMA, "wheels": {"0.5.23": "cd"}, "results": [entry]})
    proof_file(tmp_path, monkeypatch, text)
    assert proofs.load() == [result_of(values=1, wheel_sha256="cd")]


def test_the_packaged_proof_knows_only_layouts_that_exist(run_json: RunJson) -> None:
    known = {
        (one["backend"], one["message"], one["layout"], release)
        for one in run_json("show-layouts", "show", "--all")
        for release in one["releases"]
    }
    results = proofs.load()
    assert {(each.backend, each.message, each.layout, each.release) for each in results} <= known
