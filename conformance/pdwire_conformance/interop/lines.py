"""JSON lines between a side and whoever drives it.

Rules:

* One request per line, one answer per line, in order, each answer with the request's id.
* Standard output belongs to the protocol; whatever a release or an engine prints goes to
  standard error, from C++ as well.
* What an operation raises becomes an answer with ``error``; only ``stop`` and the end of
  the input end a side.
"""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from pdwire_conformance.linewise import protocol_output

__all__ = ["TRACE", "Answer", "Operation", "Request", "protocol_output", "refuse", "serve"]

Request = dict[str, Any]
Answer = dict[str, Any]
Operation = Callable[[Request], Answer]

TRACE = "PDWIRE_PEER_TRACE"
"""Environment variable: set, every traceback goes to standard error."""


def serve(operations: Mapping[str, Operation], requests: TextIO, answers: TextIO) -> None:
    """Answer every line until ``stop`` or the end of the input."""
    for line in requests:
        request = json.loads(line)
        reply = {"id": request.get("id")} | _answer(operations, request)
        answers.write(json.dumps(reply, separators=(",", ":")) + "\n")
        answers.flush()
        if request.get("op") == "stop":
            return


def _answer(operations: Mapping[str, Operation], request: Request) -> Answer:
    try:
        return operations[request["op"]](request)
    except Exception as error:
        if os.environ.get(TRACE):
            traceback.print_exception(error)
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        text = f"{error} ({where})"[:500]
        return {"error": {"type": type(error).__name__, "text": text, "where": "side"}}


def refuse(answers: TextIO, error: Exception) -> None:
    """Say, instead of serving, why a side cannot be had here."""
    told = {"type": "PeerUnavailable", "text": str(error), "where": "runner"}
    answers.write(json.dumps({"id": None, "error": told}) + "\n")
    answers.flush()
