"""Bounds are positive, and a tick with nothing due looks at nothing."""

from __future__ import annotations

import pytest

from pdwire.rooms import RoomLimits
from pdwire.rooms.alarm import Alarm


@pytest.mark.parametrize("name", list(RoomLimits.__dataclass_fields__))
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_every_limit_is_positive(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} must be positive, not {value!r}"):
        RoomLimits(**{name: value})  # type: ignore[arg-type]  # counts are checked like seconds


def test_an_alarm_rings_at_the_earliest_deadline_and_then_knows_none() -> None:
    alarm = Alarm()
    assert not alarm.rings(1e18)
    assert alarm.set(20) == 20
    alarm.set(10)
    alarm.set(30)
    assert not alarm.rings(9.9)
    assert alarm.rings(10)
    assert not alarm.rings(1e18)
