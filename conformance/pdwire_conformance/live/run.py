"""Run one live case against one target: :func:`run_script`.

Rules:

* A case starts on a target that is whole: one that failed a case before, or died, is
  started anew first. Both ends' memory is filled anew.
* The first step that does not get what it expects ends the case; its number, what it
  expected and what came are the judgement.
* A target whose process is gone when the steps are over has failed, whatever they say.
"""

from __future__ import annotations

import re
from typing import Final

from pdwire.errors import WireError
from pdwire.managers.sockets import SendError
from pdwire_conformance.conform.events import TraceLine
from pdwire_conformance.conform.judge import Judgement
from pdwire_conformance.suite.case import Case, Live
from pdwire_conformance.suite.notation import NotationError

from .driven import FEATURES, LiveTarget
from .scene import BROKEN, Scene, StepFailed, StepSkipped
from .script import StepError
from .steps import do

__all__ = ["run_script", "unrunnable"]

_ERROR: Final = re.compile(r"(\w+\.)*\w*(Error|Exception)\b")


def unrunnable(case: Case, target: LiveTarget) -> str:
    """Why the case cannot be run against the target at all; empty when it can."""
    if not isinstance(case.check, Live):
        return f"{case.slug} is no live case"
    if case.role is not target.role or case.backend != target.backend:
        return f"the target is {target.role} over {target.backend}"
    if target.release not in case.releases:
        return f"not for {target.release}"
    unknown = [need for need in case.check.needs if need not in {*FEATURES, "driver"}]
    if unknown:
        return f"nothing is known of the need {unknown[0]!r}"
    if case.check.needs and not target.drives:
        return f"it needs {', '.join(case.check.needs)}: the target is not driven"
    return ""


def run_script(case: Case, target: LiveTarget) -> tuple[Judgement, tuple[TraceLine, ...]]:
    """Run the case; how it ended, and what went over the wire.

    Raises:
        TesteeError: the target cannot be started.
        StepError: the case itself is wrong.
    """
    if why := unrunnable(case, target):
        return Judgement(ok=False, skip=why), ()
    assert isinstance(case.check, Live)
    target.need(frozenset(case.check.needs) - {"driver"})
    scene = _scene(target)
    judgement = _judged(case, scene)
    trace = scene.trace()
    if judgement.ok and not target.alive():
        came = "the target's process ended"
        judgement = Judgement(ok=False, expected="the target lives", came=came)
    if judgement.ok or judgement.skip:
        whole = scene.clear()
        target.stale = target.stale or scene.spent or not whole
    else:
        scene.close()
        target.close()  # at once: what is broken may grow until it is ended
    return judgement, trace


def _scene(target: LiveTarget) -> Scene:
    run = target.run
    target.player.begin()
    if target.drives:
        target.handover.fill(next(run.seeds))
    return Scene(target, run)


def _judged(case: Case, scene: Scene) -> Judgement:
    assert isinstance(case.check, Live)
    for number, step in enumerate(case.check.steps, 1):
        name = str(step["do"])
        where = f"step {number} ({name})"
        told = ", ".join(f"{key} {value}" for key, value in step.items() if key != "do")
        scene.note(f"{name} {told}".strip()[:300])
        try:
            do(scene, step)
        except StepSkipped as skipped:
            return Judgement(ok=False, skip=f"{where}: {skipped}")
        except StepFailed as failed:
            came = failed.came + _said(scene)
            return Judgement(ok=False, expected=f"{where}: {failed.expected}", came=came)
        except (*BROKEN, SendError, OSError) as error:
            expected = f"{where}: is done"
            return Judgement(ok=False, expected=expected, came=f"{type(error).__name__}: {error}")
        except (NotationError, WireError) as error:
            raise StepError(f"{case.slug}, {where}: {error}") from error
    return Judgement(ok=True)


def _said(scene: Scene) -> str:
    """The target's last words where they look like the end of a traceback."""
    sides = scene.target.sides if scene.target.alive() else []
    told = [side.said() for side in sides]
    return "".join(f"; it said: {line}" for line in told if _ERROR.match(line))
