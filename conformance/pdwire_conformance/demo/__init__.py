"""``pdwire demo``: the main job on real input, small enough to read.

It makes sure that the codecs are what the spec says, starts one real SGLang release in a
process of its own, has it encode registrations and metadata, decodes them, shows them, and
sends ours back for the release to decode. Without a network it says so and uses what the
release was recorded to send. The last line says what was proved; exit 0 when it holds, 1
when something differs, 2 for a release that is not known.
"""

from __future__ import annotations

from pdwire_conformance.demo.verb import command

__all__ = ["command"]
