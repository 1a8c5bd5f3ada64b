"""Fetch the published wheel of one SGLang release and keep the part that speaks PD.

Rules:

* Only pure Python sources are kept: the disaggregation tree, ``environ.py`` and
  ``utils/network.py``. The wheel itself is dropped as soon as they are unpacked.
* A release is either whole in the cache or absent: it is unpacked beside its final
  place and renamed into it, so two processes may fetch at the same time.
* Nothing in a wheel can be written outside the release's folder.
* Whatever keeps a release from being fetched (no network, no pip, a deadline) is one
  :class:`PeerUnavailable` with the reason; callers skip, they never guess.

The cache is ``$PDWIRE_PEER_CACHE``, else ``$XDG_CACHE_HOME/pdwire/peers``, else
``~/.cache/pdwire/peers``; each release has a ``wheel.json`` with the wheel's file name
and SHA-256, so that a result can name exactly what it was measured against.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from .errors import PeerUnavailable

MARKER = "wheel.json"
DEADLINE_S = 300.0
"""Seconds that a download may take before it counts as unavailable."""

_TREE = "sglang/srt/disaggregation/"
_FILES = frozenset({"sglang/srt/environ.py", "sglang/srt/utils/network.py"})
_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, OSError, EOFError),
    *(NotImplementedError, RuntimeError),  # an unknown compression, an encrypted member
)
_MAX_SOURCE_BYTES = 8 * 1024 * 1024

# Several releases are published for one interpreter and platform only. Their Python
# sources run on any, so the second try asks for that wheel by its tags.
_OTHER_TAGS = (
    "--python-version=3.11",
    "--implementation=cp",
    "--abi=cp311",
    "--platform=manylinux_2_34_x86_64",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """One unpacked release: where its sources lie and which wheel they came from."""

    release: str
    root: Path
    """The folder that holds ``sglang/``."""
    filename: str
    sha256: str


def cache_root() -> Path:
    """Folder that holds one sub-folder per fetched release (it may not exist yet)."""
    if override := os.environ.get("PDWIRE_PEER_CACHE"):
        return Path(override)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "pdwire" / "peers"


def cached(release: str) -> Wheel | None:
    """The release as it lies in the cache, or ``None``; never touches the network."""
    folder = cache_root() / _checked(release)
    try:
        marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        return Wheel(release=release, root=folder, filename=marker["file"], sha256=marker["sha256"])
    except (OSError, ValueError, KeyError):
        return None


def fetch(release: str, *, deadline_s: float = DEADLINE_S) -> Wheel:
    """Return the release from the cache, downloading and unpacking it first if need be.

    Raises :class:`PeerUnavailable` when it cannot be had within ``deadline_s`` seconds.
    """
    if (have := cached(release)) is not None:
        return have
    try:
        cache_root().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=cache_root()) as scratch:
            wheel = _download(release, Path(scratch) / "wheel", deadline_s)
            return install(release, wheel)
    except OSError as error:
        raise PeerUnavailable(f"cannot write the peers' cache {cache_root()}: {error}") from error


def install(release: str, wheel: Path) -> Wheel:
    """Unpack a wheel file that is already on this machine into the cache.

    Raises :class:`PeerUnavailable` when the file is no usable wheel of SGLang.
    """
    final = cache_root() / _checked(release)
    cache_root().mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{release}-", dir=cache_root()))
    try:
        unpack(wheel, staging)
        marker = {"file": wheel.name, "sha256": _sha256(wheel)}
        (staging / MARKER).write_text(json.dumps(marker) + "\n", encoding="utf-8")
        _move_into_place(staging, final)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    have = cached(release)
    if have is None:
        raise PeerUnavailable(f"the cache entry {final} is damaged; delete it and try again")
    return have


def unpack(wheel: Path, into: Path) -> int:
    """Extract the kept sources of ``wheel`` below ``into``; the number of files written.

    Raises :class:`PeerUnavailable` for a file that is no wheel, holds no disaggregation
    tree, or holds a name that would leave ``into``.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            kept = [info for info in archive.infolist() if _wanted(info)]
            for info in kept:
                target = into / PurePosixPath(info.filename)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(info))
    except _UNREADABLE as error:
        raise PeerUnavailable(f"{wheel.name} cannot be unpacked: {error}") from error
    if not kept:
        raise PeerUnavailable(f"{wheel.name} holds no {_TREE}")
    return len(kept)


def _wanted(info: zipfile.ZipInfo) -> bool:
    name = info.filename
    if not (name.startswith(_TREE) or name in _FILES) or not name.endswith(".py"):
        return False
    # zip names are whatever the archive says: check before one becomes a path.
    if ".." in PurePosixPath(name).parts or "\\" in name or "\0" in name:
        raise PeerUnavailable(f"the wheel holds an unsafe name {name!r}")
    if stat.S_ISLNK(info.external_attr >> 16):
        raise PeerUnavailable(f"the wheel holds a link {name!r}")
    if info.file_size > _MAX_SOURCE_BYTES:
        raise PeerUnavailable(f"the wheel holds a source of {info.file_size} bytes: {name!r}")
    return True


def _download(release: str, into: Path, deadline_s: float) -> Path:
    base = [
        *(sys.executable, "-m", "pip", "download", f"sglang=={release}"),
        *("--no-deps", "--only-binary=:all:", "--no-cache-dir", "--quiet", "--no-input"),
        *("--disable-pip-version-check", "--retries=1", "--timeout=20", f"--dest={into}"),
    ]
    said = ""
    for extra in ((), _OTHER_TAGS):
        said = _run_pip([*base, *extra], deadline_s)
        if wheels := sorted(into.glob("*.whl")):
            return wheels[0]
    raise PeerUnavailable(f"sglang {release} could not be downloaded: {said}")


def _run_pip(command: list[str], deadline_s: float) -> str:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=deadline_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise PeerUnavailable(f"pip took longer than {deadline_s:g} s") from error
    if "Retrying" in done.stderr and "No matching distribution" in done.stderr:
        # pip blames the name when it never saw an index page at all.
        return "the package index cannot be reached"
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return (lines or ["pip said nothing"])[-1].removeprefix("ERROR: ")[:300]


def _move_into_place(staging: Path, final: Path) -> None:
    try:
        staging.chmod(0o755)
        staging.rename(final)
    except OSError:
        # Somebody else finished first; theirs is as good as ours.
        if not (final / MARKER).is_file():
            raise


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checked(release: str) -> str:
    if not release or not all(part.isalnum() for part in release.split(".")):
        raise PeerUnavailable(f"{release!r} is not a release")
    return release
