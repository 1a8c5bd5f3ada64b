"""Field reports F7 and F8: sessions without a port, and brackets around IPv6.

Refused at decode, where someone can answer for it, and never in the send path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pdwire.codec import Codec, Message
from pdwire.errors import FrameValueError, LossyEncodeError
from pdwire.wire import layouts

Json = dict[str, Any]
Facts = Callable[[Codec[Any]], tuple[Json, Json]]
Place = Callable[[Codec[Any], str], int]
Samples = Callable[[Codec[Any]], list[tuple[Message, list[bytes]]]]

CODECS = list({codec.decode: codec for codec in layouts()}.values())


def having(*fields: str) -> pytest.MarkDecorator:
    """Every layout that has one of the fields."""
    codecs = [c for c in CODECS if set(fields) & set(c.fields) and c.transport == "zmq"]
    names = [f"{codec.backend}-{codec.message}-{codec.layout}" for codec in codecs]
    return pytest.mark.parametrize("codec", codecs, ids=names)


HOSTS = [
    *("10.0.0.2", "0.0.0.0", "::", "::1", "fe80::1%eth0", "2001:db8::ff00:42:8329"),  # noqa: S104
    *(
        "[::1]",
        "[fe80::1%eth0]",
        "h",
        "localhost",
        "node_1.local",
        "a-b.c",
        "1a",
        "xn--bcher-kva.de",
    ),
]
NO_HOSTS = [
    *("", " ", "h:5000", "[::1]:5000", "10.0.0.2:5000", "[10.0.0.2]", "[h]", "[::1", "::1]", "[]"),
    *(
        "10.0.0.256",
        "10.0.0",
        "1.2.3.4.5",
        "07.0.0.1",
        "::1::",
        "fe80::1%",
        "fe80::1%e th",
        "12345",
    ),
    *(
        "-h",
        "h-",
        ".h",
        "h..i",
        "h.",
        "a b",
        "h\n",
        "h\0",
        "héh",
        "x" * 64,
        "a." * 127 + "a",
        "h/8",
    ),
    *("None", "tcp://h")[1:],
]
SESSIONS = [
    *("10.0.0.2:17000", "h:5000", "h:1", "h:65535", "[::1]:5000", "[fe80::1%eth0]:17000"),
    *("node-7.cluster.local:80",),
]
NO_SESSIONS = [
    *("10.0.0.2", "h", "[::1]", "::1", "fe80::1%eth0", "::1:5000", "h:x", "h:", ":5000", "h:0"),
    *("h:70000", "h:65536", "h:-1", "h:+1", "h:05000", "h: 5000", "h:5000 ", "h:5000\n", "h:5e3"),
    *(
        "h:5000:5000",
        "[h]:5000",
        "[10.0.0.2]:5000",
        "[::1]5000",
        "[::1]:",
        "",
        "h:99999999999",
        "h:٣",
    ),
]


def field_of(codec: Codec[Any], names: tuple[str, ...]) -> str:
    return next(name for name in codec.fields if name in names)


def swapped_in(frames: list[bytes], at: int, text: str) -> list[bytes]:
    return [*frames[:at], text.encode(), *frames[at + 1 :]]


ENDPOINTS = ("endpoint", "decode_ip")


@having(*ENDPOINTS)
def test_f8_an_endpoint_is_a_host_of_any_kind_and_its_scope_is_kept(
    codec: Codec[Any], samples: Samples, place: Place
) -> None:
    name = field_of(codec, ENDPOINTS)
    frames, at = max((frames for _, frames in samples(codec)), key=len), place(codec, name)
    for host in HOSTS:
        read = codec.decode(swapped_in(frames, at, host))
        assert getattr(read, name) == host
        assert codec.encode(read)[at] == host.encode()


@having(*ENDPOINTS)
def test_f8_an_endpoint_with_a_port_or_half_a_bracket_is_refused(
    codec: Codec[Any], samples: Samples, place: Place
) -> None:
    name = field_of(codec, ENDPOINTS)
    frames, at = max((frames for _, frames in samples(codec)), key=len), place(codec, name)
    for text in NO_HOSTS:
        with pytest.raises(FrameValueError) as caught:
            codec.decode(swapped_in(frames, at, text))
        guard = codec.guard is not None
        assert (caught.value.frame, caught.value.field) == (at - guard, name), text
        assert caught.value.expected == "an IP address or host name"


@having("mooncake_session_id")
def test_f7_a_session_without_a_usable_port_is_refused_at_decode(
    codec: Codec[Any], samples: Samples, place: Place
) -> None:
    at = place(codec, "mooncake_session_id")
    assert at == 3
    message, frames = samples(codec)[0]
    for text in NO_SESSIONS:
        with pytest.raises(FrameValueError) as caught:
            codec.decode(swapped_in(frames, at, text))
        assert (caught.value.frame, caught.value.field) == (3, "mooncake_session_id"), text
        assert caught.value.expected == "host:port, IPv6 in brackets"
        values = {name: getattr(message, name) for name in type(message).__annotations__}
        with pytest.raises(LossyEncodeError):
            codec.encode(codec.cls(**values | {"mooncake_session_id": text}))


@having("mooncake_session_id")
def test_f8_a_session_has_brackets_around_ipv6_and_its_scope_is_kept(
    codec: Codec[Any], samples: Samples, place: Place
) -> None:
    at = place(codec, "mooncake_session_id")
    for text in SESSIONS:
        sent = swapped_in(samples(codec)[0][1], at, text)
        read = codec.decode(sent)
        assert read.mooncake_session_id == text
        assert codec.encode(read)[at] == text.encode()


@having("dst_port", "decode_port")
def test_f7_a_port_is_1_to_65535(codec: Codec[Any], samples: Samples, place: Place) -> None:
    name = field_of(codec, ("dst_port", "decode_port"))
    frames, at = max((frames for _, frames in samples(codec)), key=len), place(codec, name)
    for port in (1, 65535):
        assert getattr(codec.decode(swapped_in(frames, at, str(port))), name) == port
    for text in ("0", "65536", "70000", "-1", "x", ""):
        with pytest.raises(FrameValueError) as caught:
            codec.decode(swapped_in(frames, at, text))
        assert caught.value.field == name
        assert caught.value.expected == "a canonical decimal in 1..65535"
