"""The single home of staging messages: mixed into Mooncake and NIXL, absent from Mori."""

from __future__ import annotations

from pdwire.wire.nixl import NotifStg

__all__ = ["Later", "StagingManagerMixin"]


class Later(Exception):
    """A chunk's staging is not there yet: put the chunk back and try again."""


class StagingManagerMixin:
    """Staging of a manager; see :mod:`pdwire.staging` for the decisions."""

    def on_staged_notification(self, text: NotifStg) -> None:
        """A staged chunk was announced by a notification (NIXL up to 0.5.22)."""

    def staging_region(self) -> tuple[int, int]:
        """Base and size of this rank's staging ring; zeros where staging is off."""
        return 0, 0
