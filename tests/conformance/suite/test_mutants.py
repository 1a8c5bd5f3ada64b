"""A case that claims a clause notices when the clause is changed: the coverage is honest.

For every clause the spec is changed in small ways, one at a time, and read by the
interpreted reading; at least one of the cases that name the clause must then fail.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from tests.conformance.suite.conftest import Reader, asked
from tests.conformance.suite.mutants import Mutant, all_mutants, mutants

from pdwire_conformance.proof.spec import load_spec
from pdwire_conformance.suite.case import Case
from pdwire_conformance.suite.coverage import clauses

Json = dict[str, Any]
Claims = dict[str, list[Case]]


def spec_of(mutant: Mutant) -> Json:
    """The mutated message, with all others only where they count."""
    spec, changed = load_spec(), mutant.message()
    others = [
        each
        for each in spec["messages"]
        if mutant.clause.endswith("/recognise")
        and (each["group"], each["name"]) != (changed["group"], changed["name"])
    ]
    return {**spec, "messages": [changed, *others]}


def survivors(found: Iterable[Mutant], claims: Claims) -> list[str]:
    """Mutants that no case that names their clause notices."""
    lived = []
    for mutant in found:
        testee = Reader(spec_of(mutant))
        if all(asked(testee, case).ok for case in claims[mutant.clause]):
            lived.append(str(mutant))
    return lived


@pytest.mark.parametrize("start", range(3))
def test_a_changed_clause_fails_a_case_that_claims_it(start: int, claims: Claims) -> None:
    sample = list(all_mutants(load_spec()))[start * 11 :: 29]
    assert len(sample) > 300
    assert survivors(sample, claims) == []


@pytest.mark.slow
def test_every_changed_clause_fails_a_case_that_claims_it(claims: Claims) -> None:
    assert survivors(all_mutants(load_spec()), claims) == []


def test_nearly_every_clause_can_be_changed() -> None:
    spec = load_spec()
    same = [clause for clause in clauses() if not any(mutants(spec, clause))]
    # A text and a body are one frame by nature; Mori's status is told by its guard and place;
    # an address's two frames come together in every count that there is; an empty frame of
    # elements or bytes is no elements or bytes whatever the spec says.
    for clause in same:
        end = clause.split("/", 2)[2]
        assert end.endswith("/count") or "invariant-needs-" in end or end == "recognise", clause


def test_a_suite_without_a_familys_cases_lets_mutants_live(claims: Claims) -> None:
    clause = "mooncake/KVArgsRegisterInfo/r8/invariant-less-dst_dcp_rank+dst_dcp_size"
    found = [each for each in mutants(load_spec(), clause) if each.how == "dropped"]
    kept = {clause: [case for case in claims[clause] if "-kept-" in case.slug]}
    assert survivors(found, kept) == [f"{clause}: dropped"]
    assert survivors(found, claims) == []
