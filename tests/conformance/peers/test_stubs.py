# ruff: noqa: ANN401, ARG001 - a stub is typed as whatever it stands for

from __future__ import annotations

import dataclasses
from typing import Any, Optional

import pytest

from pdwire_conformance.peers.stubs import OpaqueDescriptor, Stub, StubModule


@pytest.fixture
def stub() -> Any:
    return Stub("somewhere.Thing")


def test_a_stub_is_false_and_counts_as_zero(stub: Any) -> None:
    assert not stub
    assert int(stub) == 0
    assert range(3)[stub] == 0
    assert list(stub) == []


def test_the_same_attribute_is_the_same_object_so_enum_members_compare(stub: Any) -> None:
    assert stub.SUCCESS is stub.SUCCESS
    assert stub.SUCCESS == stub.SUCCESS
    assert stub.SUCCESS != stub.FAILED


def test_a_stub_can_be_a_base_class_beside_a_real_one(stub: Any) -> None:
    class Real:
        value = 7

    class Derived(stub, Real):  # type: ignore[misc]
        pass

    assert Derived().value == 7


def test_a_stub_decorates_with_and_without_arguments(stub: Any) -> None:
    def function() -> int:
        return 1

    assert stub(function) is function
    assert stub.jit(fast=True)(function) is function


def test_a_stub_stands_in_annotations_unions_and_dataclass_fields(stub: Any) -> None:
    @dataclasses.dataclass
    class Holder:
        one: stub
        other: Optional[stub.Inner] = None  # noqa: UP045  (releases write it so)
        third: stub | None = None

    assert Holder(one=3).one == 3


def test_nothing_is_an_instance_of_a_stub(stub: Any) -> None:
    assert not isinstance(3, stub)
    assert not issubclass(int, stub)


def test_a_name_that_announces_an_exception_can_be_caught() -> None:
    module: Any = StubModule("engine._bindings")
    assert issubclass(module.BackendError, Exception)
    with pytest.raises(module.BackendError, match="gone"):
        raise module.BackendError("gone")


def test_a_stub_module_has_no_dunder_of_its_own() -> None:
    module = StubModule("anything")
    with pytest.raises(AttributeError):
        module.__all__  # noqa: B018  (asking is the test)


def test_a_descriptor_carries_its_bytes_unchanged() -> None:
    descriptor = OpaqueDescriptor.unpack(b"\x00\xff")
    assert descriptor.pack() == b"\x00\xff"
    assert descriptor == OpaqueDescriptor(b"\x00\xff")
    assert descriptor.key == "00ff"
