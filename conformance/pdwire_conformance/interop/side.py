"""``python -m pdwire_conformance.interop.side …``: one side of a hand-over, in JSON lines.

Requests (``op``), besides ``hello`` and ``stop``:

=============  ========================================================================
``start``      make the manager; answers ``bootstrap`` (``host:port``) and ``rank_port``
``fill``       write the content of ``seed`` into all memory; ``wipe`` zeroes it
``send``       prefill: ``room``, ``chunks`` (lists of pages), ``aux_index``, ``state``?,
               ``hold``? (chunks to keep back until ``release``)
``receive``    decode: ``room``, ``bootstrap``, ``pages``, ``aux_index``, ``state``?,
               ``decode_prefix_len``?; answers ``connected``
``poll``       ``rooms``; moves them on and answers ``[KVPoll name, reason]`` of each
``abort``      ``room``; ``released``: may its pages be reused? ``clear`` forgets a room
``outside``    digests of everything but ``pages``, ``aux`` rows and ``state`` rows
``resources``  threads, open files and resident memory of the process
``digest``     of ``pages``, ``aux`` (a row), ``state`` (rows): SHA-256, shortened
=============  ========================================================================
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable

from pdwire_conformance.peers.errors import PeerUnavailable
from pdwire_conformance.peers.loader import load
from pdwire_conformance.peers.wheels import fetch

from . import host_torch
from .answers import Context, answers
from .engine import without_gpu, without_rdma
from .lines import TRACE, Answer, Request, protocol_output, refuse, serve
from .options import Options, parse
from .theirs import Theirs

UNAVAILABLE = 3
"""Exit status when the release or an engine cannot be had here."""


def main(argv: list[str] | None = None) -> int:
    """Serve one side on standard input and output."""
    options = parse(sys.argv[1:] if argv is None else argv)
    output = protocol_output()
    if not os.environ.get(TRACE):
        logging.disable(logging.WARNING)
    try:
        operations = _operations(options)
    except (PeerUnavailable, ImportError) as error:
        refuse(output, error)
        return UNAVAILABLE
    serve(operations, sys.stdin, output)
    # Real managers leave threads behind that never end by themselves.
    output.flush()
    os._exit(0)


def _operations(options: Options) -> dict[str, Callable[[Request], Answer]]:
    os.environ.update(_environment(options))
    context = Context(options)
    {"mooncake": without_rdma, "nixl": without_gpu}[options.backend]()
    wheel = fetch(options.release)
    real = [options.backend]
    if options.on_gpu:
        host_torch.install()
        real.append("torch")
    peer = load(options.release, wheel.root, real=real, answers=answers(options, context))
    return Theirs(options, peer, context).operations()


def _environment(options: Options) -> dict[str, str]:
    """Settings that a release reads from its environment."""
    told = {"SGLANG_HOST_IP": "127.0.0.1", "MC_FORCE_TCP": "1", "MC_LOG_LEVEL": "ERROR"}
    told["SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE"] = "1"
    if options.deadline_s:
        for wait in ("BOOTSTRAP", "WAITING"):
            told[f"SGLANG_DISAGGREGATION_{wait}_TIMEOUT"] = str(options.deadline_s)
    if options.aux_messages:
        told["SGLANG_MOONCAKE_SEND_AUX_TCP"] = "1"
    if options.staging:
        told["SGLANG_DISAGG_STAGING_BUFFER"] = told["SGLANG_STAGING_USE_TORCH"] = "1"
        told["SGLANG_DISAGG_STAGING_POOL_SIZE_MB"] = str(options.staging)
    return told


if __name__ == "__main__":
    sys.exit(main())
