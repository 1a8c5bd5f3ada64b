"""Permissive stand-ins for everything that a release imports and the wire does not need.

Rules:

* A stub may be called, indexed, iterated (empty), used as a decorator (gives the
  function back), as a context manager, as a base class, in an annotation or a union,
  and in ``isinstance`` (never true). It is false and counts as 0.
* The same attribute of the same stub is the same object, so enum-like comparisons hold.
* A name that ends in ``Error`` or ``Exception`` is a real exception class: ``except``
  clauses need one.
* A stub knows nothing about frames. If a codec ever computed with one, its bytes would
  be visibly wrong (zeros), and the proof would fail rather than pass.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

_UNSUPPLIED = frozenset({"__path__", "__file__", "__wrapped__", "__orig_bases__", "__spec__"})


class Stub:
    """One unknown object, and everything that can be reached from it."""

    def __init__(self, name: str) -> None:
        self.__dict__["__name__"] = name.rpartition(".")[2]
        self.__dict__["__qualname__"] = name
        self.__dict__["__module__"] = name.rpartition(".")[0] or "stub"
        self.__dict__["_path"] = name

    def __getattr__(self, name: str) -> Any:
        if name in _UNSUPPLIED or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(name)
        child = stub_for(f"{self._path}.{name}", name)
        self.__dict__[name] = child
        return child

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and isinstance(args[0], types.FunctionType | type):
            return args[0]
        return Stub(f"{self._path}()")

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (type(self.__name__, (), {"__module__": self.__module__}),)

    def __instancecheck__(self, instance: object) -> bool:
        return False

    def __subclasscheck__(self, subclass: type) -> bool:
        return False

    def __repr__(self) -> str:
        return f"<stub {self._path}>"

    def __getitem__(self, key: Any) -> Any:
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        return None

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __contains__(self, item: object) -> bool:
        return False

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def __index__(self) -> int:
        return 0

    def __int__(self) -> int:
        return 0

    def __float__(self) -> float:
        return 0.0

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def __lt__(self, other: object) -> bool:
        return False

    __le__ = __gt__ = __ge__ = __lt__

    def _same(self, *_: object) -> Any:
        return self

    __or__ = __ror__ = __and__ = __add__ = __radd__ = __sub__ = __mul__ = _same
    __rsub__ = __rmul__ = __truediv__ = __floordiv__ = __mod__ = __neg__ = _same


class StubModule(types.ModuleType):
    """A module that has every attribute; also a package whose sub-modules all exist."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        child = stub_for(f"{self.__name__}.{name}", name)
        setattr(self, name, child)
        return child


def stub_for(path: str, name: str) -> Any:
    """A stub called ``path``, or a real exception class where the name announces one."""
    if name.endswith(("Error", "Exception")) and name[0].isupper():
        return type(name, (Exception,), {"__module__": path.rpartition(".")[0]})
    return Stub(path)


class OpaqueDescriptor:
    """Mori's engine and memory descriptors: opaque bytes with ``pack`` and ``unpack``.

    The engine that gives them meaning cannot be installed everywhere; on the wire they
    are bytes, and these carry exactly the bytes that they were given.
    """

    def __init__(self, data: bytes = b"", **attributes: Any) -> None:
        self.data = data
        self.__dict__.update(attributes)

    def pack(self) -> bytes:
        """The descriptor's bytes, unchanged."""
        return self.data

    @classmethod
    def unpack(cls, data: bytes) -> OpaqueDescriptor:
        """A descriptor of the bytes, whatever they are."""
        return cls(bytes(data))

    @property
    def key(self) -> str:
        """An engine descriptor's identity: here simply its bytes in hex."""
        return str(self.__dict__.get("_key", self.data.hex()))

    @key.setter
    def key(self, value: str) -> None:
        self.__dict__["_key"] = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueDescriptor) and other.data == self.data

    def __hash__(self) -> int:
        return hash(self.data)


def call_through(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call ``function`` now: the stand-in for helpers that run it under a deadline."""
    return function(*args, **kwargs)
