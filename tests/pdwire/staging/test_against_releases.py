"""Our staging and that of real releases, on the same inputs, compared byte by byte.

The releases' own functions run on CPU in a process of their own (``real_release.py``).
"""

from __future__ import annotations

import base64
import importlib.util
import json
import random
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pdwire.staging import (
    ChunkGrid,
    DecodeStaging,
    Place,
    PrefillRank,
    PrefillStaging,
    Ring,
    SendStagingReq,
    SendStagingRsp,
    StagingLayout,
    grid_pages,
    head_bytes,
    is_writable,
    slot_pairs,
)
from pdwire.wire import layout
from pdwire_conformance.peers.errors import PeerUnavailable
from pdwire_conformance.peers.wheels import fetch

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed: make engines", allow_module_level=True)
import torch

from pdwire.staging.copy import gather, scatter

pytestmark = [pytest.mark.live, pytest.mark.engine]

Case = dict[str, Any]

SHAPES = [
    # prefill TP, decode TP, decode rank, heads, page size, dtype, stages of layers
    (2, 1, 0, 8, 4, "bfloat16", [[0, 1, 2]]),
    (4, 1, 0, 4, 1, "uint8", [[0, 1]]),
    (4, 2, 1, 8, 2, "float32", [[0]]),
    (4, 1, 0, 2, 4, "bfloat16", [[0, 1]]),  # prefill ranks that hold the same head
    (1, 2, 1, 8, 4, "bfloat16", [[0, 1, 2]]),
    (1, 4, 2, 2, 1, "bfloat16", [[0, 1]]),  # decode ranks that hold the same head
    (2, 4, 3, 8, 3, "float16", [[0, 1]]),
]
STAGED_PIPELINES = [
    (2, 1, 0, 8, 4, "bfloat16", [[0, 1], [2]]),
    (1, 2, 1, 8, 1, "bfloat16", [[0], [1, 2, 3]]),
]
DIM = 6  # not a multiple of eight bytes in every type
NO_NANS = 0xBF
"""Clears a bit of every float's exponent: on CPU, the torch path of the releases copies numbers,
not bytes, and gives every NaN the same bits. Ours, and their kernels for GPUs, keep them."""
SRC_PAGES, DST_PAGES, POOL_PAGES = [7, 0, 3, 4, 9], [2, 8, 1, 0, 6], 10


SESSION = "10.0.0.2:17000"


def layout_of(shape: tuple[Any, ...], head_bytes: int) -> StagingLayout:
    prefill_tp, decode_tp, rank, heads, page_size, _, stages = shape
    return StagingLayout(
        prefill_tp=prefill_tp,
        decode_tp=decode_tp,
        decode_rank=rank,
        total_kv_heads=heads,
        page_size=page_size,
        head_bytes=head_bytes,
        layers=sum(map(len, stages)),
    )


