"""HTTP bodies and query strings of the bootstrap server, and notification texts.

Each is one frame: the body's bytes, or the text that travels with a transfer. Unknown
keys are ignored, so that a newer peer may say more (field report V4); a missing
required key and a key of the wrong type are named.
"""

from __future__ import annotations

from math import isfinite
from re import Match, Pattern
from typing import Any
from urllib.parse import parse_qsl, urlencode

import msgspec

from pdwire.errors import FrameCountError, FrameValueError, UnknownMessageError, shorten
from pdwire.frames.place import Frames, Layout, Place, as_bytes, lossy, refuse

__all__ = [
    "json_body",
    "json_key",
    "json_whole",
    "matched",
    "only",
    "put_json",
    "put_json_key",
    "put_query",
    "query_body",
    "query_key",
]


def only(frames: Frames, layout: Layout) -> bytes:
    """The one frame that a text or a body is.

    Raises:
        FrameCountError: there is not exactly one.
    """
    if len(frames) != 1:
        raise FrameCountError(
            "1 frame", f"{len(frames)} frames", message=layout.message, layout=layout.layout
        )
    return as_bytes(frames[0], layout)


def matched(frames: Frames, pattern: Pattern[bytes], expected: str, layout: Layout) -> Match[bytes]:
    """The match of a notification text.

    Raises:
        UnknownMessageError: the text is not of this layout's grammar.
    """
    raw = only(frames, layout)
    found = pattern.fullmatch(raw)
    if found is None:
        raise UnknownMessageError(
            expected, shorten(raw), message=layout.message, layout=layout.layout
        )
    return found


def json_body(frames: Frames, layout: Layout) -> dict[str, Any]:
    """The JSON object of a body.

    Raises:
        FrameValueError: it is not a JSON object.
    """
    raw = only(frames, layout)
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as fault:
        raise _not_body("a JSON object", raw, layout, str(fault)) from None
    if not isinstance(value, dict):
        raise _not_body("a JSON object", raw, layout, "")
    return value


def _not_body(expected: str, raw: bytes, layout: Layout, hint: str) -> FrameValueError:
    return FrameValueError(
        expected, shorten(raw), message=layout.message, layout=layout.layout, frame=0, hint=hint
    )


def _required(body: dict[str, Any], key: str, at: Place) -> Any:
    if key not in body:
        raise FrameValueError(
            f"the key {key!r}, {at.expected}",
            f"keys {', '.join(map(repr, sorted(body)))}" if body else "no keys",
            message=at.layout.message,
            layout=at.layout.layout,
            field=at.field,
            hint="required in this release",
        )
    return body[key]


def _matches(value: Any, kind: str, at: Place) -> bool:
    """Whether a JSON value is of a ``json:`` type; one that is nested too deeply is not."""
    try:
        return _fits(value, kind, at)
    except RecursionError:
        return False


def _fits(value: Any, kind: str, at: Place) -> bool:
    """Whether a JSON value is of a ``json:`` type (``int``, ``str?``, ``int[]``, ``any``…)."""
    if kind.endswith("?"):
        return value is None or _fits(value, kind[:-1], at)
    if kind.endswith("[]"):
        return isinstance(value, list | tuple) and all(_fits(v, kind[:-2], at) for v in value)
    if kind.endswith("{}"):
        return isinstance(value, dict) and all(
            _is_text(key) and _fits(inner, kind[:-2], at) for key, inner in value.items()
        )
    if kind == "any":
        return _is_json(value)
    if kind == "object":
        return isinstance(value, dict) and _is_json(value)
    if kind == "int":
        return isinstance(value, int) and not isinstance(value, bool) and at.lo <= value <= at.hi
    if kind == "str":
        return _is_text(value) and (not at.allowed or value in at.allowed)
    return isinstance(value, bool)


def _is_text(value: Any) -> bool:
    """Text that UTF-8 can carry, which lone surrogates are not."""
    if not isinstance(value, str):
        return False
    try:
        return value.isascii() or bool(value.encode("utf-8"))
    except UnicodeEncodeError:
        return False


def _is_json(value: Any) -> bool:
    """What JSON says as it is: no NaN, no numbers as keys, no bytes."""
    if isinstance(value, list | tuple):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(_is_text(key) and _is_json(inner) for key, inner in value.items())
    if isinstance(value, float):
        return isfinite(value)
    return value is None or isinstance(value, int) or _is_text(value)


def json_key(body: dict[str, Any], key: str, kind: str, at: Place) -> Any:
    """The value of a key; lists come as tuples.

    Raises:
        FrameValueError: the key is missing or of another type, or out of range.
    """
    value = _required(body, key, at)
    if not _matches(value, kind, at):
        refuse(at, value)
    return _made(value, kind)


def _made(value: Any, kind: str) -> Any:
    """Lists that the type names as tuples; what stands in an object is left as it is."""
    if kind.endswith("?"):
        return None if value is None else _made(value, kind[:-1])
    if kind.endswith("[]"):
        return tuple(_made(item, kind[:-2]) for item in value)
    if kind.endswith("{}"):
        return {key: _made(item, kind[:-2]) for key, item in value.items()}
    return value


def json_whole(body: dict[str, Any], kind: str, at: Place) -> Any:
    """The body itself, whose keys are data and not names.

    Raises:
        FrameValueError: a value is of another type, or out of range.
    """
    if not _matches(body, kind, at):
        refuse(at, body)
    return _made(body, kind)


def put_json_key(value: Any, kind: str, at: Place) -> Any:
    """The value as JSON takes it."""
    if not _matches(value, kind, at):
        lossy(at, value)
    return list(value) if isinstance(value, tuple) else value


def put_json(body: dict[str, Any]) -> list[bytes]:
    """The body's bytes."""
    return [msgspec.json.encode(body)]


def query_body(frames: Frames, layout: Layout) -> dict[str, Any]:
    """The keys of a query string; of a repeated key the first one.

    Raises:
        FrameValueError: it is not a query string.
    """
    raw = only(frames, layout)
    try:
        pairs = parse_qsl(
            str(raw, "ascii"), keep_blank_values=True, strict_parsing=True, max_num_fields=256
        )
    except ValueError as fault:
        raise _not_body("a query string", raw, layout, str(fault)) from None
    return dict(reversed(pairs))


def query_key(body: dict[str, Any], key: str, at: Place) -> bytes:
    """The raw value of a key, for the decoder of its type.

    Raises:
        FrameValueError: the key is missing.
    """
    return str(_required(body, key, at)).encode("utf-8")


def put_query(body: dict[str, bytes]) -> list[bytes]:
    """The query string's bytes."""
    return [urlencode({key: value.decode("ascii") for key, value in body.items()}).encode("ascii")]
