"""The other side from its recording, where the release itself cannot be run.

A recording can only say what it holds: the frames that each release sent for the samples,
and the values that it read in them. Asked about other frames it refuses, as a peer would
that cannot read them, and the trial does not hold. ``pdwire demo --record`` makes it anew;
releases that sent and read the same share an entry, so that it stays small.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pdwire_conformance.demo.exchange import Side, Trial, Values
from pdwire_conformance.peers.errors import PeerError, PeerUnavailable

SCHEMA = "pdwire.demo-recording/1"
RECORDED = Path(__file__).parent.parent / "vectors" / "demo.json"

Entry = dict[str, Any]
Pair = tuple[str, str]


class Recording:
    """One release as it was recorded, as a side of a trial.

    Raises:
        PeerUnavailable: the release was never recorded.
    """

    def __init__(self, release: str, path: Path = RECORDED) -> None:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data.get("schema") != SCHEMA or release not in data["wheels"]:
            raise PeerUnavailable(f"{path.name} holds no recording of {release}")
        self.wheel_sha256: str = data["wheels"][release]
        self._entries: dict[Pair, Entry] = {
            (entry["backend"], entry["message"]): entry
            for entry in data["vectors"]
            if release in entry["releases"]
        }

    def encode(self, backend: str, message: str, values: Values) -> list[bytes]:
        """The frames that the release sent; whether for these values, the trial finds out."""
        del values
        return [bytes.fromhex(frame) for frame in self._of(backend, message)["frames"]]

    def decode(self, backend: str, message: str, frames: Sequence[bytes]) -> Values:
        """The values that the release read in these very frames."""
        entry = self._of(backend, message)
        if entry["frames"] != [frame.hex() for frame in frames]:
            raise PeerError("NotRecorded", "how the release reads these frames was not recorded")
        read: Values = entry["peer_reads"]
        return read

    def _of(self, backend: str, message: str) -> Entry:
        entry = self._entries.get((backend, message))
        if entry is None:
            raise PeerError("NotRecorded", f"no {backend} {message} was recorded")
        return entry


def entries(release: str, side: Side, trials: Iterable[Trial]) -> Iterator[Entry]:
    """What a running release sent and reads itself, one entry per trial."""
    for trial in trials:
        codec = trial.codec
        yield {
            "releases": [release],
            "backend": codec.backend,
            "message": codec.message,
            "frames": [frame.hex() for frame in trial.frames],
            "peer_reads": side.decode(codec.backend, codec.message, trial.frames),
        }


def merged(found: Iterable[Entry]) -> list[Entry]:
    """Entries that differ in nothing but their releases, made one."""
    kept: dict[str, Entry] = {}
    for entry in found:
        same = json.dumps({key: entry[key] for key in entry if key != "releases"})
        if same in kept:
            kept[same]["releases"] += entry["releases"]
        else:
            kept[same] = entry | {"releases": list(entry["releases"])}
    return list(kept.values())


def write(wheels: dict[str, str], found: Iterable[Entry], path: Path = RECORDED) -> None:
    """Write the recording, one entry a line."""
    rows = [json.dumps(entry, separators=(",", ":")) for entry in merged(found)]
    head = json.dumps({"schema": SCHEMA, "wheels": wheels})[:-1]
    path.write_text(f'{head}, "vectors": [\n' + ",\n".join(rows) + "\n]}\n", encoding="utf-8")
