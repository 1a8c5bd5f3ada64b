"""Values of the model as JSON: the one spelling that the export and the lock share.

Rules: bytes are ``{"hex": "…"}``; the empty list is ``[]``; a required frame has no
meaning, so its key is left out by the caller.
"""

from __future__ import annotations

from pdwire_codegen.model import Meaning, Repeat, _Required

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def meaning_json(meaning: Meaning) -> Json:
    """``{"value": …}`` or ``{"repeat": …}``; ``KeyError`` for a required frame."""
    if isinstance(meaning, _Required):
        raise KeyError("a required frame has no meaning")
    if isinstance(meaning, Repeat):
        if meaning.from_field is not None:
            return {"repeat": {"like": meaning.like, "from_field": meaning.from_field}}
        return {"repeat": {"like": meaning.like, "word": meaning.word}}
    if isinstance(meaning, bytes):
        return {"value": {"hex": meaning.hex()}}
    if isinstance(meaning, tuple):
        return {"value": []}
    return {"value": meaning}


def meanings_json(**meanings: Meaning) -> dict[str, Json]:
    """The meanings that there are, by key."""
    return {
        key: meaning_json(meaning)
        for key, meaning in meanings.items()
        if not isinstance(meaning, _Required)
    }
