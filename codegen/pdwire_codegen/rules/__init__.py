"""Every rule of the spec, in the order in which they are run and documented.

Rules: the tables below are complete; a rule that is not in one of them does not exist.
"""

from __future__ import annotations

from pdwire_codegen.rules import (
    builders,
    classes,
    concepts,
    contradictions,
    docs,
    fields,
    frames,
    invariants,
    meanings,
    messages,
    names,
    protocol,
    recognition,
    releases,
    texts,
    twins,
)
from pdwire_codegen.rules.lock import LOCK_RULES
from pdwire_codegen.rules.rule import Rule
from pdwire_codegen.tables import SHAPE_RULES

RULES: tuple[Rule, ...] = (
    *protocol.RULES,
    *names.RULES,
    *classes.RULES,
    *messages.RULES,
    *recognition.RULES,
    *releases.RULES,
    *fields.RULES,
    *meanings.RULES,
    *builders.RULES,
    *frames.RULES,
    *texts.RULES,
    *invariants.RULES,
    *contradictions.RULES,
    *concepts.RULES,
    *docs.RULES,
    *twins.RULES,
)

RULE_IDS: dict[str, str] = {
    **SHAPE_RULES,
    **{rule.id: rule.holds for rule in RULES},
    **LOCK_RULES,
}
"""Every id with what must hold, those of reading and of the lock included."""
