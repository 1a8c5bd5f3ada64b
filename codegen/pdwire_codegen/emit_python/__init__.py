"""The Python emitter: one package per message, one module per layout.

``emit`` is a pure function of the spec. Its output is formatted as the project's
formatter would have it, and passes the project's type check and lint.
"""

from __future__ import annotations

from pdwire_codegen.emit_python.codec import emit_codec
from pdwire_codegen.emit_python.message import emit_message
from pdwire_codegen.emit_python.names import ROOT, layout_module
from pdwire_codegen.emit_python.package import (
    emit_backend,
    emit_group,
    emit_message_package,
    emit_root,
    emit_table,
)
from pdwire_codegen.model import Spec

__all__ = ["emit"]


def emit(spec: Spec) -> dict[str, str]:
    """Every generated Python file: path from the project's root to text."""
    files: dict[str, str] = {}
    for message in spec.messages:
        folder = f"{ROOT}/{message.group}/{message.module}"
        files[f"{folder}/message.py"] = emit_message(message, spec)
        files[f"{folder}/__init__.py"] = emit_message_package(message, spec)
        for layout in message.layouts:
            files[f"{folder}/{layout_module(layout)}.py"] = emit_codec(message, layout, spec)
    backends = {backend.name for backend in spec.backends}
    for backend in spec.backends:
        files[f"{ROOT}/{backend.name}/__init__.py"] = emit_backend(backend, spec)
    for group in sorted({message.group for message in spec.messages} - backends):
        files[f"{ROOT}/{group}/__init__.py"] = emit_group(group, spec)
    files[f"{ROOT}/table.py"] = emit_table(spec)
    files[f"{ROOT}/__init__.py"] = emit_root(spec)
    return files