def copy_case(shape: tuple[Any, ...], backend: str) -> Case:
    """Random regions of every prefill rank that writes the decode rank, and of the latter."""
    prefill_tp, decode_tp, rank, heads, page_size, dtype, stages = shape
    head_bytes = DIM * getattr(torch, dtype).itemsize
    layout = layout_of(shape, head_bytes)
    held, kept = max(1, heads // prefill_tp), max(1, heads // decode_tp)
    rng = np.random.default_rng(zlib.crc32(str(shape).encode()))

    def region(count: int) -> str:
        raw = rng.integers(0, 256, POOL_PAGES * page_size * count * head_bytes, np.uint8)
        if dtype != "uint8":
            raw[head_bytes // DIM - 1 :: head_bytes // DIM] &= NO_NANS
        return base64.b64encode(raw.tobytes()).decode()

    ranks = (
        range(rank * layout.writers, (rank + 1) * layout.writers)
        if prefill_tp > decode_tp
        else [rank * prefill_tp // decode_tp]
    )
    writers = [
        {
            "rank": writer,
            "layer_ids": [*layers, *layers],
            "sources": [region(held) for _ in range(2 * len(layers))],
        }
        for writer in ranks
        for layers in stages
    ]
    every = [layer for layers in stages for layer in layers]
    return {
        "op": "copies",
        "backend": backend,
        "shape": list(shape),
        "prefill_tp": prefill_tp,
        "decode_tp": decode_tp,
        "decode_rank": rank,
        "total_kv_heads": heads,
        "page_size": page_size,
        "dtype": dtype,
        "dim": DIM,
        "head_bytes": head_bytes,
        "prefill_heads": held,
        "decode_heads": kept,
        "pp_size": len(stages),
        "layer_ids": [*every, *every],
        "src_pages": SRC_PAGES,
        "dst_pages": DST_PAGES,
        "ring": layout.chunk_bytes(len(SRC_PAGES)),
        "writers": writers,
        "targets": [region(kept) for _ in range(2 * len(every))],
    }


def copied(case: Case) -> Case:
    """What the case gives in ours."""
    layout = layout_of(tuple(case["shape"]), case["head_bytes"])
    ring = torch.zeros(case["ring"], dtype=torch.uint8)
    buffer = torch.zeros(case["ring"], dtype=torch.uint8)
    for writer in case["writers"]:
        sources = tensors(writer["sources"], case["prefill_heads"] * case["head_bytes"])
        gather(sources, np.array(case["src_pages"]), buffer, layout)
        pairs = None
        if case["pp_size"] > 1:
            pairs = slot_pairs(writer["layer_ids"], case["layer_ids"])
        for src, dst, size in layout.writes(writer["rank"], len(SRC_PAGES), pairs):
            ring[dst : dst + size] = buffer[src : src + size]
    targets = tensors(case["targets"], case["decode_heads"] * case["head_bytes"])
    scatter(ring, targets, np.array(case["dst_pages"]), layout)
    return {"ring": text(ring), "targets": [text(target) for target in targets]}


def tensors(texts: list[str], token_bytes: int) -> list[torch.Tensor]:
    flat = [np.frombuffer(base64.b64decode(part), np.uint8).copy() for part in texts]
    return [torch.from_numpy(part).view(-1, token_bytes) for part in flat]


def text(tensor: torch.Tensor) -> str:
    return base64.b64encode(tensor.numpy().tobytes()).decode()


def size_cases() -> Iterator[Case]:
    for prefill_tp in (1, 2, 4, 8):
        for decode_tp in (1, 2, 4, 8):
            for heads in (1, 2, 4, 8, 12):
                for rank in range(decode_tp):
                    yield {
                        "op": "sizes",
                        "prefill_tp": prefill_tp,
                        "decode_tp": decode_tp,
                        "decode_rank": rank,
                        "total_kv_heads": heads,
                        "tokens": 6,
                        "head_bytes": 32,
                        "layers": 3,
                    }


def ring_case(seed: int) -> Case:
    """Random sizes; most places are freed at some time, in no order."""
    rng = random.Random(seed)  # noqa: S311 - not a secret
    steps: list[int | str] = []
    taken: list[int] = []
    given = 0
    for _ in range(60):
        if taken and rng.random() < 0.45:
            steps.append(f"free {taken.pop(rng.randrange(len(taken)))}")
        else:
            steps.append(rng.randint(1, 70))
            taken.append(given)
            given += 1
    return {"op": "ring", "size": 100, "steps": steps}


def ring_answers(case: Case) -> list[list[int] | None]:
    ring = Ring(case["size"])
    given: list[Place] = []
    answers: list[list[int] | None] = []
    for step in case["steps"]:
        if isinstance(step, int):
            place = ring.assign(step)
            assert place is not None
            given.append(place)
            answers.append([place.offset, place.round])
        else:
            ring.free(given[int(step.split()[1])])
            answers.append([ring.watermark.round, ring.watermark.tail])
    return answers


def ask_cases(release: str) -> Iterator[Case]:
    """Rooms of several sizes; the stage where the release knows of it."""
    for pages in (0, 1, 5, 6, 13):
        for size in (24, 3, None):
            yield {
                "op": "asks",
                "room": 7,
                "session": SESSION,
                "pages": pages,
                "page_size": 4,
                "chunked_prefill_size": size,
                "stage": None if release == "0.5.16" else 1,
            }


def asked(case: Case, release: str) -> Case:
    grid = ChunkGrid(case["pages"], grid_pages(case["chunked_prefill_size"], case["page_size"]))
    effects = PrefillStaging().want(
        case["room"],
        case["session"],
        ("10.0.0.2", 5000),
        grid=grid,
        layout=layout_of(SHAPES[0], 32),
        ring_size=1 << 40,
        now=0.0,
        pp_rank=case["stage"],
    )
    codec = layout("mooncake", "STAGING_REQ", release=release)
    return {
        "sent": [
            [bytes(frame).decode() for frame in codec.encode(effect.message)]
            for effect in effects
            if isinstance(effect, SendStagingReq)
        ]
    }


def answer_cases(release: str) -> Iterator[Case]:
    """Requests of all stages in some order, some of them twice, one for more than the ring has."""
    for number, shape in enumerate(SHAPES):
        prefill_tp, decode_tp, rank, heads, page_size, _, _ = shape
        ours = layout_of(shape, 32)
        sizes = [(0, 3), (1, 3), (0, 3), (2, 3), (3, 9), (1, 3), (3, 9), (4, 1)]
        tails = [[]] if release == "0.5.16" else [[], ["0"], ["1"]]
        yield {
            "op": "answers",
            "shape": list(shape),
            "room": 7,
            "ring": ours.chunk_bytes(8),
            "stages": [0, 0, 1],
            "prefill_tp": prefill_tp,
            "decode_tp": decode_tp,
            "kv_args": {
                "page_size": page_size,
                "kv_item_lens": [page_size * max(1, heads // decode_tp) * 32] * 2 * ours.layers,
                "total_kv_head_num": heads,
                "engine_rank": rank,
            },
            "requests": [
                [
                    "STAGING_REQ",
                    "7",
                    str(chunk),
                    str(pages),
                    SESSION,
                    *tails[(at + number) % len(tails)],
                ]
                for at, (chunk, pages) in enumerate(sizes)
            ],
        }


def answered(case: Case, release: str) -> Case:
    args = case["kv_args"]
    size = head_bytes(
        args["kv_item_lens"][0],
        page_size=args["page_size"],
        tp=case["decode_tp"],
        total_kv_heads=args["total_kv_head_num"],
    )
    ours = layout_of(tuple(case["shape"]), size)
    decode = DecodeStaging(case["ring"], SESSION)
    ranks = [PrefillRank(("p", at), stage) for at, stage in enumerate(case["stages"])]
    decode.open_room(7, prefill="p", ranks=ranks, layout=ours, pages=range(30), writers=2, now=0.0)
    request, response = (
        layout("mooncake", name, release=release) for name in ("STAGING_REQ", "STAGING_RSP")
    )
    sent: list[list[list[str]]] = [[] for _ in ranks]
    for frames in case["requests"]:
        for effect in decode.on_staging_req(request.decode([f.encode() for f in frames]), 0.0):
            if isinstance(effect, SendStagingRsp):
                encoded = response.encode(effect.message)
                sent[effect.endpoint[1]].append([bytes(frame).decode() for frame in encoded])
    return {"sent": sent}


COPIES = [copy_case(shape, backend) for shape in SHAPES for backend in ("mooncake", "nixl")]
PIPELINES = [copy_case(shape, "mooncake") for shape in STAGED_PIPELINES]
SIZES = list(size_cases())
RINGS = [ring_case(seed) for seed in range(20)]
QUESTIONS = [
    [round_, end, wm_round, tail]
    for round_ in range(4)
    for end in (1, 50, 100)
    for wm_round in range(4)
    for tail in (0, 49, 50, 51, 100)
]
READINESS: Case = {"op": "readiness", "questions": QUESTIONS}
GATES = {"0.5.16": 0, "0.5.19": 1, "0.5.23": 1}
"""Release -> whether it has pipeline stages, and a ring that begins anew when it is empty."""


@pytest.fixture(scope="module", params=sorted(GATES))
def peer(request: pytest.FixtureRequest) -> tuple[str, list[tuple[Case, Case]]]:
    """A release and its answers."""
    release: str = request.param
    try:
        fetch(release)
    except PeerUnavailable as reason:
        pytest.skip(f"{release} cannot be had here: {reason}")
    newer = [*PIPELINES, *RINGS] if GATES[release] else []
    messages = [*ask_cases(release), *answer_cases(release)]
    cases = [READINESS, *COPIES, *SIZES, *newer, *messages]
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("real_release.py")), release],
        input="".join(json.dumps(case) + "\n" for case in cases),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return release, list(zip(cases, answers, strict=True))


Peer = tuple[str, list[tuple[Case, Case]]]


def of(peer: Peer, op: str) -> list[tuple[Case, Case]]:
    return [(case, answer) for case, answer in peer[1] if case["op"] == op]


def test_ring_and_scattered_pages_are_byte_for_byte_the_same(peer: Peer) -> None:
    pairs = of(peer, "copies")
    assert len(pairs) >= len(COPIES)
    for case, theirs in pairs:
        assert copied(case) == theirs, (peer[0], case["backend"], case["shape"])


def test_sizes_and_head_slices_are_the_same_for_every_pair_of_sizes(peer: Peer) -> None:
    for case, theirs in of(peer, "sizes"):
        names = ("prefill_tp", "decode_tp", "decode_rank", "total_kv_heads", "head_bytes", "layers")
        layout = StagingLayout(page_size=1, **{name: case[name] for name in names})
        ours = {
            "writers": layout.writers,
            "parts": [layout.writer_bytes(6)] * layout.writers,
            "total": layout.chunk_bytes(6),
            "slices": [
                [layout.src_head, layout.heads, layout.dst_head(rank), layout.heads]
                for rank in range(layout.prefill_tp)
            ],
        }
        assert ours == theirs, (peer[0], case)


def test_rings_give_the_same_places_and_watermarks(peer: Peer) -> None:
    for case, theirs in of(peer, "ring"):
        assert ring_answers(case) == theirs["answers"], peer[0]


def test_what_may_be_written_is_the_same(peer: Peer) -> None:
    ((_, theirs),) = of(peer, "readiness")
    ours = [
        is_writable(Place(round=round_, offset=0, end=end), (wm_round, tail))
        for round_, end, wm_round, tail in QUESTIONS
    ]
    assert ours == theirs["answers"]


def test_requests_and_answers_are_the_same_frame_by_frame(peer: Peer) -> None:
    release, _ = peer
    for case, theirs in of(peer, "asks"):
        assert asked(case, release) == theirs, (release, case)
    for case, theirs in of(peer, "answers"):
        assert sum(map(len, theirs["sent"])) > 8
        assert answered(case, release) == theirs, (release, case["shape"])
