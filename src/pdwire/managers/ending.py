"""A process that ends without closing its managers: they are closed before Python is taken down.

Daemon threads that are inside a native engine when the interpreter and the engine's library end
under them abort the process. So whatever was not closed is closed at exit, first what was made
last; nobody is left to handle an error then, so errors are logged.
"""

from __future__ import annotations

import atexit
import logging
from typing import Final
from weakref import WeakValueDictionary

from pdwire.managers.base import BaseKVManager

__all__ = ["close_at_exit"]

_LOG: Final = logging.getLogger("pdwire.managers")
_living: WeakValueDictionary[int, BaseKVManager] = WeakValueDictionary()


def close_at_exit(manager: BaseKVManager) -> None:
    """Have a manager closed when the process ends, if it lives then. Closing twice is closing."""
    _living[id(manager)] = manager


def _close_all() -> None:
    for manager in reversed(list(_living.values())):
        try:
            manager.close()
        except Exception:  # noqa: BLE001  # the others are to be closed all the same
            _LOG.warning("a manager could not be closed at exit", exc_info=True)


atexit.register(_close_all)
