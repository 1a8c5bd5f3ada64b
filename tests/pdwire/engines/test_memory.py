from __future__ import annotations

import pytest

from pdwire.engines import EngineError, Region
from pdwire.engines.memory import Memory
from pdwire.plan import Blocks

LOW, HIGH = Region(address=100, length=50), Region(address=150, length=50)
GPU = Region(address=100, length=50, kind="VRAM", device=3)


def test_regions_count_and_only_the_first_and_last_matter_to_an_engine() -> None:
    memory = Memory()
    assert memory.add([LOW, HIGH, LOW]) == [LOW, HIGH]
    assert memory.add([LOW]) == []
    assert memory.remove([LOW, HIGH]) == [HIGH]
    assert memory.remove([LOW, LOW]) == [LOW]
    assert memory.remove([LOW]) == []


def test_empty_regions_are_left_out() -> None:
    """F12: pointer 0, length 0; also twice, and in the middle of another."""
    memory = Memory()
    empty = Region(address=0, length=0)
    assert memory.add([empty, LOW, empty, Region(address=120, length=0)]) == [LOW]
    assert memory.remove([empty]) == []


@pytest.mark.parametrize("other", [(149, 1), (90, 11), (100, 49), (120, 5), (0, 1000)])
def test_overlapping_regions_are_refused_and_nothing_changes(other: tuple[int, int]) -> None:
    memory = Memory()
    memory.add([LOW])
    overlapping = Region(address=other[0], length=other[1])
    with pytest.raises(EngineError, match=r"3 DRAM regions cannot all be open: .* overlap"):
        memory.add([HIGH, overlapping])
    assert memory.add([HIGH]) == [HIGH]


def test_kinds_have_address_spaces_of_their_own() -> None:
    memory = Memory()
    memory.add([LOW, GPU])
    blocks = Blocks.of([110, 120], [0, 0], 5)
    assert memory.check(blocks, "DRAM").tolist() == [0, 0]
    assert memory.check(blocks, "VRAM").tolist() == [3, 3]
    with pytest.raises(EngineError, match=r"lies in no registered FILE region"):
        memory.check(blocks, "FILE")


def test_a_block_over_two_regions_that_touch_is_in_neither() -> None:
    memory = Memory()
    memory.add([LOW, HIGH])
    with pytest.raises(EngineError, match=r"source block 1 of 2, 2 bytes at 0x95"):
        memory.check(Blocks.of([149, 149], [0, 0], [1, 2]), "DRAM")


def test_a_closed_region_is_outside_and_the_others_stay() -> None:
    memory = Memory()
    memory.add([LOW, HIGH, GPU])
    memory.remove([LOW])
    memory.check(Blocks.of([150], [0], 50), "DRAM")
    with pytest.raises(EngineError):
        memory.check(Blocks.of([149], [0], 1), "DRAM")
    assert set(memory.clear()) == {HIGH, GPU}
    with pytest.raises(EngineError):
        memory.check(Blocks.of([150], [0], 1), "DRAM")


def test_empty_blocks_are_nowhere_and_fine() -> None:
    memory = Memory()
    memory.check(Blocks.of([5], [6], 0), "DRAM")
    memory.add([LOW])
    memory.check(Blocks.of([5, 100], [6, 7], [0, 5]), "DRAM")
