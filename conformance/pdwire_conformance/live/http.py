"""One HTTP request to a target's bootstrap server, and whether its answer is right."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import Any, Final

from .notation import framed
from .scene import Scene, StepFailed

__all__ = ["ask_http"]

_TIMEOUT_S: Final = 5.0


def ask_http(scene: Scene, step: Mapping[str, Any]) -> None:
    """Ask, and compare status, keys and values; ``StepFailed`` says what differs."""
    method, path = str(step["method"]), str(step["path"])
    expected = f"{method} {path}: {' or '.join(map(str, step['status']))}"
    try:
        status, raw = _asked(scene.target.bootstrap, method, path, _body(step))
    except (OSError, http.client.HTTPException) as error:
        if "closed" in step["status"]:
            return
        raise StepFailed(expected, f"{type(error).__name__}: {error}") from error
    came = " ".join(f"{status} {raw[:200].decode('utf-8', 'replace')}".split())
    scene.note(f"{method} {path} -> {came}")
    if status not in step["status"]:
        raise StepFailed(expected, came)
    _compare(step, raw, came)


def _body(step: Mapping[str, Any]) -> bytes | None:
    if "json" in step:
        return json.dumps(step["json"]).encode()
    return framed(step["body"]) if "body" in step else None


def _asked(address: str, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
    host, _, port = address.rpartition(":")
    connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=_TIMEOUT_S)
    try:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read(1 << 20)
    finally:
        connection.close()


def _compare(step: Mapping[str, Any], raw: bytes, came: str) -> None:
    if not {"keys", "equals", "lacks"} & set(step):
        return
    try:
        told = json.loads(raw)
    except ValueError:
        raise StepFailed("a JSON object", came) from None
    if missing := [key for key in step.get("keys", ()) if key not in told]:
        raise StepFailed(f"the key {missing[0]!r}", came)
    if extra := [key for key in step.get("lacks", ()) if key in told]:
        raise StepFailed(f"no key {extra[0]!r}", came)
    for key, value in step.get("equals", {}).items():
        if told.get(key) != value:
            raise StepFailed(f"{key} = {value!r}", came)
