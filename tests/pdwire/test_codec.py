"""What a message and a codec are: names, sealing, and the error of a value that does not fit."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from pdwire.codec import Codec, Message, field_names, seal, unfit
from pdwire.errors import LossyEncodeError
from pdwire.frames import I32Array, Layout, no_i32
from pdwire.wire import layouts

LAYOUT = Layout("mooncake Ping", "r1", "0.5.23", (1,), {})


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ping(Message):
    """A message of one field of each kind."""

    number: int = 0
    maybe: int | None = None
    flag: bool = False
    word: str = ""
    data: bytes = b""
    items: I32Array = dataclasses.field(default_factory=no_i32)
    parts: tuple[I32Array, ...] = ()
    table: dict[str, int] = dataclasses.field(default_factory=dict)


class Draft(Message):
    """A Ping that is still being filled."""

    __slots__ = ("data", "flag", "items", "maybe", "number", "parts", "table", "word")


def test_fields_are_named_in_the_order_of_their_declaration() -> None:
    assert field_names(Ping) == (
        "number",
        "maybe",
        "flag",
        "word",
        "data",
        "items",
        "parts",
        "table",
    )


def test_a_draft_becomes_the_frozen_message_itself() -> None:
    draft: Any = Draft()
    for name in field_names(Ping):
        setattr(draft, name, getattr(Ping(), name))
    done = seal(draft, Ping)
    assert done is draft
    assert type(done) is Ping
    assert done == Ping()
    with pytest.raises(dataclasses.FrozenInstanceError):
        done.number = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("number", None),
        ("number", 1.5),
        ("number", np.array([1])),
        ("maybe", "1"),
        ("flag", None),
        ("word", b"x"),
        ("data", "x"),
        ("items", 7),
        ("items", np.array(7)),
        ("items", {1: 2}),
        ("parts", np.array([1])),
        ("parts", "x"),
        ("table", [1]),
    ],
)
def test_the_field_of_another_type_is_named(name: str, value: object) -> None:
    fault = TypeError("unsupported")
    with pytest.raises(LossyEncodeError) as caught:
        unfit(Ping(**{name: value}), Ping, LAYOUT, fault)  # type: ignore[arg-type]
    assert caught.value.field == name
    assert caught.value.expected == Ping.__annotations__[name]
    assert (caught.value.message, caught.value.layout) == ("mooncake Ping", "r1")
    assert caught.value.__cause__ is fault


def test_what_is_no_such_message_and_what_fits_are_told_apart() -> None:
    with pytest.raises(LossyEncodeError, match="expected a Ping, got None"):
        unfit(None, Ping, LAYOUT, AttributeError())
    with pytest.raises(LossyEncodeError, match="values that frames can carry, got ValueError"):
        unfit(Ping(items=np.array([1])), Ping, LAYOUT, ValueError("odd"))


def test_codecs_are_values_with_the_facts_of_their_layout() -> None:
    for codec in layouts():
        assert isinstance(codec, Codec)
        assert len(codec.fingerprint) == 64
        assert codec.counts == tuple(sorted(codec.counts))
        assert set(codec.fields) <= set(field_names(codec.cls))
        assert codec.releases
        assert codec.transport in {"zmq", "notification", "http"}
        if codec.guard is not None:
            assert codec.lead[0] == (0, codec.guard)
        if codec.transport != "zmq":
            assert (codec.guard, codec.lead, codec.number, codec.counts) == (None, (), None, (1,))
    assert len(layouts()) == len(set(layouts()))
