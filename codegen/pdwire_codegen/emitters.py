"""The emitters that make a spec into files.

Rules: an emitter is a pure function of the spec; paths are relative to the project's
root, with forward slashes; no two emitters produce one path; the order does not matter.
"""

from __future__ import annotations

from collections.abc import Callable

from pdwire_codegen import emit_json, emit_python, emit_reference, emit_vectors
from pdwire_codegen.model import Spec

Emitter = Callable[[Spec], dict[str, str]]

EMITTERS: tuple[Emitter, ...] = (
    emit_python.emit,
    emit_json.emit,
    emit_reference.emit,
    emit_vectors.emit,
)

MANIFEST_PATH = "src/pdwire/wire/.generated"
"""Lists every generated file, one a line: what is no longer produced can be deleted."""


def emit_all(spec: Spec) -> dict[str, str]:
    """Every generated file with its text, the manifest included, by path."""
    files: dict[str, str] = {}
    for emitter in EMITTERS:
        for path, text in emitter(spec).items():
            if path in files:
                raise ValueError(f"two emitters produce {path}")
            files[path] = text
    files[MANIFEST_PATH] = "".join(f"{path}\n" for path in sorted(files))
    return files
