"""Proof: what the real releases encode we decode to the same values, and the reverse.

``draw`` makes values from the spec, ``check`` compares one release with the generated
codecs in both directions, ``results`` keeps what was proved, ``page`` shows it.
"""
