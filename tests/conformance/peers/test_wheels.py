from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from pdwire_conformance.peers import wheels
from pdwire_conformance.peers.errors import PeerUnavailable

_CONN = "sglang/srt/disaggregation/mooncake/conn.py"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PDWIRE_PEER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def _wheel(folder: Path, names: dict[str, str]) -> Path:
    path = folder / "sglang-9.9.9-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in names.items():
            archive.writestr(name, text)
    return path


def test_only_the_sources_that_speak_pd_are_kept(tmp_path: Path) -> None:
    kept = [_CONN, "sglang/srt/environ.py", "sglang/srt/utils/network.py"]
    dropped = [
        "sglang/srt/server_args.py",
        "sglang/srt/utils/common.py",
        "sglang/srt/disaggregation/kernel.so",
    ]
    wheel = wheels.install("9.9.9", _wheel(tmp_path, dict.fromkeys(kept + dropped, "x = 1\n")))
    found = [str(p.relative_to(wheel.root)) for p in wheel.root.rglob("*") if p.is_file()]
    assert sorted(found) == sorted([*kept, wheels.MARKER])


def test_the_marker_names_the_wheel_and_its_hash(tmp_path: Path) -> None:
    path = _wheel(tmp_path, {_CONN: "x = 1\n"})
    wheels.install("9.9.9", path)
    wheel = wheels.cached("9.9.9")
    assert wheel is not None
    assert wheel.filename == path.name
    assert wheel.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    "name",
    [
        "sglang/srt/disaggregation/../../../../escaped.py",
        "sglang/srt/disaggregation/a\\..\\escaped.py",
    ],
)
def test_a_name_that_would_leave_the_cache_refuses_the_whole_wheel(
    tmp_path: Path, cache: Path, name: str
) -> None:
    with pytest.raises(PeerUnavailable, match="unsafe name"):
        wheels.install("9.9.9", _wheel(tmp_path, {_CONN: "", name: "x = 1\n"}))
    assert wheels.cached("9.9.9") is None
    assert not list(tmp_path.rglob("escaped.py"))
    assert list(cache.iterdir()) == []


def test_a_link_in_a_wheel_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sglang-9.9.9-py3-none-any.whl"
    link = zipfile.ZipInfo(_CONN)
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(PeerUnavailable, match="a link"):
        wheels.install("9.9.9", path)


def test_a_wheel_without_pd_and_a_file_that_is_no_wheel_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PeerUnavailable, match="holds no"):
        wheels.install("9.9.9", _wheel(tmp_path, {"sglang/version.py": ""}))
    broken = tmp_path / "broken.whl"
    broken.write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(PeerUnavailable, match="cannot be unpacked"):
        wheels.install("9.9.9", broken)


def test_a_second_install_finds_the_first_one_s_sources(tmp_path: Path) -> None:
    first = wheels.install("9.9.9", _wheel(tmp_path, {_CONN: "first = 1\n"}))
    second = wheels.install("9.9.9", _wheel(tmp_path, {_CONN: "second = 1\n"}))
    assert second == first
    assert (second.root / _CONN).read_text() == "first = 1\n"


def test_without_an_index_the_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    with pytest.raises(PeerUnavailable, match=r"sglang 9\.9\.9 could not be downloaded: .+"):
        wheels.fetch("9.9.9")


def test_a_download_has_a_deadline() -> None:
    with pytest.raises(PeerUnavailable, match="longer than 0 s"):
        wheels.fetch("9.9.9", deadline_s=0)


@pytest.mark.parametrize("release", ["", "../0.5.6", "0.5.6 --pre", "0..5"])
def test_a_release_is_a_version_and_nothing_else(release: str) -> None:
    with pytest.raises(PeerUnavailable, match="is not a release"):
        wheels.fetch(release)


def test_the_cache_follows_the_desktop_convention(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PDWIRE_PEER_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert wheels.cache_root() == Path("/somewhere/pdwire/peers")
