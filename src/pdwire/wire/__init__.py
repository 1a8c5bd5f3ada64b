"""Codecs of every PD control message of every SGLang release.

GENERATED from protocol/ by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from typing import Final

from pdwire.registry import Recognition, Registry
from pdwire.wire import ascend, bootstrap, common, mooncake, mori, nixl
from pdwire.wire.table import ALIASES, CODECS, ORDER

__all__ = [
    "Recognition",
    "ascend",
    "bootstrap",
    "common",
    "layout",
    "layouts",
    "mooncake",
    "mori",
    "nixl",
    "recognise",
    "releases",
]

_REGISTRY: Final = Registry(CODECS, ORDER, ALIASES)

layout = _REGISTRY.layout
layouts = _REGISTRY.layouts
releases = _REGISTRY.releases
recognise = _REGISTRY.recognise
