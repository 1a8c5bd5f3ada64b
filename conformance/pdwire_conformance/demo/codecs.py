"""Are the codecs in use what the spec says? Generates them anew in memory and compares.

Nothing is written: whoever changed the spec runs ``pdwire generate`` and reads the diff.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pdwire
from pdwire.wire import layouts
from pdwire_codegen.diagnostics import SpecError
from pdwire_codegen.generate import check
from pdwire_codegen.load import load

ROOT = Path(pdwire.__file__).resolve().parents[2]
"""The checkout, where the package is one of its folders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """What came of generating the codecs anew; ``current`` is false when they differ."""

    text: str
    current: bool = True


def generated(root: Path = ROOT) -> Generated:
    """Generate from ``protocol/`` beside the package, if there is one, and compare."""
    protocol = root / "protocol"
    if not (protocol / "protocol.toml").is_file():
        return Generated(text=f"{len(layouts())} as installed; no protocol/ here to generate from")
    try:
        spec = load(protocol)
    except SpecError as error:
        first = f"{len(error.faults)} faults in the spec; run: pdwire generate --check"
        return Generated(text=first, current=False)
    differing = check(spec, root)
    if differing:
        text = f"{len(differing)} generated files differ from the spec; run: pdwire generate"
        return Generated(text=text, current=False)
    text = f"{len(layouts())} generated from {len(spec.messages)} spec files, equal to those in use"
    return Generated(text=text)
