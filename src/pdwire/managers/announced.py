"""What a decode rank announces for one room, checked against its own memory before it is said.

The pages, state items and the row that ``send_metadata`` is given become destinations of somebody
else's writes, so each must exist here. The same extents stand before this rank's own writes into
its pool: a scatter of a staged chunk, and a row that came as AUX_DATA.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pdwire.frames import I32Array
from pdwire.managers.config import KVArgs, ManagerConfig
from pdwire.managers.lengths import several_lengths
from pdwire.plan import Extent, OutsideRequest, page_blocks
from pdwire.plan.arrays import Integers

__all__ = ["Announced", "why_unsayable"]


@dataclass(frozen=True, slots=True)
class Announced:
    """The bytes of this rank that one room may change.

    Attributes:
        kv: its pages in every KV region.
        aux_index: its row of the auxiliary buffers; ``None`` where it wants none.
        state: its items, per state component.
    """

    kv: Extent
    aux_index: int | None
    state: tuple[Extent, ...]

    @classmethod
    def of(
        cls,
        args: KVArgs,
        kv_indices: I32Array,
        aux_index: int | None,
        state_indices: Sequence[I32Array],
    ) -> Announced:
        """Check what a room is about to announce.

        Args:
            args: this rank's memory.
            kv_indices: destination pages, int32.
            aux_index: row of the auxiliary buffers; ``None`` and -1 mean none.
            state_indices: items per state component, int32.

        Raises:
            OutsideRequest: a page, item or row that this rank has not, or one that is named twice;
                the text says which, and how many there are.
        """
        _exist("page", kv_indices, args.kv_data_lens, args.kv_item_lens)
        # A component without items asks for nothing, wherever it stands (P13).
        if any(map(len, state_indices[len(args.state_data_ptrs) :])):
            raise OutsideRequest(
                f"{len(state_indices)} state components announced of "
                f"{len(args.state_data_ptrs)} that this rank has"
            )
        state = []
        for n, items in enumerate(state_indices[: len(args.state_data_ptrs)]):
            lens = args.state_item_lens[n]
            _exist(f"item of state component {n}", items, args.state_data_lens[n], lens)
            state.append(Extent("state item", args.state_data_ptrs[n], lens, items))
        row = None if aux_index is None or aux_index < 0 else int(aux_index)
        if row is not None:
            _exist("aux row", [row], args.aux_data_lens, args.aux_item_lens)
        kv = Extent("page", args.kv_data_ptrs, _filled(args), kv_indices)
        return cls(kv, row, tuple(state))

    def scatter(self, args: KVArgs, pages: Integers) -> None:
        """Let a scatter into these pages of every KV region pass.

        Raises:
            OutsideRequest: the room did not announce one of them.
        """
        self.kv.permit(
            page_blocks(args.kv_data_ptrs, args.kv_data_ptrs, _filled(args), pages, pages)
        )


def why_unsayable(
    args: KVArgs, config: ManagerConfig, *, lengths: bool, layers: bool
) -> str | None:
    """Why a prefill rank could not know where this rank's pages are; ``None``: it can.

    Such rooms are refused here: prefill may hold a pool that looks as if it fitted.

    Args:
        args: this rank's memory.
        config: its place and the release that it speaks.
        lengths: whether a registration of that release says the length of every region.
        layers: whether it says the layer of every region.
    """
    several = several_lengths(args)
    if several is not None and not lengths:
        return (
            f"{several}; a registration of {config.release} says the first length only, so the "
            "prefill side cannot know where these pages end"
        )
    stages, ids = config.parallel.pp_size, args.kv_layer_ids
    if stages == 1 or not args.kv_data_ptrs:
        return None
    # A last stage with a draft model's regions looks like a whole pool to a prefill stage that has
    # no ids to go by. K of every layer, then V, and nothing else is a stage without one.
    has_no_draft = not config.is_mla and ids[: len(ids) // 2] == ids[len(ids) // 2 :]
    if ids and (layers or has_no_draft):
        return None
    why = f"a registration of {config.release} cannot say them" if ids else "they were not given"
    return (
        f"decode has {stages} pipeline stages, and prefill knows by kv_layer_ids alone which "
        f"regions are whose layers': {why}"
    )


def _filled(args: KVArgs) -> list[int]:
    sizes = zip(args.kv_item_lens, args.kv_data_lens, strict=True)
    return [item if size else 0 for item, size in sizes]


def _exist(what: str, numbers: Integers, lens: Sequence[int], item_lens: Sequence[int]) -> None:
    if not len(numbers):
        return
    held = [size // item for size, item in zip(lens, item_lens, strict=True) if size and item]
    array = np.asarray(numbers)
    low, high = int(array.min()), int(array.max())
    if low < 0 or (held and high >= min(held)):
        raise OutsideRequest(f"{what} {high if low >= 0 else low} of {min(held, default=0)}")
    found, counts = np.unique(array, return_counts=True)
    if (counts > 1).any():
        raise OutsideRequest(f"{what} {int(found[counts > 1][0])} is announced twice")
