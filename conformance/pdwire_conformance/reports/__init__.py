"""Reports of a run: every one a pure function of the run's event stream.

:data:`RENDERERS` names them as ``--report FORM=PATH`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pdwire_conformance.conform.events import Event

from . import badge, html, json, junit, markdown, terminal

__all__ = ["RENDERERS"]

RENDERERS: Final[Mapping[str, Callable[[Sequence[Event]], str]]] = {
    "terminal": terminal.render,
    "json": json.render,
    "junit": junit.render,
    "markdown": markdown.render,
    "html": html.render,
    "badge": badge.render,
}
"""Form -> the whole report as text; bytes are that text in UTF-8."""
