"""Every clause of the spec is exercised, and a clause that is not is told."""

from __future__ import annotations

from dataclasses import replace

from pdwire_conformance.proof.spec import load_spec
from pdwire_conformance.suite.clauses import clauses_of
from pdwire_conformance.suite.coverage import clauses, coverage, gaps, unknown
from pdwire_conformance.suite.load import cases


def test_every_clause_is_exercised() -> None:
    assert gaps(cases()) == []
    assert unknown(cases()) == []


def test_clauses_are_told_by_name() -> None:
    known = set(clauses())
    assert len(known) == len(clauses())
    assert {
        "common/ABORT/recognise",
        "mooncake/KVArgsRegisterInfo/r8/count",
        "mooncake/KVArgsRegisterInfo/r8/frame-14",
        "mooncake/KVArgsRegisterInfo/r8/field-staging_base_ptr/empty",
        "mooncake/KVArgsRegisterInfo/r5/field-dst_dcp_size/absent",
        "mooncake/KVArgsRegisterInfo/r8/invariant-less-dst_dcp_rank+dst_dcp_size",
        "mooncake/TransferInfo/r3/derived-is_dummy",
        "common/ABORT_ACK/r4/field-generation/absent",
        "nixl/NOTIF_KV/r3/text",
        "nixl/NOTIF_KV/r3/field-num_parts/absent",
        "bootstrap/ROUTE_PUT/r7/key-page_size",
        "bootstrap/ROUTE_PUT/r7/field-kv_layout/absent",
        "bootstrap/QUERY_DP_RANKS_RSP/r1/key-*",
    } <= known
    assert "nixl/NOTIF_KV/recognise" not in known  # a text has no frame that tells it


def test_a_case_that_goes_leaves_a_gap_that_is_named() -> None:
    clause = "common/ABORT/r2/count"
    left = [case for case in cases() if clause not in case.clauses]
    report = coverage(left)
    assert clause in report.gaps
    assert not report.complete
    abort = next(each for each in report.messages if each.message == "common/ABORT")
    assert clause in abort.gaps
    assert abort.exercised == abort.clauses - len(abort.gaps)
    assert abort.layouts == 2


def test_a_clause_that_the_spec_does_not_have_is_named() -> None:
    odd = replace(cases()[0], clauses=("common/ABORT/r9/count",))
    assert unknown([odd]) == [f"{odd.slug}: common/ABORT/r9/count"]
    assert coverage([odd]).unknown == (f"{odd.slug}: common/ABORT/r9/count",)


def test_the_report_counts_what_there_is() -> None:
    report = coverage(cases())
    assert report.complete
    assert report.clauses == report.exercised == len(clauses())
    assert report.cases == len(cases())
    assert sum(each.clauses for each in report.messages) == report.clauses
    assert len(report.messages) == len(load_spec()["messages"])


def test_a_new_layout_has_clauses_of_its_own() -> None:
    spec = load_spec()
    message = next(m for m in spec["messages"] if m["name"] == "WATERMARK")
    newest = {**message["layouts"][-1], "id": "r99"}
    grown = {**spec, "messages": [{**message, "layouts": [*message["layouts"], newest]}]}
    found = [clause for clause in clauses_of(grown) if "/r99/" in clause]
    assert "common/WATERMARK/r99/count" in found
    named = {clause for case in cases() for clause in case.clauses}
    assert named.isdisjoint(found)
