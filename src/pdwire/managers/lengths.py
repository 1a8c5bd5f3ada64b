"""How many bytes a page has at the receiver: said by the wire, or known from what it does say.

1. Lengths count in the receiver's own. A registration says them for every region (NIXL from
   0.5.15 on, Mooncake from 0.5.21 on, Mori by its descriptions), or for the first region only.
2. Where only the first is said and ours are all alike, so are theirs: one reading fits. Where ours
   differ among themselves, theirs may differ in other ways, and the wire cannot say: refused.
3. With unequal TP a region has other heads there than here, so ours are scaled first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pdwire.managers.config import KVArgs
from pdwire.managers.peers import Peer

__all__ = ["LengthError", "Lengths", "same_item", "several_lengths"]


class LengthError(ValueError):
    """Lengths of both sides differ, or cannot be known; the text has region and both numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """Bytes of a page, per region of this prefill rank, where it arrives.

    Attributes:
        ours: bytes here; 0 for a region without bytes, of which nothing moves.
        src_heads: heads of a token here.
        dst_heads: heads of a token there; equal for whole pages.
    """

    ours: tuple[int, ...]
    src_heads: int = 1
    dst_heads: int = 1

    def there(self) -> tuple[int, ...]:
        """What a page of each region has once it is there.

        Raises:
            LengthError: it does not split into whole heads.
        """
        for region, size in enumerate(self.ours):
            if size % self.src_heads:
                raise LengthError(
                    f"region {region}: pages of {size} bytes do not split into "
                    f"{self.src_heads} heads"
                )
        return tuple(size // self.src_heads * self.dst_heads for size in self.ours)

    def told_by(self, peer: Peer) -> tuple[int, ...]:
        """Bytes of a page in every region of the peer; empty where only ours tell.

        Raises:
            LengthError: it says the first length only, and ours differ.
        """
        if peer.kv_item_lens:
            return peer.kv_item_lens
        here = [(region, size) for region, size in enumerate(self.ours) if size]
        if not here:
            return ()
        if not peer.kv_item_len:
            raise LengthError("decode has said no page length")
        first, size = here[0]
        other = next((each for each in here if each[1] != size), None)
        if other is not None:
            raise LengthError(
                f"region {other[0]}: pages of {other[1]} bytes here, of {size} bytes in region "
                f"{first}; decode ({peer.release}) can only say its first length, "
                f"{peer.kv_item_len} bytes, so its length of region {other[0]} is not known"
            )
        return (peer.kv_item_len,) * len(peer.kv_ptrs)

    def same(self, region: int, dst_region: int, theirs: int) -> None:
        """Hold one region against its destination.

        Raises:
            LengthError: pages there have another length than ours have when they arrive.
        """
        if self.there()[region] == theirs:
            return
        here = self.ours[region]
        heads = "" if self.src_heads == self.dst_heads else self._heads()
        raise LengthError(
            f"pages of {here} bytes here, of {theirs} bytes there{heads} "
            f"(region {region} here, region {dst_region} there)"
        )

    def _heads(self) -> str:
        return f": they do not split into {self.src_heads} and {self.dst_heads} heads of one size"


def same_item(what: str, ours: Sequence[int], theirs: Sequence[int]) -> None:
    """Hold item lengths that both sides say against each other.

    Raises:
        LengthError: they differ.
    """
    for region, (here, there) in enumerate(zip(ours, theirs, strict=True)):
        if here != there:
            raise LengthError(f"{what}, region {region}: items of {here} bytes here, {there} there")


def several_lengths(args: KVArgs) -> str | None:
    """Which region of this rank has another page length than the first; ``None``: all are alike."""
    filled = [
        (region, item)
        for region, (item, size) in enumerate(
            zip(args.kv_item_lens, args.kv_data_lens, strict=True)
        )
        if size
    ]
    for region, item in filled:
        if item != filled[0][1]:
            return (
                f"region {region} has pages of {item} bytes, region {filled[0][0]} of "
                f"{filled[0][1]} bytes"
            )
    return None
