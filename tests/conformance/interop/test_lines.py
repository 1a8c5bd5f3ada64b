from __future__ import annotations

import io
import json
from typing import Any

import pytest

from pdwire_conformance.interop.lines import Answer, Request, refuse, serve


def answers(*requests: Request) -> list[Answer]:
    def divide(request: Request) -> Answer:
        return {"half": request["n"] / request["by"]}

    told = io.StringIO()
    lines = io.StringIO("".join(json.dumps(each) + "\n" for each in requests))
    serve({"divide": divide, "stop": lambda _: {}}, lines, told)
    return [json.loads(line) for line in told.getvalue().splitlines()]


def test_each_answer_has_its_request_s_id() -> None:
    asked: list[Request] = [{"id": 4, "op": "divide", "n": n, "by": 2} for n in (2, 6)]
    assert answers(*asked) == [{"id": 4, "half": 1.0}, {"id": 4, "half": 3.0}]


@pytest.mark.parametrize(
    ("request_", "kind"),
    [({"op": "divide", "n": 1, "by": 0}, "ZeroDivisionError"), ({"op": "fly"}, "KeyError")],
)
def test_what_an_operation_raises_is_an_answer(request_: dict[str, Any], kind: str) -> None:
    (told,) = answers({"id": 1, **request_})
    assert told["error"]["type"] == kind
    assert told["error"]["where"] == "side"


def test_stop_is_answered_and_is_the_last() -> None:
    assert answers({"id": 1, "op": "stop"}, {"id": 2, "op": "stop"}) == [{"id": 1}]


def test_a_refusal_reads_as_a_peer_that_cannot_be_had() -> None:
    told = io.StringIO()
    refuse(told, ImportError("no engine"))
    error = json.loads(told.getvalue())["error"]
    assert (error["type"], error["text"]) == ("PeerUnavailable", "no engine")
