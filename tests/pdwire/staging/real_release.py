"""The staging code of one real release on CPU: JSON cases on stdin, JSON answers on stdout.

Run as a script, in a process of its own: ``python real_release.py RELEASE``. The release's own
functions do all the work. What is replaced is the device (CUDA calls land on the CPU), the transfer
(a memmove), and the managers around the functions (namespaces).
"""

# A stand-in keeps the real signature, used or not, and takes whatever the real code hands it.
# ruff: noqa: ANN401, ARG002, ARG005

from __future__ import annotations

import base64
import contextlib
import ctypes
import json
import os
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from pdwire_conformance.peers.loader import LoadedRelease, load
from pdwire_conformance.peers.wheels import fetch

Case = dict[str, Any]


class OnCpu(TorchFunctionMode):
    """Every tensor that is asked to live on a CUDA device lives on the CPU."""

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if str(kwargs.get("device", "")).startswith("cuda"):
            kwargs["device"] = "cpu"
        args = ["cpu" if isinstance(a, str) and a.startswith("cuda") else a for a in args]
        return func(*args, **kwargs)


class Device:
    """A CUDA device, its module, its streams: everything is done at once."""

    index = 0
    type = "cuda"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *args, **kwargs: self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return None


class Buffer:
    """A staging buffer of the release, as far as its functions look into it."""

    def __init__(self, size: int, *args: Any, **kwargs: Any) -> None:
        self.buffer = torch.zeros(size, dtype=torch.uint8)
        self.device = self.buffer.device
        self.device_module = Device()
        self.data_ptr = self.buffer.data_ptr()

    def get_ptr(self) -> int:
        return self.data_ptr

    def fits(self, size: int) -> bool:
        return size <= self.buffer.numel()

    def producer_stream(self) -> Device:
        return Device()

    def get_gather_stream(self) -> Device:
        return Device()


class Agent:
    """A NIXL agent whose transfers are done when they are made."""

    def get_xfer_descs(self, rows: Any, kind: str) -> Any:
        return rows

    def initialize_xfer(self, op: str, src: Any, dst: Any, *rest: Any) -> str:
        move([(int(s[0]), int(d[0]), int(s[1])) for s, d in zip(src, dst, strict=True)])
        return "handle"

    def transfer(self, handle: str) -> str:
        return "DONE"


def move(blocks: Sequence[tuple[int, int, int]]) -> int:
    for src, dst, size in blocks:
        ctypes.memmove(dst, src, size)
    return 0


def regions(texts: list[str], kind: torch.dtype, heads: int, dim: int) -> list[torch.Tensor]:
    """Tensors ``[token, head, dim]`` out of the bytes of the case."""
    return [
        torch.from_numpy(np.frombuffer(base64.b64decode(text), np.uint8).copy())
        .view(kind)
        .view(-1, heads, dim)
        for text in texts
    ]


def copies(release: LoadedRelease, case: Case) -> Case:
    """Gather, write and scatter one chunk; the ring and the destination regions."""
    staging = release.module("common.staging_buffer")
    kind = getattr(torch, case["dtype"])
    ring = torch.zeros(case["ring"], dtype=torch.uint8)
    for writer in case["writers"]:
        write(release, case, writer, kind, ring)
    targets = regions(case["targets"], kind, case["decode_heads"], case["dim"])
    half = len(targets) // 2
    staging.scatter_staging_to_kv(
        ring,
        targets[:half],
        targets[half:],
        torch.tensor(case["dst_pages"], dtype=torch.int64),
        case["page_size"],
        case["prefill_tp"],
        case["decode_tp"],
        case["decode_rank"],
        case["total_kv_heads"],
    )
    return {"ring": text(ring), "targets": [text(target) for target in targets]}


def write(
    release: LoadedRelease, case: Case, writer: Case, kind: torch.dtype, ring: torch.Tensor
) -> None:
    """What one prefill rank writes, through ``send_kvcache_staged`` of the case's backend."""
    sources = regions(writer["sources"], kind, case["prefill_heads"], case["dim"])
    half = len(sources) // 2
    manager = types.SimpleNamespace(
        kv_buffer_tensors={
            "k_buffers": sources[:half],
            "v_buffers": sources[half:],
            "page_size": case["page_size"],
            "slot_layer_ids": writer["layer_ids"],
        },
        kv_args=types.SimpleNamespace(
            engine_rank=writer["rank"],
            gpu_id=0,
            total_kv_head_num=case["total_kv_heads"],
            kv_layer_ids=writer["layer_ids"],
        ),
        attn_tp_size=case["prefill_tp"],
        pp_size=case["pp_size"],
        agent=Agent(),
        _transfer_data=lambda session, blocks: move(blocks),
        _post_xfer=lambda handle, why: None,
    )
    backend = {"mooncake": "MooncakeKVManager", "nixl": "NixlKVManager"}[case["backend"]]
    send = release.attribute(f"{case['backend']}.conn", f"{backend}.send_kvcache_staged")
    names = send.__code__.co_varnames[: send.__code__.co_argcount]
    values = {
        "self": manager,
        "mooncake_session_id": "d:1",
        "peer_name": "d",
        "prefill_kv_indices": np.array(case["src_pages"], np.int32),
        "dst_staging_ptr": ring.data_ptr(),
        "dst_staging_size": ring.numel(),
        "dst_gpu_id": 0,
        "dst_tp_rank": case["decode_rank"],
        "dst_attn_tp_size": case["decode_tp"],
        "dst_kv_item_len": 0,
        "dst_layer_ids": case["layer_ids"],
        "notif": "n",
        "staging_buffer": Buffer(case["ring"]),
        "dst_slot_layer_ids": case["layer_ids"],
    }
    outcome = send(**{name: values[name] for name in names})
    assert outcome in {0, "handle"}, outcome


