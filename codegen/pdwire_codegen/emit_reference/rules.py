"""The page of rules that the compiler holds every spec to."""

from __future__ import annotations

from pdwire_codegen.emit_reference.markdown import table
from pdwire_codegen.emit_reference.words import code
from pdwire_codegen.rules import RULE_IDS

_OPENING = """\
<!-- GENERATED from the compiler's rules by pdwire generate. Do not edit. -->

# Rules of the spec

`pdwire generate` reports every fault of every file at once, each with file, line, the id of the
rule and a hint. The ids are stable. `tests/codegen/fixtures/` has a pair of specs per rule: one
that breaks it, with the diagnostic it must produce written inside, and one that does not.
"""


def rules_page() -> str:
    """Every rule id, and what must hold."""
    rows = [(code(rule), holds) for rule, holds in sorted(RULE_IDS.items())]
    return "\n".join([_OPENING, *table(("Rule", "What must hold"), rows), ""])
