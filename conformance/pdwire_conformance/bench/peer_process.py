"""``python -m pdwire_conformance.bench.peer_process --release V``: a runner without collections.

The peers' runner as it is, with the garbage collector and the allocator set as they are on
our side while anything is measured.
"""

from __future__ import annotations

import gc
import sys

from pdwire_conformance.bench.measure import keep_freed_memory
from pdwire_conformance.peers.runner import main

if __name__ == "__main__":
    gc.disable()
    keep_freed_memory()
    sys.exit(main())
