"""Which codec: by release, revision or name."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

from pdwire.codec import Codec
from pdwire.errors import (
    UnknownLayoutError,
    UnknownMessageError,
    WireError,
)
from pdwire.registry import Registry
from pdwire.wire import layout, layouts, recognise, releases
from pdwire.wire.table import ALIASES, CODECS, ORDER
from pdwire_conformance.proof.spec import load_spec

Json = dict[str, Any]

SPEC = load_spec()
BACKENDS = ["mooncake", "ascend", "nixl", "mori"]


def test_every_message_of_every_release_in_the_spec_has_its_codec() -> None:
    found = 0
    for message in SPEC["messages"]:
        for revision in message["layouts"]:
            for backend, spoken in revision["speakers"].items():
                for release in spoken:
                    codec = layout(backend, message["name"], release=release)
                    assert codec.layout == revision["id"]
                    assert release in codec.releases
                    assert codec.fingerprint == revision["fingerprint"]
                    assert codec.counts == tuple(revision["counts"])
                    assert list(codec.directions) == message["directions"]
                    assert codec.transport == message["transport"]
                    assert codec is layout(backend, message["name"], revision=codec.layout)
                    found += 1
    assert found == sum(len(codec.releases) for codec in layouts())


def test_no_codec_is_for_a_release_that_the_spec_calls_absent() -> None:
    for message in SPEC["messages"]:
        for backend, gone in message["absent"].items():
            for release in gone["releases"]:
                with pytest.raises(UnknownLayoutError, match=f"{backend} has no .* in "):
                    layout(backend, message["name"], release=release)


def test_each_release_of_a_backend_is_in_one_layout_of_a_message() -> None:
    for (backend, message), found in itertools.groupby(
        sorted(layouts(), key=_named), key=lambda codec: (codec.backend, codec.message)
    ):
        spoken = [release for codec in found for release in codec.releases]
        assert len(spoken) == len(set(spoken))
        assert set(spoken) <= set(releases(backend)), message


def _named(codec: Codec[Any]) -> tuple[str, str]:
    return codec.backend, codec.message


def test_without_release_or_revision_it_is_the_newest() -> None:
    for codec in layouts():
        newest = layout(codec.backend, codec.message)
        ages = [releases(codec.backend).index(r) for r in codec.releases]
        assert releases(codec.backend).index(newest.releases[-1]) >= max(ages)
    assert layout("mooncake", "KVArgsRegisterInfo").layout == "r8"


def test_a_message_goes_by_its_class_name_and_its_aliases_too() -> None:
    for codec in layouts():
        for spelling in (codec.cls.__name__, codec.message):
            assert layout(codec.backend, spelling, revision=codec.layout) is codec
    for alias, name in ALIASES.items():
        assert layouts(message=alias) == layouts(message=name) != []


def test_ascend_speaks_mooncake() -> None:
    pairs = list(zip(layouts("ascend"), layouts("mooncake"), strict=True))
    assert len(pairs) == 49
    for ours, theirs in pairs:
        assert (ours.message, ours.layout, ours.releases) == (
            theirs.message,
            theirs.layout,
            theirs.releases,
        )
        assert ours.decode is theirs.decode
        assert ours.encode is theirs.encode
        assert ours.cls is theirs.cls
        assert (ours.backend, theirs.backend) == ("ascend", "mooncake")


def test_releases_are_those_of_the_backend_oldest_first() -> None:
    assert releases("mooncake") == releases("ascend") == releases("nixl") == list(ORDER)
    assert len(ORDER) == 25
    assert (ORDER[0], ORDER[-1]) == ("0.5.6", "0.5.23")
    assert releases("mori") == list(ORDER[ORDER.index("0.5.9") :])
    assert [b["name"] for b in SPEC["backends"]] == ["mooncake", "ascend", "nixl", "mori"]
    for backend in SPEC["backends"]:
        assert releases(backend["name"]) == backend["releases"]


def test_layouts_are_filtered_by_backend_and_message() -> None:
    assert layouts() == list(CODECS)
    assert [codec for backend in BACKENDS for codec in layouts(backend)] == sorted(
        layouts(), key=lambda codec: BACKENDS.index(codec.backend)
    )
    for backend in BACKENDS:
        assert {codec.backend for codec in layouts(backend)} == {backend}
    assert [c.layout for c in layouts("nixl", "TransferInfo")] == ["r1", "r2", "r3", "r4", "r5"]
    assert {c.backend for c in layouts(message="ABORT")} == set(BACKENDS)
    assert layouts("mori", "STAGING_REQ") == []
    assert layouts("nobody") == layouts(message="NOTHING") == []


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("moncake", "TransferInfo", {}), "unknown backend 'moncake'; did you mean 'mooncake'?"),
        (
            ("zmq", "TransferInfo", {}),
            "unknown backend 'zmq' (known: mooncake, ascend, nixl, mori)",
        ),
        (
            ("nixl", "TransferInf", {}),
            "unknown nixl message 'TransferInf'; did you mean 'TransferInfo'?",
        ),
        (
            ("nixl", "StagingRequest", {}),
            "unknown nixl message 'StagingRequest'; did you mean 'StagingReq'?",
        ),
        (("nixl", "staging_req", {}), "did you mean 'STAGING_REQ'?"),
        (("nixl", "kvstatus", {}), "did you mean 'KVStatus'?"),
        (("mori", "STAGING_REQ", {}), "unknown mori message 'STAGING_REQ'"),
        (
            ("nixl", "TransferInfo", {"release": "0.5.91"}),
            "unknown release '0.5.91'; did you mean '0.5.9",
        ),
        (
            ("mori", "TransferInfo", {"release": "0.5.8"}),
            "mori has no TransferInfo in 0.5.8; it has",
        ),
        (("mooncake", "BOOTSTRAP", {"release": "0.5.21"}), "it has one in 0.5.22, 0.5.23"),
        (
            ("mooncake", "KVArgsRegisterInfo", {"revision": "r9"}),
            "unknown mooncake KVArgsRegisterInfo revision 'r9'",
        ),
        (
            ("mooncake", "TransferInfo", {"release": "0.5.19", "revision": "r3"}),
            "choose by release or by revision, not by both",
        ),
    ],
)
def test_what_is_not_there_is_told_with_what_is(asked: tuple[str, str, Json], told: str) -> None:
    backend, message, choice = asked
    with pytest.raises(UnknownLayoutError, match=re.escape(told)):
        layout(backend, message, **choice)
    with pytest.raises(LookupError):  # and never a WireError: no peer can provoke it
        layout(backend, message, **choice)
    assert not issubclass(UnknownLayoutError, WireError)


def test_an_unknown_backend_or_direction_is_the_callers_mistake_wherever_it_is_named() -> None:
    with pytest.raises(UnknownLayoutError, match="did you mean 'mori'"):
        releases("morri")
    with pytest.raises(UnknownLayoutError, match="did you mean 'mooncake'"):
        recognise([b"7"], backend="moon-cake")
    with pytest.raises(UnknownLayoutError, match="did you mean 'decode -> prefill'"):
        recognise([b"7"], direction="decode->prefill")


def test_a_registry_of_nothing_knows_nothing() -> None:
    empty = Registry((), (), {})
    assert empty.layouts() == []
    with pytest.raises(UnknownLayoutError):
        empty.layout("mooncake", "TransferInfo")
    with pytest.raises(UnknownLayoutError):
        empty.releases("mooncake")
    with pytest.raises(UnknownMessageError):
        empty.recognise([b"7"])
