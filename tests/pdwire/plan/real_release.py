"""The planning functions of one real release: JSON questions on stdin, JSON answers on stdout.

Run as a script, in a process of its own: ``python real_release.py RELEASE``. An answer is null
where the release has no such function.
"""

from __future__ import annotations

import json
import os
import sys
import types
from typing import Any

import numpy as np

from pdwire_conformance.peers.loader import LoadedRelease, load
from pdwire_conformance.peers.wheels import fetch

Case = dict[str, Any]


def runs(release: LoadedRelease, case: Case) -> object:
    group = release.module("common.utils").group_concurrent_contiguous
    src, dst = group(np.array(case["src"], np.int32), np.array(case["dst"], np.int32))
    return [[int(s[0]), int(d[0]), len(s)] for s, d in zip(src, dst, strict=True)]


def heads(release: LoadedRelease, case: Case) -> object:
    staging = release.module("common.staging_buffer")
    return [
        list(staging.compute_head_slice_params(*sizes, src, dst, total)[:3])
        for *sizes, src, dst, total in case["of"]
    ]


def tokens(release: LoadedRelease, case: Case) -> object:
    plan = getattr(release.module("common.utils"), "build_dcp_token_transfer_plan", None)
    if plan is None:
        return None
    src, dst = (np.array(case.pop(name), np.int32) for name in ("src_pages", "dst_pages"))
    found = plan(src, dst, **case)
    prefix = "target_" if hasattr(found, "target_src_token_indices") else ""  # without a draft
    return [getattr(found, f"{prefix}{side}_token_indices").tolist() for side in ("src", "dst")]


def stage(release: LoadedRelease, case: Case) -> object:
    """Where each source region goes; regions are told by their own index as their pointer."""
    manager = release.module("common.conn").CommonKVManager
    args = types.SimpleNamespace(prefill_start_layer=case["start_layer"])
    me = types.SimpleNamespace(kv_args=args)
    me._mla_kv_entry_span_with_pp = lambda n: manager._mla_kv_entry_span_with_pp(me, n)
    src, dst = list(range(case["n_src"])), list(range(case["n_dst"]))
    if case["mla"]:
        return list(manager.get_mla_kv_ptrs_with_pp(me, src, dst)[1])
    _, _, keys, values, layers = manager.get_mha_kv_ptrs_with_pp(me, src, dst)
    return [*keys[:layers], *values[:layers]]


QUESTIONS = {"runs": runs, "heads": heads, "tokens": tokens, "stage": stage}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the release prints is no answer
    release = load(sys.argv[1], fetch(sys.argv[1]).root)
    for line in sys.stdin:
        case = json.loads(line)
        answers.write(json.dumps(QUESTIONS[case.pop("ask")](release, case)) + "\n")
    answers.close()


if __name__ == "__main__":
    main()
