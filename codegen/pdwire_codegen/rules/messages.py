"""Rules of the message as a whole: transport, direction, guard, HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pdwire_codegen.diagnostics import did_you_mean
from pdwire_codegen.draft import DraftMessage
from pdwire_codegen.kinds import kind_of
from pdwire_codegen.rules.rule import Finding, Path, Rule, at, each_message

TRANSPORTS = ("zmq", "notification", "http")
ROLES = ("prefill", "decode", "bootstrap")

_DIRECTION = re.compile(r"(\S+) -> (\S+)")
_PRINTABLE = re.compile(r"[!-~]+")
_SHAPES = {"zmq": {"frames", "counts"}, "notification": {"text"}, "http": {"keys"}}
_HTTP_KEYS = ("method", "path", "body", "part")
_METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH")


def unknown_transport(message: DraftMessage) -> Iterator[Finding]:
    """The transport is one of three."""
    if message.transport not in TRANSPORTS:
        text = f"unknown transport {message.transport!r}"
        hint = did_you_mean(message.transport, TRANSPORTS)
        yield at(message.document, ("message", "transport"), text, hint)


def unknown_direction(message: DraftMessage) -> Iterator[Finding]:
    """A direction leads from one role to another."""
    for index, direction in enumerate(message.directions):
        match = _DIRECTION.fullmatch(direction)
        path: Path = ("message", "direction", index)
        if match is None or match[1] not in ROLES or match[2] not in ROLES:
            hint = 'write "a -> b" with prefill, decode or bootstrap on either side'
            yield at(message.document, path, f"unknown direction {direction!r}", hint)
        elif direction in message.directions[:index]:
            yield at(message.document, path, f"{direction!r} is listed twice", "drop one")


def layout_shape(message: DraftMessage) -> Iterator[Finding]:
    """A layout has frames, a text or keys, as the transport demands."""
    own = _SHAPES.get(message.transport)
    if own is None:
        return
    wanted = next(key for key in ("frames", "text", "keys") if key in own)
    for layout in message.layouts:
        for key in ("frames", "counts", "text", "keys"):
            if key in layout.given and key not in own:
                text = f"layout {layout.id} has {key}, which {message.transport} does not"
                yield at(message.document, (*layout.path, key), text, f"use {wanted}")
        if wanted not in layout.given:
            text = f"layout {layout.id} has no {wanted}"
            yield at(message.document, layout.path, text, f"add {wanted}")
        elif (wanted == "frames" and not layout.frames) or (wanted == "keys" and not layout.keys):
            yield at(message.document, layout.path, f"layout {layout.id} has no {wanted}", "")


def http_keys(message: DraftMessage) -> Iterator[Finding]:
    """HTTP says method, path, body and part; nothing else does."""
    values = (message.method, message.http_path, message.body, message.part)
    for key, value in zip(_HTTP_KEYS, values, strict=True):
        if message.transport == "http" and value is None:
            text = f"message {message.shown} travels by http and has no {key}"
            yield at(message.document, ("message", "transport"), text, f"add {key}")
        if message.transport in ("zmq", "notification") and value is not None:
            text = f"{key} is for http, and this is {message.transport}"
            yield at(message.document, ("message", key), text, "drop it")
    yield from _http_values(message)


def _http_values(message: DraftMessage) -> Iterator[Finding]:
    choices = (
        ("method", message.method, _METHODS),
        ("body", message.body, ("json", "query")),
        ("part", message.part, ("request", "response")),
    )
    for key, value, known in choices:
        if message.transport == "http" and value is not None and value not in known:
            text = f"unknown {key} {value!r}"
            yield at(message.document, ("message", key), text, did_you_mean(value, known))
    path = message.http_path
    if message.transport == "http" and path is not None and not path.startswith("/"):
        yield at(message.document, ("message", "path"), f"{path!r} is not a path", "begin with /")


def guard_form(message: DraftMessage) -> Iterator[Finding]:
    """A guard is printable ASCII, and a frame of its own."""
    if message.guard is None:
        return
    path = ("message", "guard")
    if _PRINTABLE.fullmatch(message.guard) is None:
        yield at(message.document, path, f"guard {message.guard!r} is not printable ASCII", "")
    elif message.transport in ("notification", "http"):
        yield at(message.document, path, "only a zmq message has a guard", "drop it")


def whole_body(message: DraftMessage) -> Iterator[Finding]:
    """`*` is the whole JSON body: the only key, and a mapping."""
    fields = message.everything()
    for layout in message.layouts:
        for key in layout.keys:
            field = fields.get(key.field or "")
            kind = kind_of(field.type) if field else None
            mapping = kind is not None and kind.value.endswith("{}")
            if key.key == "*" and (len(layout.keys) > 1 or (not mapping and kind is not None)):
                text = f"layout {layout.id}: * must be the only key, and a mapping"
                yield at(message.document, key.path, text, "json:int{} is a mapping")
            if key.key == "*" and key.optional:
                yield at(message.document, key.path, "a body is never missing", "drop optional")


RULES = (
    Rule(
        id="unknown-transport",
        holds="The transport is zmq, notification or http.",
        check=each_message(unknown_transport),
    ),
    Rule(
        id="unknown-direction",
        holds="A direction is `a -> b` between prefill, decode and bootstrap, listed once.",
        check=each_message(unknown_direction),
    ),
    Rule(
        id="layout-shape",
        holds="A layout has frames (zmq), a text (notification) or keys (http).",
        check=each_message(layout_shape),
    ),
    Rule(
        id="http-keys",
        holds="An http message, and no other, has method, path, body and part.",
        check=each_message(http_keys),
    ),
    Rule(
        id="guard-form",
        holds="A guard is printable ASCII before the frames of a zmq message.",
        check=each_message(guard_form),
    ),
    Rule(
        id="whole-body",
        holds="The key `*` is the whole body: alone, never optional, and a mapping.",
        check=each_message(whole_body),
    ),
)
