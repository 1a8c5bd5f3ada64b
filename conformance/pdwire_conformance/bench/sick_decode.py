"""The process of one decode rank of ``pdwire bench sick``: requests on command, times as answers.

``python -m pdwire_conformance.bench.sick_decode BACKEND`` reads one JSON object a line and answers
each with one, behind an ``@``, for engines print, too.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from pdwire.managers import KVPoll
from pdwire.managers.receiver import CommonKVReceiver
from pdwire_conformance.bench.sick_side import DEADLINE_S, PAGES, make, pages_of

__all__ = ["main"]

_NAP_S = 0.0005


class Decode:
    """One decode rank and the receivers that it was told to keep."""

    def __init__(self, backend: str) -> None:
        self._memory, self._manager = make(backend, "decode", 0)
        self._kept: list[CommonKVReceiver] = []

    def answer(self, command: dict[str, Any]) -> object:
        """Do what a line says."""
        match command["do"]:
            case "run":
                return self._run(command)
            case "ask":
                self._kept = [self._open(command["address"], n, PAGES) for n in command["rooms"]]
                return "asked"
            case "ends":
                ends = [self._end(receiver) for receiver in self._kept]
                self._kept = []
                return [end.name for end in ends]
        return None

    def _open(self, address: str, room: int, count: int) -> CommonKVReceiver:
        receiver: CommonKVReceiver = self._manager.receiver(address, room)
        receiver.init()
        receiver.send_metadata(pages_of(count), aux_index=0)
        return receiver

    def _end(self, receiver: CommonKVReceiver) -> KVPoll:
        ends = time.monotonic() + DEADLINE_S
        while receiver.poll() not in {KVPoll.Success, KVPoll.Failed} and time.monotonic() < ends:
            time.sleep(_NAP_S)
        status = receiver.poll()
        receiver.clear()
        return status

    def _run(self, command: dict[str, Any]) -> dict[str, object]:
        """One request after another; a few of them at a bootstrap server that never answers."""
        taken: list[float] = []
        failed, room = 0, command["first"]
        now = time.monotonic()
        ends, silent_at = now + command["seconds"], now
        silent: list[CommonKVReceiver] = []
        while time.monotonic() < ends:
            if command["silent"] and time.monotonic() >= silent_at:
                silent_at += 1.0
                lost = self._manager.receiver(command["silent"], 10**9 + room)
                lost.init()
                silent.append(lost)
            began = time.perf_counter()
            status = self._end(self._open(command["address"], room, command["pages"]))
            taken.append(time.perf_counter() - began)
            failed += status is not KVPoll.Success
            room += 1
            time.sleep(command["think"])
        for lost in silent:
            lost.abort()
            lost.clear()
        return {"seconds": taken, "failed": failed}


def main(backend: str) -> None:
    """Answer until stdin ends."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    decode = Decode(backend)
    print("@" + json.dumps("ready"), file=out, flush=True)
    for line in sys.stdin:
        print("@" + json.dumps(decode.answer(json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
