"""Spec compiler of pdwire: ``protocol/*.toml`` to a checked model to emitters.

Rules of the house: ``model`` knows nothing of TOML, ``load`` nothing of emitters, and
emitters are pure functions from a :class:`~pdwire_codegen.model.Spec` to files.
"""
