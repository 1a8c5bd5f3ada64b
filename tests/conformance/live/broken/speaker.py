"""A program that speaks the testee protocol for our own side: what ``cmd:`` starts.

It is the worked example of a driven rank: ``hello``, then ``start`` with the rank's options,
then whatever a side is asked.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pdwire_conformance.interop.lines import protocol_output
from pdwire_conformance.interop.options import Options
from pdwire_conformance.interop.ours import Ours

HELLO = {
    "protocol": "pdwire.testee/1",
    "name": "speaker",
    "roles": ["prefill", "decode", "bootstrap"],
    "backends": {"mooncake": {"releases": ["0.5.23"], "messages": {}}},
}


def answer(sides: list[Ours], request: dict[str, Any]) -> dict[str, Any]:
    if request["op"] == "hello":
        return {"hello": HELLO}
    if request["op"] == "start":
        sides[:] = [Ours(Options(**request["options"]))]
    if request["op"] == "health":
        return {"skip": "says nothing of itself"}
    return sides[0].operations()[request["op"]](request)


def main() -> None:
    output, sides = protocol_output(), list[Ours]()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            told = answer(sides, request)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
            told = {"error": {"kind": "other", "text": f"{type(error).__name__}: {error}"}}
        output.write(json.dumps({"id": request["id"], **told}) + "\n")
        output.flush()
        if request["op"] == "stop":
            return


if __name__ == "__main__":
    main()
