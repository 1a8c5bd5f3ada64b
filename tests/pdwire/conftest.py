"""Valid messages of every codec, drawn from the shipped spec with fixed seeds.

Codecs of several backends share the functions of one layout; ``CODECS`` in a test module names
each layout once. Drawn lists are copies: a test may spoil its own.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest

from pdwire.codec import Codec, Message, field_names
from pdwire.errors import WireError
from pdwire.wire import layout
from pdwire_conformance.proof.convert import to_message
from pdwire_conformance.proof.draw import draw_message
from pdwire_conformance.proof.spec import load_spec

Json = dict[str, Any]
Facts = Callable[[Codec[Any]], tuple[Json, Json]]
Sample = tuple[Message, list[bytes]]

DRAWN = 12


@cache
def _spec() -> dict[tuple[str, str, str], tuple[Json, Json]]:
    return {
        (backend, message["name"], revision["id"]): (message, revision)
        for message in load_spec()["messages"]
        for revision in message["layouts"]
        for backend in revision["speakers"]
    }


def _facts(codec: Codec[Any]) -> tuple[Json, Json]:
    return _spec()[codec.backend, codec.message, codec.layout]


@cache
def _read(codec_id: tuple[str, str, str]) -> tuple[Sample, ...]:
    backend, name, revision = codec_id
    codec = layout(backend, name, revision=revision)
    rng = Random(f"{backend} {name} {revision}")  # noqa: S311  # repeatable, nothing secret
    facts = _spec()[codec_id]
    drawn = [codec.encode(to_message(codec, draw_message(*facts, rng))) for _ in range(DRAWN)]
    return tuple((codec.decode(frames), frames) for frames in drawn)


@pytest.fixture(scope="session")
def facts() -> Facts:
    """What the spec says of a codec: its message and its layout, as the JSON export has them."""
    return _facts


@pytest.fixture(scope="session")
def samples() -> Callable[[Codec[Any]], list[Sample]]:
    """Messages of a codec's layout, as decoded, with their frames."""

    def read(codec: Codec[Any]) -> list[Sample]:
        found = _read((codec.backend, codec.message, codec.layout))
        return [(message, list(frames)) for message, frames in found]

    return read


@pytest.fixture(scope="session")
def drawn() -> Callable[[Codec[Any], int], Message]:
    """The message that a codec's layout gets from a seed; one in eight has 131,072 indices."""

    def draw(codec: Codec[Any], seed: int) -> Message:
        rng = Random(f"{codec.backend} {codec.message} {codec.layout} {seed}")  # noqa: S311
        return to_message(codec, draw_message(*_facts(codec), rng, big=seed % 8 == 0))

    return draw


@pytest.fixture(scope="session")
def place() -> Callable[[Codec[Any], str], int]:
    """Index in the multipart, guard counted, of the frame that carries a field."""

    def find(codec: Codec[Any], field: str) -> int:
        guard = 0 if codec.guard is None else 1
        frames = _facts(codec)[1]["frames"]
        return guard + next(int(f["position"]) for f in frames if f["name"] == field)

    return find


# One decode rank, small: what the field reports' base messages and their registrations hold.
PLAIN: Json = {
    "endpoint": "10.0.0.2",
    "dst_port": 5000,
    "mooncake_session_id": "10.0.0.2:17000",
    "agent_name": "agentA",
    "engine_key": "engineA",
    # metadata of room 7
    "room": 7,
    "dst_kv_indices": np.array([4, 5], "<i4"),
    "dst_aux_index": 3,
    "dst_state_indices": (),
    "required_dst_info_num": 1,
    "is_dummy": False,
    # a registration of two KV regions
    "dst_kv_ptrs": np.array([4096, 8192], "<u8"),
    "dst_aux_ptrs": np.array([65536], "<u8"),
    "dst_state_data_ptrs": (),
    "dst_tp_rank": 0,
    "dst_attn_tp_size": 1,
    "decode_tp_rank": 0,
    "decode_tp_size": 1,
    "gpu_id": 0,
    "dst_kv_item_len": 512,
    "agent_metadata": b"\x00meta",
    "engine_desc": b"\x00desc",
    "dst_kv_mem_descs": (b"k0", b"k1"),
    "dst_aux_mem_descs": (b"a0",),
}


@pytest.fixture(scope="session")
def plain() -> Callable[..., Message]:
    """A TransferInfo or KVArgsRegisterInfo of a codec's class, with some values of one's own."""

    def make(codec: Codec[Any], **changes: Any) -> Message:  # noqa: ANN401  # any field's value
        names = field_names(codec.cls)
        values = {n: v for n, v in PLAIN.items() if n in names} | changes
        if codec.backend == "nixl" and "dst_kv_ptrs" in names:
            regions = len(values["dst_kv_ptrs"])
            lens, kinds = [values["dst_kv_item_len"]] * regions, ("VRAM",) * regions
            values = {"dst_kv_item_lens": lens, "dst_kv_mem_kinds": kinds} | values
        made: Message = codec.cls(**values)
        return made

    return make


@pytest.fixture(scope="session")
def allocated() -> Callable[[Codec[Any], list[bytes]], int]:
    """Bytes that decoding some frames allocates at its height, refused or not."""

    def measure(codec: Codec[Any], frames: list[bytes]) -> int:
        tracemalloc.start()
        try:
            codec.decode(frames)
        except WireError:
            pass
        finally:
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        return peak

    return measure
