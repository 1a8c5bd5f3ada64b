"""What can be held to the suite, and the one protocol that all of it speaks.

For a testee of one's own in Python::

    from pdwire_conformance.testees import CodecTestee, Hello, Refused, Skipped, serve
"""

from __future__ import annotations

from .codec import CodecTestee, recognised
from .find import find_testee
from .protocol import Hello, Refused, Skipped, Testee, TesteeError
from .serve import serve

__all__ = [
    "CodecTestee",
    "Hello",
    "Refused",
    "Skipped",
    "Testee",
    "TesteeError",
    "find_testee",
    "recognised",
    "serve",
]
