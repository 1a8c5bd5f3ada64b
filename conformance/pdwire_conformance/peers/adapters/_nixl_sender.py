"""A real NIXL prefill manager that hands one chunk to one receiver and touches no memory."""

from __future__ import annotations

import dataclasses
import inspect
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from pdwire_conformance.peers.loader import LoadedRelease
from pdwire_conformance.peers.standins import StandIn, bare, run_loop

from ._nixl_standins import CaptureAgent, Never, OneChunk, Pages, Segments

_AGENT = "receiver"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """One chunk to hand over.

    ``parts`` cuts it into that many transfers; ``components`` gives it state, in the
    last of that many components (``None``: no state).
    """

    room: int
    chunk_id: int
    is_last: bool
    rank: int
    pages: int = 1
    page_start: int = 0
    parts: int | None = None
    components: int | None = None
    agent_name: str = _AGENT


class Sender:
    """Makes the release's manager hand chunks over and tells what it notified."""

    def __init__(self, peer: LoadedRelease, manager: Any) -> None:
        self._peer = peer
        self._manager = manager
        self._module = peer.module("nixl.conn")
        self._base = peer.module("base.conn")

    def hand_over(self, hand: Hand) -> Callable[[], list[bytes]]:
        """A call that sends the chunk; it returns every notification, in order."""
        agent = CaptureAgent()
        manager = self._prefill(hand, agent)
        run = self._worker if hasattr(self._manager, "transfer_worker") else self._at_once
        send = run(manager, hand)

        def call() -> list[bytes]:
            agent.texts.clear()
            send()
            return list(agent.texts)

        return call

    def stage(self, hand: Hand, chunk_idx: int) -> Callable[[], list[bytes]]:
        """A call that stages the chunk at ``chunk_idx`` of the receiver's grid."""
        agent = CaptureAgent()
        manager = self._prefill(hand, agent)

        def gathered(*arguments: Any, **__: Any) -> object:
            (text,) = (item for item in arguments if isinstance(item, str) and "_stg_" in item)
            agent.texts.append(text.encode("ascii"))
            return agent

        manager.__dict__["send_kvcache_staged"] = gathered
        given = {
            "staging_strategy": StandIn(
                check_ready=lambda *_, **__: (True, chunk_idx, 0, 0, 0), staging_buffer=None
            ),
            "kv_chunk": self._chunk(hand, Pages(hand.pages)),
            "src_prefill_kv_indices": Pages(hand.pages),
            "req": StandIn(room=hand.room, agent_name=hand.agent_name),
            "dst_info": self._receiver(hand),
            "queue": None,
        }
        names = list(inspect.signature(manager._do_staging_transfer).parameters)

        def call() -> list[bytes]:
            agent.texts.clear()
            manager._do_staging_transfer(*(given[name] for name in names))
            return list(agent.texts)

        return call

    def _at_once(self, manager: Any, hand: Hand) -> Callable[[], None]:
        """0.5.6–0.5.11: the caller's own thread sends."""
        arguments: dict[str, Any] = {
            "bootstrap_room": hand.room,
            "kv_indices": np.arange(hand.pages, dtype=np.int32),
            "index_slice": slice(0, hand.pages),
            "is_last": hand.is_last,
            "chunk_id": hand.chunk_id,
            "aux_index": 0,
        }
        if hand.components is not None:
            arguments["state_indices"] = [0]

        def send() -> None:
            # It forgets a room after the last chunk, so each call announces it anew.
            manager.transfer_infos[hand.room] = {hand.agent_name: self._request(hand)}
            manager.add_transfer_request(**arguments)

        return send

    def _worker(self, manager: Any, hand: Hand) -> Callable[[], None]:
        """From 0.5.12 on: a worker sends what it finds in its queue."""
        indices = np.arange(hand.pages, dtype=np.int32)

        def send() -> None:
            manager.transfer_infos[hand.room] = {hand.agent_name: self._request(hand)}
            queue = OneChunk(self._chunk(hand, indices))
            run_loop(lambda: manager.transfer_worker(queue))
            if manager.failures:
                raise RuntimeError(f"the worker gave up: {manager.failures.pop()}")

        return send

    def _chunk(self, hand: Hand, indices: Any) -> Any:
        kind = self._module.TransferKVChunk
        names = {field.name for field in dataclasses.fields(kind)}
        last = "is_last_chunk" if "is_last_chunk" in names else "is_last"
        state = hand.components
        return kind(
            room=hand.room,
            prefill_kv_indices=indices,
            index_slice=slice(hand.page_start, hand.page_start + hand.pages),
            chunk_id=hand.chunk_id,
            prefill_aux_index=0,
            state_indices=None if state is None else [None] * (state - 1) + [[0]],
            **{last: hand.is_last},
        )

    def _request(self, hand: Hand) -> StandIn:
        """The receiver's metadata, as far as a sender reads it."""
        return StandIn(
            room=hand.room,
            is_dummy=Never(),
            agent_name=hand.agent_name,
            endpoint="127.0.0.1",
            dst_port=1,
            dst_kv_indices=np.arange(hand.pages, dtype=np.int32),
            dst_aux_index=0,
            dst_state_indices=self._state(hand, 0),
            decode_prefix_len=0,
        )

    def _receiver(self, hand: Hand) -> StandIn:
        """The receiver's registration, as far as a sender reads it."""
        segments = None if hand.parts is None else Segments(hand.parts)
        return StandIn(
            decode_tp_size=1,
            decode_tp_rank=0,
            gpu_id=0,
            dst_kv_ptrs=[0x10000],
            dst_kv_item_len=64,
            dst_aux_ptrs=[0x20000],
            dst_state_data_ptrs=self._state(hand, 0x30000),
            dst_state_item_lens=self._state(hand, 64),
            dst_state_dim_per_tensor=self._state(hand, 1),
            dst_state_layer_ids=[],
            dst_num_slots=8,
            dst_homogeneous_mem_kind="VRAM",
            kv_xfer_segments=segments,
            requires_dcp_relayout=False,
            staging=StandIn(base_ptr=0x40000, total_size=1 << 40),
            staging_base_ptr=0x40000,
            staging_total_size=1 << 40,
        )

    def _state(self, hand: Hand, word: int) -> Any:
        """One word per component; flat in releases with one state per request."""
        if hand.components is None:
            return []
        return [[word]] * hand.components if self._is_hybrid else [word]

    @property
    def _is_hybrid(self) -> bool:
        return hasattr(self._base, "StateType")

    def _prefill(self, hand: Hand, agent: CaptureAgent) -> Any:
        failures: list[str] = []
        statuses: dict[int, Any] = {hand.room: self._base.KVPoll.WaitingForInput}
        return bare(
            self._manager,
            agent=agent,
            failures=failures,
            record_failure=lambda room, reason: failures.append(reason),
            conclude_failure=lambda **failure: failures.append(failure["failure_reason"]),
            conclude_transfer=lambda **_: None,
            request_status=statuses,
            check_status=statuses.__getitem__,
            update_status=statuses.__setitem__,
            exceptions={},
            disaggregation_mode=self._module.DisaggregationMode.PREFILL,
            transfer_infos={},
            decode_kv_args_table={hand.agent_name: self._receiver(hand)},
            req_to_decode_prefix_len={},
            is_mla_backend=True,
            is_hybrid_mla_backend=False,
            attn_tp_size=1,
            pp_size=1,
            pp_group=StandIn(is_last_rank=True),
            src_mem_kind="VRAM",
            prep_handles={},
            enable_staging=False,
            enable_deferred_decode_kv_release=False,
            transfer_source_rank=hand.rank,
            kv_args=self._kv_args(hand),
            _num_slots_src=8,
            _staging_ctx=None,
            _staging_outstanding=defaultdict(int),
            _dcp_pack_buffers=None,
        )

    def _kv_args(self, hand: Hand) -> StandIn:
        count = hand.components or 0
        kinds = [self._base.StateType.MAMBA] * count if self._is_hybrid and count else []
        return StandIn(
            engine_rank=hand.rank,
            pp_rank=hand.rank,
            gpu_id=0,
            page_size=1,
            prefill_start_layer=0,
            kv_data_ptrs=[0x50000],
            kv_item_lens=[64],
            aux_data_ptrs=[0x60000],
            aux_item_lens=[64],
            state_type="mamba" if hand.components else "none",
            state_types=kinds,
            state_data_ptrs=self._state(hand, 0x70000),
            state_item_lens=self._state(hand, 64),
            state_dim_per_tensor=self._state(hand, 1),
            state_conv_shard_groups=[],
            state_slice_outer_counts=[],
            state_layer_ids=[],
            num_draft_entries=0,
            mla_compression_ratios=None,
        )
