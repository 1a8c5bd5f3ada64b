"""The frame around every encoder: write the values, compare them, name what does not fit.

Values are written before anything compares them, so that a value of another type is
refused by the encoder of its own field. What is only compared may still raise anything;
that ends in ``unfit``, which finds the field. For values that fit, the ``try`` costs
nothing.
"""

from __future__ import annotations

from pdwire_codegen.emit_python.invariants import has_checks
from pdwire_codegen.emit_python.writing import docstring
from pdwire_codegen.model import Layout, Message

__all__ = ["INNER", "encoder"]

INNER = " " * 8
"""Indentation of the lines that an encoder is made of."""


def encoder(
    message: Message, layout: Layout, *, brief: str, body: list[str], result: str
) -> list[str]:
    """``encode``: ``body`` fills a variable and compares, ``result`` is what it returns."""
    name = message.class_name
    check = [f"{INNER}_check(message)"] if has_checks(message, layout) else []
    return [
        f"def encode(message: {name}) -> list[bytes]:",
        *docstring(brief, "    "),
        "    try:",
        *body,
        *check,
        "    except WireError:",
        "        raise",
        "    except Exception as fault:  # noqa: BLE001  # a value of another type: named there",
        f"        unfit(message, {name}, _L, fault)",
        f"    return {result}",
    ]
