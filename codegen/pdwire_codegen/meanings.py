"""What ``empty`` and ``absent`` are written as, and what they mean.

Rules: ``"none"`` is Python's ``None`` for every type; ``[]`` is the empty list; a table
repeats something once per element of another field; anything else is a literal of the
field's value type.
"""

from __future__ import annotations

from typing import cast

from pdwire_codegen.draft import MISSING
from pdwire_codegen.kinds import Kind
from pdwire_codegen.model import REQUIRED, Literal_, Meaning, Repeat

_LITERALS: dict[str, type] = {"int": int, "bool": bool, "str": str, "bytes": str}


class MeaningError(ValueError):
    """A written meaning that is none for the type."""


def read_meaning(raw: object, kind: Kind) -> Meaning:
    """The meaning of a written value; raises :class:`MeaningError`.

    ``MISSING`` is :data:`REQUIRED`, except that nothing need be said of lists: see
    :func:`empty_of`.
    """
    if raw is MISSING:
        return REQUIRED
    if raw == "none":
        return None
    if isinstance(raw, dict):
        return _repeat(raw)
    if kind.is_list:
        if raw == []:
            return ()
        raise MeaningError(f'a list type means [] or "none", not {raw!r}')
    return _literal(raw, kind)


def _literal(raw: object, kind: Kind) -> Literal_:
    wanted = _LITERALS.get(kind.value)
    if wanted is None or type(raw) is not wanted:
        raise MeaningError(f"{raw!r} is not a value of type {kind.name}")
    if kind.value == "bytes":
        return cast(str, raw).encode()
    return cast(Literal_, raw)


def _repeat(raw: dict[str, object]) -> Repeat:
    keys = set(raw)
    if keys not in ({"repeat", "like"}, {"repeat_field", "like"}):
        raise MeaningError(
            "a table means { repeat = …, like = … } or { repeat_field = …, like = … }"
        )
    like, word, source = raw["like"], raw.get("repeat"), raw.get("repeat_field")
    if not isinstance(like, str):
        raise MeaningError("`like` names a field")
    if "repeat_field" in raw:
        if not isinstance(source, str):
            raise MeaningError("`repeat_field` names a field")
        return Repeat(like=like, from_field=source)
    if not isinstance(word, str | int) or isinstance(word, bool):
        raise MeaningError("`repeat` is a word or an integer")
    return Repeat(like=like, word=word)


def empty_of(meaning: Meaning, kind: Kind) -> Meaning:
    """What an empty frame means: for a list type the empty list, unless said otherwise."""
    return () if meaning is REQUIRED and kind.is_list else meaning


def writes_empty_of(
    meaning: Meaning,
    *,
    written: bool | None,
    bounds: tuple[int | None, int | None] = (None, None),
) -> bool:
    """Whether the value that an empty frame means is written as one.

    It is where the value has no other spelling: ``None``, no elements, no characters, no
    bytes, a number outside the range of filled frames. Elsewhere the spec says so.
    """
    if meaning is None or meaning in ((), "", b""):
        return True
    if isinstance(meaning, int) and not isinstance(meaning, bool):
        low, high = bounds
        if (low is not None and meaning < low) or (high is not None and meaning > high):
            return True
    return written or False
