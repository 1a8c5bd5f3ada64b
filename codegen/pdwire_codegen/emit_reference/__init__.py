"""The reference: an index, one Markdown page per message, and the rules of the spec.

Rules: pages say what the spec says and nothing else; tables are padded so that the text
reads as well as its rendering; links are relative and stay within ``docs/reference``.
"""

from __future__ import annotations

from pdwire_codegen.emit_reference.index import index_page
from pdwire_codegen.emit_reference.page import message_page
from pdwire_codegen.emit_reference.rules import rules_page
from pdwire_codegen.emit_reference.words import page_path
from pdwire_codegen.model import Spec

__all__ = ["emit"]

ROOT = "docs/reference"


def emit(spec: Spec) -> dict[str, str]:
    """Every page by path from the project's root."""
    pages = {f"{ROOT}/{page_path(item)}": message_page(item, spec) for item in spec.messages}
    return {f"{ROOT}/index.md": index_page(spec), f"{ROOT}/rules.md": rules_page(), **pages}