def text(tensor: torch.Tensor) -> str:
    return base64.b64encode(tensor.contiguous().view(torch.uint8).numpy().tobytes()).decode()


def sizes(release: LoadedRelease, case: Case) -> Case:
    """The byte layout as the release computes it, and the head slice of every prefill rank."""
    staging = release.module("common.staging_buffer")
    writers, parts, total = staging.compute_staging_layout(
        case["prefill_tp"],
        case["decode_tp"],
        case["decode_rank"],
        case["total_kv_heads"],
        case["tokens"],
        case["head_bytes"],
        case["layers"],
    )
    slices = [
        staging.compute_head_slice_params(
            case["prefill_tp"], case["decode_tp"], rank, case["decode_rank"], case["total_kv_heads"]
        )
        for rank in range(case["prefill_tp"])
    ]
    return {"writers": writers, "parts": parts, "total": total, "slices": slices}


def ring(release: LoadedRelease, case: Case) -> Case:
    """Places and watermarks after each step: a number is a size, ``"free N"`` frees the Nth."""
    staging = release.module("common.staging_buffer")
    staging.StagingBuffer = Buffer
    allocator = staging.StagingAllocator(case["size"], "cuda", 0)
    given: list[Any] = []
    answers = []
    for step in case["steps"]:
        if isinstance(step, int):
            given.append(allocator.assign(step))
            answers.append(given[-1] and [given[-1][1], given[-1][2]])
        else:
            allocator.free(given[int(step.split()[1])][0])
            answers.append(list(allocator.get_watermark()))
    return {"answers": answers}


def readiness(release: LoadedRelease, case: Case) -> Case:
    """What the release says of ``[round, end, watermark round, tail]``."""
    handler = release.module("common.staging_handler")
    answers = []
    for round_, end, *mark in case["questions"]:
        context = types.SimpleNamespace(remote_watermarks={"d:1": tuple(mark)})
        answers.append(bool(handler.is_watermark_ready(context, "d:1", round_, end)))
    return {"answers": answers}


class Socket:
    """Keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[list[str]] = []

    def send_multipart(self, frames: list[bytes]) -> None:
        self.sent.append([bytes(frame).decode() for frame in frames])


def asks(release: LoadedRelease, case: Case) -> Case:
    """The requests that a prefill rank sends ahead for one room."""
    handler = release.module("common.staging_handler")
    info = types.SimpleNamespace(
        is_dummy=False,
        dst_kv_indices=list(range(case["pages"])),
        endpoint="10.0.0.2",
        dst_port=5000,
    )
    socket = Socket()
    stage = {} if case["stage"] is None else {"requester_pp_rank": case["stage"]}
    handler.prefetch_staging_reqs(
        case["room"],
        {case["room"]: {case["session"]: info}},
        {"page_size": case["page_size"]},
        case["chunked_prefill_size"],
        set(),
        {"tcp://10.0.0.2:5000": socket},
        **stage,
    )
    return {"sent": socket.sent}


def answers(release: LoadedRelease, case: Case) -> Case:
    """What a decode rank answers to requests, frame by frame, with the prefill rank's number."""
    staging = release.module("common.staging_buffer")
    staging.StagingBuffer = Buffer
    ranks = [{"pp_rank": stage, "socket": Socket()} for stage in case["stages"]]
    receiver = types.SimpleNamespace(
        chunk_staging_infos=[],
        _connect_to_bootstrap_server=lambda rank: (rank["socket"], contextlib.nullcontext()),
    )
    allocator = staging.StagingAllocator(case["ring"], "cuda", 0)
    for frames in case["requests"]:
        release.module("common.staging_handler").handle_staging_req(
            [frame.encode() for frame in frames],
            allocator,
            types.SimpleNamespace(**case["kv_args"]),
            case["decode_tp"],
            case["prefill_tp"],
            None,
            {case["room"]: receiver},
            {case["room"]: ranks},
        )
    return {"sent": [rank["socket"].sent for rank in ranks]}


OPERATIONS = {
    "asks": asks,
    "answers": answers,
    "copies": copies,
    "sizes": sizes,
    "ring": ring,
    "readiness": readiness,
}


@contextlib.contextmanager
def cuda_on_cpu() -> Iterator[None]:
    for name in ("set_device", "Stream", "stream", "default_stream", "current_stream", "Event"):
        setattr(torch.cuda, name, lambda *args, **kwargs: Device())
    with OnCpu():
        yield


def main() -> None:
    os.environ["SGLANG_STAGING_USE_TORCH"] = "1"
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the release prints is no answer
    release = load(sys.argv[1], fetch(sys.argv[1]).root, real=["torch"])
    with cuda_on_cpu():
        for line in sys.stdin:
            case = json.loads(line)
            answers.write(json.dumps(OPERATIONS[case["op"]](release, case)) + "\n")
    answers.close()


if __name__ == "__main__":
    main()
