"""What generated code keeps for itself is found in generated code, and found whole."""

from __future__ import annotations

import ast
import builtins
import keyword

import pytest

from pdwire_codegen.emit_python import emit
from pdwire_codegen.emit_python.places import KNOWN
from pdwire_codegen.emit_python.reserved import identifiers, taken
from pdwire_codegen.model import Spec


def test_no_name_that_the_real_codecs_use_is_left_to_a_class(whole: Spec) -> None:
    """So a name that the emitter begins to use, and the probe does not bring up, shows here."""
    ours = {message.class_name for message in whole.messages}
    ours |= {field.name for message in whole.messages for field in message.fields}
    ours |= {layout.id for message in whole.messages for layout in message.layouts}
    used = {
        name
        for path, text in emit(whole).items()
        if path.count("/") == 5  # src/pdwire/wire/<group>/<message>/<module>.py
        for name in identifiers(ast.parse(text))
        if not name.startswith("_")
    }
    assert len(used) > 100
    assert {name for name in used - ours if taken().of_class(name) is None} == set()


@pytest.mark.parametrize("name", ["Layout", "Place", "Draft", "Codec", "Any", "frames", "f7", "m"])
def test_names_of_generated_code_are_no_classes(name: str) -> None:
    assert taken().of_class(name) == "generated code"


def test_names_of_python_and_of_the_runtime_are_no_classes() -> None:
    names = {*dir(builtins), *keyword.kwlist, *keyword.softkwlist, *KNOWN}
    assert [name for name in names if taken().of_class(name) is None] == []


@pytest.mark.parametrize("name", ["Abort", "KVStatus", "lower_0", "A0", "room", "r1", "U16Array"])
def test_other_names_are_left_to_classes(name: str) -> None:
    assert taken().of_class(name) is None


def test_fields_hide_neither_types_nor_defaults_nor_methods() -> None:
    assert {"int", "str", "dict", "field", "no_u32", "newest", "to_zmq"} <= taken().fields
    assert not {"room", "type", "id", "len", "frames", "match"} & taken().fields


def test_groups_and_layouts_are_not_called_as_the_modules_beside_them() -> None:
    assert {"table", "spec", "layout", "releases", "recognise"} <= taken().groups
    assert not {"common", "mooncake", "bootstrap"} & taken().groups
    assert "message" in taken().layouts
    assert "r1" not in taken().layouts
