"""The suite tests itself: testees with one fault each are caught, by the name of a case.

The classes are in ``broken/``; each can be run by hand from there:
``pdwire conform python:broken_numbers:Spaces``.
"""

from __future__ import annotations

import ast
from functools import partial
from pathlib import Path

import pytest

from pdwire_conformance.conform.events import CaseEvent, EndEvent, Verdict
from pdwire_conformance.conform.plan import Plan
from pdwire_conformance.conform.run import run
from pdwire_conformance.conform.select import Filters
from pdwire_conformance.suite.case import Case
from pdwire_conformance.suite.load import cases
from pdwire_conformance.testees.find import find_testee

_FOLDER = Path(__file__).parent / "broken"
_M_TI, _N_TI = "mooncake/TransferInfo/r3", "nixl/TransferInfo/r5"
_M_KV, _N_KV = "mooncake/KVArgsRegisterInfo/r8", "nixl/KVArgsRegisterInfo/r8"

CAUGHT: dict[str, tuple[str, ...]] = {
    "broken_numbers:Spaces": (f"{_M_TI}/frame-0-spaces", "nixl/ABORT/r2/frame-4-spaces"),
    "broken_numbers:LineEnds": (f"{_M_TI}/frame-7-newline",),
    "broken_numbers:Underscores": (f"{_M_TI}/frame-5-underscore",),
    "broken_numbers:AnyDigits": (f"{_M_TI}/frame-0-full-width",),
    "broken_numbers:Zeros": (f"{_N_TI}/frame-2-zeros",),
    "broken_numbers:Plus": (f"{_N_TI}/frame-6-plus",),
    "broken_numbers:MinusZero": (f"{_M_TI}/frame-0-minus-zero",),
    "broken_numbers:Prefix": (f"{_M_TI}/frame-0-nul", f"{_M_TI}/frame-0-exponent"),
    "broken_numbers:Hexadecimal": (f"{_M_TI}/frame-2-hex",),
    "broken_numbers:Doubles": (f"{_M_TI}/frame-0-greatest", f"{_M_TI}/frame-0-exponent"),
    "broken_numbers:Wraps": (f"{_M_TI}/frame-0-above",),
    "broken_numbers:Narrow": (f"{_M_TI}/frame-5-above", f"{_M_TI}/frame-0-greatest"),
    "broken_numbers:EmptyIsZero": (f"{_M_TI}/frame-5-empty", f"{_M_TI}/frame-0-empty"),
    "broken_frames:OffByOne": (f"{_M_KV}/plain",),
    "broken_frames:Swapped": (f"{_M_TI}/plain", f"{_M_TI}/plain-encode"),
    "broken_frames:ExtraFrames": (f"{_M_TI}/count-11", "nixl/ABORT/r2/count-6"),
    "broken_frames:MissingFrames": (f"{_M_TI}/count-9",),
    "broken_frames:NoGuard": (f"{_N_TI}/guard-missing",),
    "broken_frames:AnyGuard": (f"{_N_TI}/guard-another",),
    "broken_frames:AnyTag": (f"{_M_KV}/frame-0-wrong", "nixl/ABORT/r2/frame-0-other-case"),
    "broken_frames:AnyLayout": (
        "mooncake/KVArgsRegisterInfo/r6/layout-r5",
        f"{_M_KV}/layout-r6",
    ),
    "broken_frames:Guesses": ("mooncake/KVArgsRegisterInfo/r4/recognise-largest",),
    "broken_frames:AlwaysAmbiguous": ("mooncake/ABORT/r1/recognise-plain",),
    "broken_frames:BothWays": (f"{_N_TI}/recognise-direction",),
    "broken_arrays:LenientWidth": (f"{_M_KV}/frame-4-one-byte", f"{_M_TI}/frame-4-short"),
    "broken_arrays:AnyWidth": ("mooncake/KVArgsRegisterInfo/r6/frame-14-short",),
    "broken_arrays:BigEndian": (f"{_M_KV}/plain",),
    "broken_arrays:LittleEndianLength": (
        "mooncake/AUX_DATA/r1/plain",
        "values/aux-length-little-endian/mooncake",
    ),
    "broken_arrays:Unsigned": (f"{_M_TI}/largest",),
    "broken_arrays:SignedPointers": (f"{_M_KV}/largest",),
    "broken_arrays:NestedTrailing": (f"{_M_TI}/frame-6-trailing",),
    "broken_arrays:NestedShort": (f"{_M_TI}/frame-6-cut-element",),
    "broken_arrays:NestedZero": (f"{_M_TI}/frame-6-count-zero",),
    "broken_arrays:Flat": (f"{_M_TI}/frame-6-flat",),
    "broken_meanings:DummyByPages": (
        f"{_N_TI}/derived-is_dummy-kv_indices-empty+decode_prefix_len-given",
        f"{_M_TI}/derived-is_dummy-kv_indices-empty+aux_index-given",
    ),
    "broken_meanings:NoneAsText": (f"{_M_TI}/frame-5-text-none",),
    "broken_meanings:NoneSpelled": (f"{_M_TI}/frame-5-empty-encode",),
    "broken_meanings:ZeroForNone": (f"{_N_TI}/frame-8-empty",),
    "broken_meanings:AbsentAsEmpty": ("nixl/ABORT/r2/count-2-encode",),
    "broken_meanings:DropsField": (f"{_M_KV}/plain-encode",),
    "broken_meanings:LeavesOut": (f"{_M_KV}/plain",),
    "broken_meanings:SilentLoss": ("mooncake/KVArgsRegisterInfo/r1/without-dst_kv_layer_ids",),
    "broken_meanings:WidensEncoder": ("mooncake/ABORT/r2/frame-3-above-encode",),
    "broken_texts:AnyPort": (f"{_M_TI}/frame-3-port-zero", f"{_M_TI}/frame-3-port-above"),
    "broken_texts:SplitsAtFirstColon": (f"{_M_TI}/frame-3-word-ipv6",),
    "broken_texts:LosesScope": (f"{_M_TI}/frame-1-word-scope",),
    "broken_texts:Replaces": ("nixl/KV_STATUS/r1/frame-4-not-utf8",),
    "broken_texts:Lowercase": ("mooncake/ABORT/r2/frame-0-other-case",),
    "broken_texts:ClosedBodies": ("mooncake/ROUTE_RANK_INFO/r1/body-unknown-key",),
    "broken_texts:Forgiving": ("mooncake/ROUTE_PUT/r7/key-attn_tp_size-missing",),
    "broken_texts:TruthyNumbers": ("mooncake/ROUTE_PUT/r7/key-attn_tp_size-true",),
    "broken_texts:LastKey": ("mooncake/ROUTE_GET/r2/key-target_tp_rank-twice",),
    "broken_texts:LooseTail": ("nixl/NOTIF_AUX/r3/text-one-more",),
    "broken_texts:AnyWords": (f"{_N_KV}/frame-17-unknown-word",),
    "broken_errors:OneKind": (f"{_M_TI}/frame-4-one-byte",),
    "broken_errors:CountsTheGuard": (f"{_N_TI}/frame-4-one-byte",),
    "broken_errors:NoPlace": (f"{_M_TI}/frame-4-one-byte",),
    "broken_errors:ForgetsInvariants": (
        f"{_M_TI}/invariant-needs-dst_kv_indices+dst_aux_index-broken-2-0-0-none",
    ),
    "broken_errors:RefusesNothing": (f"{_M_TI}/count-0", f"{_M_TI}/frame-0-pickle"),
    "broken_errors:RefusesEmpty": (f"{_M_TI}/frame-4-empty",),
}


