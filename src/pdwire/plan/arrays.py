"""Integers of every origin as flat 64-bit arrays, or a ``ValueError`` that says why not.

1. Everything is 64 bits wide before the first multiplication: page 254201 times stride 8448
   does not fit into 32 (field report M2).
2. Addresses and lengths are unsigned; a negative number is refused rather than wrapped.
3. A page index is never negative: a padded table of -1 must not become an address.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["I64Array", "Integers", "U64Array", "as_i64", "as_u64", "same_length"]

U64Array: TypeAlias = NDArray[np.uint64]
I64Array: TypeAlias = NDArray[np.int64]
Integers: TypeAlias = Sequence[int] | NDArray[np.integer[Any]]


def as_u64(what: str, values: Integers) -> U64Array:
    """Addresses or lengths, flat; ``what`` names them in the error.

    Raises:
        ValueError: negative, beyond 64 bits, not integers, or not one-dimensional.
    """
    array = _flat(what, values)
    if array.dtype.kind == "i" and array.size and array.min() < 0:
        raise ValueError(f"{what} must not be negative, got {array.min()}")
    return array.astype(np.uint64, copy=False)


def as_i64(what: str, values: Integers) -> I64Array:
    """Indices, flat and not negative.

    Raises:
        ValueError: negative, beyond 63 bits, not integers, or not one-dimensional.
    """
    array = as_u64(what, values)
    if array.size and array.max() > np.uint64(2**63 - 1):
        raise ValueError(f"{what} must fit into 63 bits, got {array.max()}")
    return array.astype(np.int64, copy=False)


def same_length(**arrays: NDArray[Any]) -> int:
    """The one length that all of them have.

    Raises:
        ValueError: they differ; the text names every one with its length.
    """
    lengths = {len(array) for array in arrays.values()}
    if len(lengths) > 1:
        named = ", ".join(f"{len(array)} {name}" for name, array in arrays.items())
        raise ValueError(f"lengths differ: {named}")
    return lengths.pop()


def _flat(what: str, values: Integers) -> NDArray[np.integer[Any]]:
    try:
        array = np.asarray(values)
    except OverflowError:
        array = np.empty(1, object)
    if not array.size:
        array = array.astype(np.int64)
    if array.dtype.kind in "fO" and not isinstance(values, np.ndarray):
        array = _mixed(what, values)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{what} must be integers, got {array.dtype}")
    if array.ndim != 1:
        raise ValueError(f"{what} must be one-dimensional, got shape {array.shape}")
    return array


def _mixed(what: str, values: Sequence[int]) -> U64Array:
    """Integers of which some need 64 bits: numpy would make floats or objects of them."""
    try:
        exact = [index(value) for value in values]
    except TypeError as error:
        raise ValueError(f"{what} must be integers: {error}") from error
    if min(exact) < 0:
        raise ValueError(f"{what} must not be negative, got {min(exact)}")
    if max(exact) >= 2**64:
        raise ValueError(f"{what} must fit into 64 bits, got {max(exact)}")
    return np.array(exact, np.uint64)
