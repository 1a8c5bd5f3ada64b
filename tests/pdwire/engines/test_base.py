from __future__ import annotations

import importlib
import subprocess
import sys
from types import ModuleType

import pytest

from pdwire.engines import (
    DONE,
    EngineError,
    EngineMissing,
    EngineTimeout,
    EngineUnsettled,
    Failed,
    MooncakeEngine,
    NixlEngine,
    wait,
)


class Scripted:
    """A transfer that answers its polls in order; the last answer stays."""

    def __init__(self, *answers: bool | EngineError) -> None:
        self.answers = list(answers)
        self.released = 0

    def poll(self) -> bool:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, EngineError):
            raise answer
        return answer

    def release(self) -> None:
        self.released += 1


def test_waiting_polls_until_it_is_over_then_releases() -> None:
    transfer = Scripted(*[False] * 40, True)
    wait(transfer, 30)
    assert transfer.answers == [True]
    assert transfer.released == 1


def test_a_transfer_that_is_over_is_taken_even_without_time() -> None:
    wait(Scripted(True), 0)
    wait(DONE, 0)


def test_a_failure_is_told_and_released() -> None:
    transfer = Scripted(False, EngineError("lost"))
    with pytest.raises(EngineError, match=r"^lost$"):
        wait(transfer, 30)
    assert transfer.released == 1


def test_a_deadline_is_an_engine_error_and_a_timeout_and_releases_nothing() -> None:
    transfer = Scripted(False)
    with pytest.raises(EngineTimeout, match=r"not over after 0\.01 s") as caught:
        wait(transfer, 0.01)
    assert isinstance(caught.value, TimeoutError)
    assert isinstance(caught.value, EngineUnsettled)
    assert transfer.released == 0


@pytest.mark.parametrize(("settled", "kind"), [(True, EngineError), (False, EngineUnsettled)])
def test_what_failed_says_so_at_every_poll(settled: bool, kind: type[EngineError]) -> None:
    failed = Failed("no such peer", settled=settled)
    for _ in range(2):
        with pytest.raises(EngineError, match=r"no such peer") as caught:
            failed.poll()
        assert type(caught.value) is kind
    failed.release()


@pytest.mark.parametrize(
    ("engine", "module", "sentence"),
    [
        (MooncakeEngine, "mooncake.engine", r"Mooncake engine .* pip install 'pdwire\[mooncake\]'"),
        (NixlEngine, "nixl._api", r"NIXL engine .* pip install 'pdwire\[nixl\]'"),
    ],
)
def test_a_missing_package_names_its_extra(
    monkeypatch: pytest.MonkeyPatch, engine: type, module: str, sentence: str
) -> None:
    def absent(name: str) -> ModuleType:
        assert name == module
        raise ImportError("libibverbs.so.1: cannot open shared object file")

    monkeypatch.setattr("pdwire.engines.optional.import_module", absent)
    with pytest.raises(EngineMissing, match=sentence) as caught:
        engine()
    assert "libibverbs" in str(caught.value)


def test_importing_engines_loads_none() -> None:
    code = "import sys, pdwire.engines; print(sorted(set(sys.modules) & {'mooncake', 'nixl'}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_exists() -> None:
    for name in ("pdwire.engines", "pdwire.plan"):
        module = importlib.import_module(name)
        assert all(hasattr(module, public) for public in module.__all__)
