"""The rank mapping of one real release: JSON cases on stdin, JSON answers on stdout.

Run as a script, in a process of its own: ``python real_mapping.py RELEASE``. The release's own
function does all the work, on a manager whose constructor never ran.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from pdwire_conformance.peers.loader import load
from pdwire_conformance.peers.standins import StandIn, bare
from pdwire_conformance.peers.wheels import fetch


def mapping(manager_class: Any, case: dict[str, Any]) -> dict[str, Any] | str:  # noqa: ANN401
    decode, info = case["decode"], StandIn(**case["prefill"])
    manager = bare(
        manager_class,
        kv_args=StandIn(engine_rank=decode["tp_rank"]),
        attn_tp_size=decode["tp_size"],
        attn_cp_size=1,
        attn_cp_rank=0,
        pp_size=decode["pp_size"],
        pp_rank=decode["pp_rank"],
        is_mla_backend=case["is_mla"],
        is_hybrid_mla_backend=False,
        enable_all_cp_ranks_for_transfer=False,
    )
    try:
        manager._resolve_rank_mapping(info)
    except AssertionError as refusal:
        return str(refusal)
    # As the receiver builds its list: context ranks, tensor ranks, later stages first.
    targets = [
        [cp, tp, pp, bool(case["is_mla"]) and info.target_tp_rank not in {tp, None}]
        for cp in info.target_cp_ranks
        for tp in info.target_tp_ranks
        for pp in reversed(info.target_pp_ranks)
    ]
    return {
        "targets": targets,
        "required_dst_info_num": info.required_dst_info_num,
        "required_prefill_response_num": info.required_prefill_response_num,
    }


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the release prints is no answer
    release = load(sys.argv[1], fetch(sys.argv[1]).root)
    manager_class = release.attribute("common.conn", "CommonKVManager")
    cases = json.load(sys.stdin)
    json.dump([mapping(manager_class, case) for case in cases], answers)
    answers.close()


if __name__ == "__main__":
    main()
