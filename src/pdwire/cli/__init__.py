"""The command line: ``pdwire``, or ``python -m pdwire.cli``.

Rules of every verb: ``--format table|json``; ``NO_COLOR`` is honoured; results go to
stdout, remarks and progress to stderr, progress only on a terminal; exit 0 when all is
well, 1 when something was found, 2 for wrong usage or input that cannot be read. One
module per verb; how things look is the business of the ``render_…`` modules.
"""

from __future__ import annotations

from pdwire.cli.app import main

__all__ = ["main"]
