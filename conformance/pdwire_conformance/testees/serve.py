"""Make a testee a process: ``serve(MyTestee())`` is a whole program.

Rules:

* Standard output is taken for the protocol before the first line; whatever else prints
  goes to standard error.
* A line that is no request is answered with an error and an ``id`` of ``null`` where it
  has none; only ``stop`` and the end of the input end the process, with status 0.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final, TextIO

from pdwire_conformance.linewise import protocol_output

from .codec import CodecTestee
from .protocol import Answer, Request, Testee

__all__ = ["answer_lines", "serve", "serve_testee"]

_LONGEST: Final = 300


def serve(testee: CodecTestee) -> None:
    """Answer every line of standard input until ``stop`` or its end."""
    try:
        answer_lines(testee.answer, sys.stdin.buffer, protocol_output())
    finally:
        testee.close()


def serve_testee(testee: Testee) -> None:
    """The same for any testee that the suite can find.

    Raises:
        TesteeError: it broke the protocol itself; there is nothing to answer then.
    """
    output = protocol_output()
    with testee:

        def answer(request: Request) -> Answer:
            if request["op"] == "hello":
                # Its managers are started by the suite itself, and not through these lines.
                return {"hello": replace(testee.hello(), roles=("codec",)).as_json()}
            return testee.ask([request])[0]

        answer_lines(answer, sys.stdin.buffer, output)


def answer_lines(
    answer: Callable[[Request], Answer], requests: Iterable[bytes], answers: TextIO
) -> None:
    """Answer lines until ``stop`` or their end, each as it comes."""
    for line in requests:
        told, fault = _request(line)
        number = told.pop("id", None)
        if fault:
            reply: Answer = {"error": {"kind": "other", "text": fault}}
        else:
            reply = {} if told["op"] == "stop" else answer(told)
        # An answer that JSON cannot say ends it all, with the reason on standard error.
        text = json.dumps({"id": number} | reply, separators=(",", ":"), allow_nan=False)
        answers.write(text + "\n")
        answers.flush()
        if not fault and told["op"] == "stop":
            return


def _request(line: bytes) -> tuple[dict[str, Any], str]:
    """The request that a line holds, and why it holds none."""
    try:
        told = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as fault:
        return {}, f"no JSON: {fault}"[:_LONGEST]
    if not isinstance(told, dict):
        return {}, "a request is a JSON object"
    if not isinstance(told.get("op"), str):
        return told, "a request has an op, a string"
    return told, ""
