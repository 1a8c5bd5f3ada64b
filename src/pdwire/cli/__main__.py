"""``python -m pdwire.cli`` is ``pdwire``."""

from __future__ import annotations

from pdwire.cli.app import main

if __name__ == "__main__":
    main()
