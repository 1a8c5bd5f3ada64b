"""The real engines, each with a peer in a process of its own: bytes compared, failures timed."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pdwire.engines import Engine, EngineError, wait
from pdwire.plan import Blocks, concat

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Memory, Process

pytestmark = pytest.mark.engine

SIZE = 64 << 20
SOON_S = 20.0
"""A dead peer is noticed within this, on a busy machine too."""


class Pair:
    """Our engine with a buffer full of noise, a peer with one of zeros, and what it should hold."""

    def __init__(self, engine: Engine, peer: Process, source: Memory) -> None:
        self.engine, self.peer, self.source = engine, peer, source
        self.wanted = np.zeros(peer.size, np.uint8)
        engine.register([source.region])
        engine.add_peer(peer.session_id, peer.metadata)

    def blocks(self, src: list[int], dst: list[int], size: int | list[int]) -> Blocks:
        """Blocks by offset; the peer should hold them afterwards."""
        sizes = [size] * len(src) if isinstance(size, int) else size
        for at, to, length in zip(src, dst, sizes, strict=True):
            self.wanted[to : to + length] = self.source.array[at : at + length]
        return Blocks.of(
            np.array(src, np.int64) + self.source.address,
            np.array(dst, np.int64) + self.peer.address,
            sizes,
        )

    def write(self, blocks: Blocks) -> None:
        wait(self.engine.write(self.peer.session_id, blocks), 60)

    def check(self) -> None:
        assert self.peer.ask("sum") == zlib.crc32(self.wanted.data)

    def close(self) -> None:
        self.engine.forget_peer(self.peer.session_id)
        self.engine.deregister([self.source.region])


@pytest.fixture(scope="module", params=["mooncake", "mooncake in batches", "nixl"])
def pair(
    request: pytest.FixtureRequest,
    engine_of: Callable[[str], Engine],
    start_peer: type[Process],
    random_bytes: Callable[[int], Memory],
) -> Iterator[Pair]:
    engine = engine_of(request.param)
    with start_peer(request.param.split()[0], SIZE) as peer:
        both = Pair(engine, peer, random_bytes(SIZE))
        yield both
        both.close()


def scattered(count: int, size: int, seed: int) -> tuple[list[int], list[int]]:
    """Pieces in random order on both sides, none of them next to the one before."""
    rng = np.random.default_rng(seed)
    slots = min(SIZE // size // 2, 8192)
    src, dst = (rng.permutation(slots)[:count] * (2 * size) for _ in range(2))
    return src.tolist(), (dst + size).tolist()


@pytest.mark.parametrize(
    ("count", "size"), [(1, 1), (500, 65536), (4096, 4096), (6000, 777), (3, 9 << 20)]
)
def test_pieces_of_any_size_arrive(pair: Pair, count: int, size: int) -> None:
    pair.write(pair.blocks(*scattered(count, size, seed=count), size))
    pair.check()


def test_thousands_of_separate_64_kib_pieces_go_in_one_write(pair: Pair) -> None:
    """One call of Mooncake's own batch write with 4,096 such pieces fails."""
    src, dst = scattered(500, 65536, seed=5)
    once = pair.blocks(src, dst, 65536)
    pair.write(concat([once] * 9))
    pair.check()


def test_empty_blocks_are_skipped_and_no_blocks_are_done_at_once(pair: Pair) -> None:
    pair.write(pair.blocks([0, 100, 200], [300, 100, 900], [10, 0, 10]))
    pair.check()
    assert pair.engine.write(pair.peer.session_id, Blocks.none()).poll()
    assert pair.engine.write(pair.peer.session_id, Blocks.of([0], [0], 0)).poll()


def test_several_threads_write_to_one_peer_at_once(pair: Pair) -> None:
    src, dst = scattered(480, 65536, seed=8)
    parts = [pair.blocks(src[n::4], dst[n::4], 65536) for n in range(4)]
    failed: list[EngineError] = []

    def run(part: Blocks) -> None:
        try:
            pair.write(concat([part] * 3))
        except EngineError as error:
            failed.append(error)

    threads = [Thread(target=run, args=(part,), daemon=True) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failed
    assert not any(thread.is_alive() for thread in threads)
    pair.check()


def test_a_source_range_that_is_not_registered_is_refused_before_a_byte_moves(pair: Pair) -> None:
    end = pair.source.address + SIZE
    blocks = Blocks.of([pair.source.address, end - 5], [pair.peer.address] * 2, [10, 10])
    with pytest.raises(EngineError, match=r"source block 1 of 2, 10 bytes at 0x\w+, lies in no"):
        pair.engine.write(pair.peer.session_id, blocks)
    pair.check()


def test_a_destination_that_the_peer_did_not_register_fails_and_later_writes_work(
    pair: Pair,
) -> None:
    beyond = Blocks.of([pair.source.address], [pair.peer.address + SIZE - 5], [10])
    with pytest.raises(
        EngineError, match=r"writing .* to peer .* failed|writing to peer .* failed"
    ):
        pair.write(beyond)
    pair.write(pair.blocks([7], [70], 700))
    pair.check()


def test_a_peer_that_was_never_added_is_unknown(pair: Pair) -> None:
    with pytest.raises(EngineError, match=r"unknown peer '127.0.0.1:9'"):
        pair.engine.write("127.0.0.1:9", Blocks.none())


@pytest.mark.parametrize("name", ["mooncake", "nixl"])
def test_a_killed_peer_is_an_error_soon_never_a_hang(
    name: str,
    engine_of: Callable[[str], Engine],
    start_peer: type[Process],
    random_bytes: Callable[[int], Memory],
) -> None:
    size = 8 << 20
    engine = engine_of(name)
    with start_peer(name, size) as peer:
        doomed = Pair(engine, peer, random_bytes(size))
        whole = doomed.blocks([0], [0], size)
        doomed.write(whole)
        doomed.check()
        peer.stop()
        under_way = engine.write(peer.session_id, concat([whole] * 20))
        reached = under_way.poll()  # NIXL writes into a frozen process without its help
        peer.kill()
        began = monotonic()
        with nullcontext() if reached else pytest.raises(EngineError, match=r"writing to peer"):
            wait(under_way, SOON_S)
        with pytest.raises(EngineError, match=r"writing to peer"):
            doomed.write(whole)
        assert name == "nixl" or not reached
        assert monotonic() - began < SOON_S
        doomed.close()


@pytest.mark.parametrize("name", ["mooncake", "nixl"])
def test_a_peer_that_leaves_ends_with_code_0(
    name: str, engine_of: Callable[[str], Engine], start_peer: type[Process]
) -> None:
    """NIXL beside the system's libibverbs used to end every process with a segmentation fault."""
    engine_of(name)
    with start_peer(name, 4096) as peer:
        assert peer.end() == 0
