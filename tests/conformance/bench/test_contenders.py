"""All contenders read and write the same values; ours reads big arrays without a copy."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from pdwire.codec import Codec, Message
from pdwire.errors import UnknownLayoutError
from pdwire.wire import layout, mooncake
from pdwire_conformance.bench.cases import CASES, Case
from pdwire_conformance.bench.contenders import NAMES, contenders, held
from pdwire_conformance.bench.memory import memory
from pdwire_conformance.bench.run import BACKENDS

BY_NAME = {case.name: case for case in CASES}
PAIRS = [(backend, case) for backend in BACKENDS for case in CASES]


def codec_of(backend: str, case: Case, release: str = "0.5.23") -> Codec[Any]:
    return layout(backend, case.message, release=release)


def test_everything_that_is_wanted_is_measured() -> None:
    assert list(BY_NAME) == [
        *("registration-160", "registration-160-state"),
        *("metadata-16", "metadata-2000", "metadata-131072"),
        *("status", "staging-req", "watermark"),
    ]
    for name in ("registration-160", "registration-160-state"):
        assert len(BY_NAME[name].values["dst_kv_ptrs"]) == 160
    for size in (16, 2_000, 131_072):
        assert len(BY_NAME[f"metadata-{size}"].values["dst_kv_indices"]) == size


@pytest.mark.parametrize(("backend", "case"), PAIRS, ids=lambda each: getattr(each, "name", each))
def test_every_contender_has_every_value(backend: str, case: Case) -> None:
    codec = codec_of(backend, case)
    message = held(codec, case.values)
    frames = codec.encode(message)
    made = contenders(codec, message, frames)
    assert tuple(made) == NAMES
    assert made["pdwire"].encode() == frames == made["construct"].encode()
    assert made["pdwire"].decode() == codec.decode(frames)
    values = made["construct"].decode()
    assert {name: values[name] for name in codec.fields} == {
        name: case.values[name] for name in codec.fields
    } | _hexless(case, codec)
    lists = msgspec.structs.asdict(made["msgpack"].decode())
    assert lists == values
    raw = msgspec.structs.asdict(made["msgpack-raw"].decode())
    if "dst_kv_indices" in codec.fields:
        assert np.frombuffer(raw["dst_kv_indices"], np.int32).tolist() == values["dst_kv_indices"]


def _hexless(case: Case, codec: Codec[Any]) -> dict[str, bytes]:
    """Bytes as bytes: the cases hold them as values in JSON do."""
    given = {name: case.values[name] for name in codec.fields}
    return {
        name: bytes.fromhex(value["hex"])
        for name, value in given.items()
        if isinstance(value, dict)
    }


def test_an_encoder_gets_what_senders_hold() -> None:
    case = BY_NAME["metadata-16"]
    message = held(codec_of("mooncake", case), case.values)
    assert isinstance(message, mooncake.TransferInfo)
    assert message.dst_kv_indices.dtype == np.int32
    assert message.dst_kv_indices.flags.owndata
    registration = BY_NAME["registration-160"]
    announced = held(codec_of("mooncake", registration), registration.values)
    assert isinstance(announced, mooncake.KVArgsRegisterInfo)
    pointers: object = announced.dst_kv_ptrs
    assert isinstance(pointers, tuple)


@pytest.mark.parametrize("backend", BACKENDS)
def test_131072_indices_are_decoded_without_a_copy(backend: str) -> None:
    case = BY_NAME["metadata-131072"]
    for release in ("0.5.12", "0.5.19", "0.5.23"):
        codec = codec_of(backend, case, release)
        frames = codec.encode(held(codec, case.values))
        seen = memory(codec, frames)
        assert seen.array_bytes == 4 * 131_072
        assert seen.shares_memory
        assert seen.peak_bytes < 4_096


def test_a_copy_would_be_seen() -> None:
    case = BY_NAME["metadata-131072"]
    codec = codec_of("mooncake", case)
    frames = codec.encode(held(codec, case.values))

    class Copying:
        backend = "mooncake"

        @staticmethod
        def decode(frames: list[bytes]) -> Message:
            return held(codec, {**case.values, "dst_kv_indices": np.frombuffer(frames[4], "<i4")})

    seen = memory(Copying(), frames)  # type: ignore[arg-type]  # all of a codec that it looks at
    assert not seen.shares_memory
    assert seen.peak_bytes >= 4 * 131_072


def test_nixl_has_no_status_before_0_5_20() -> None:
    with pytest.raises(UnknownLayoutError, match="KV_STATUS"):
        codec_of("nixl", BY_NAME["status"], "0.5.19")