def _about(slugs: tuple[str, ...]) -> tuple[Case, ...]:
    """The cases of the messages and layouts that these slugs are about."""
    places = {slug.rpartition("/")[0] + "/" for slug in slugs}
    return tuple(case for case in cases() if any(case.slug.startswith(at) for at in places))


def _verdicts(target: str, suite: tuple[Case, ...]) -> dict[str, Verdict]:
    plan = Plan(
        target=target,
        make=partial(find_testee, target),
        cases=suite,
        filters=Filters(roles=("codec",)),
    )
    events = list(run(plan))
    (end,) = [event for event in events if isinstance(event, EndEvent)]
    assert not end.problems
    return {event.slug: event.verdict for event in events if isinstance(event, CaseEvent)}


@pytest.mark.parametrize("name", CAUGHT)
def test_a_fault_is_caught_by_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(_FOLDER))
    told = _verdicts(f"python:{name}", _about(CAUGHT[name]))
    assert {slug: told.get(slug) for slug in CAUGHT[name]} == dict.fromkeys(
        CAUGHT[name], Verdict.FAILED
    )
    assert Verdict.PASSED in told.values()


def test_every_broken_testee_is_named_here() -> None:
    made = {
        f"{path.stem}:{node.name}"
        for path in _FOLDER.glob("broken_*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }
    assert made == set(CAUGHT)


def test_a_correct_testee_passes_all_of_these() -> None:
    suite = _about(tuple(slug for slugs in CAUGHT.values() for slug in slugs))
    told = _verdicts("pdwire", suite)
    assert len(told) > 2000
    assert set(told.values()) == {Verdict.PASSED}
