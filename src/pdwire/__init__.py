"""The wire contract of prefill/decode KV-cache hand-off: typed codecs for every release.

``pdwire.wire`` holds the generated codecs, ``pdwire.errors`` what they raise; importing
this package alone loads nothing else.
"""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
