"""``python -m pdwire_conformance.fuzz.coverage_guided``: a property under atheris.

Rules: atheris (PyPI, extra ``atheris``) is libFuzzer for Python. It sees which lines of our
codecs an input reaches and keeps the inputs that reach new ones. What breaks the property is
saved as a finding like any other, though not made simpler; ``pdwire fuzz`` does that.
Exit 0 when the time is up, 1 with a finding, 2 without atheris or for wrong usage.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

__all__ = ["main"]

_SEEN: Final = ["pdwire.wire", "pdwire.frames", "pdwire.codec", "pdwire.registry"]
"""What is watched: the codecs, and not what draws for them."""


def main(arguments: Sequence[str]) -> int:
    """Run one property for so many seconds; ``arguments`` are those of the command line."""
    told = _parser().parse_args(arguments)
    if importlib.util.find_spec("atheris") is None:
        sys.stderr.write("atheris is not installed: pip install 'pdwire[atheris]'\n")
        return 2
    return _run(told)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pdwire_conformance.fuzz.coverage_guided")
    parser.add_argument("--property", default="differential", help="which property")
    parser.add_argument("--backend", default="mooncake")
    parser.add_argument("--message", default="KVArgsRegisterInfo")
    parser.add_argument("--release", default=None, help="the newest by default")
    parser.add_argument("--target", default="pdwire")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--corpus", type=Path, default=None, help="inputs that are kept")
    parser.add_argument("--out", type=Path, default=Path("pdwire-findings"))
    return parser


def _run(told: argparse.Namespace) -> int:
    atheris: Any = importlib.import_module("atheris")  # an extra, and before what it watches
    with atheris.instrument_imports(include=_SEEN):
        from . import entry  # noqa: PLC0415 - imported while atheris watches
    from pdwire.errors import UnknownLayoutError  # noqa: PLC0415 - as above

    found: list[Path] = []
    try:
        check = entry.fuzz_one_input(
            told.property,
            told.backend,
            told.message,
            release=told.release,
            target=told.target,
            caught=lambda sample, problem: found.append(_save(told, sample, problem)),
        )
    except (KeyError, UnknownLayoutError) as fault:
        sys.stderr.write(f"{fault}\n")
        return 2
    return _under(atheris, check, told, found)


def _under(atheris: Any, check: Any, told: argparse.Namespace, found: list[Path]) -> int:  # noqa: ANN401
    """LibFuzzer ends the process itself; a finding ends it from within, with its own code."""

    def one(data: bytes) -> None:
        try:
            check(data)
        except Exception:
            if not found:
                raise
            sys.stdout.write(f"pdwire replay {found[0]}\n")
            sys.stdout.flush()
            _leave(1)

    # A whole message takes some hundred bytes of choices: short inputs are no examples.
    words = [sys.argv[0], f"-max_total_time={told.seconds}", "-print_final_stats=1"]
    words += ["-len_control=0", "-max_len=4096"]
    if told.corpus is not None:
        told.corpus.mkdir(parents=True, exist_ok=True)
        words.append(str(told.corpus))
    atheris.Setup(words, one)
    atheris.Fuzz()
    return 0


def _leave(code: int) -> None:
    """End at once: libFuzzer takes an exception, ``SystemExit`` too, for a crash of its own."""
    import os  # noqa: PLC0415 - only here

    sys.stderr.flush()
    os._exit(code)


def _save(told: argparse.Namespace, sample: Any, problem: Any) -> Path:  # noqa: ANN401
    from pdwire import __version__  # noqa: PLC0415 - imported while atheris does not watch
    from pdwire.strategies.subjects import subject  # noqa: PLC0415 - as above

    from .findings import Finding, save  # noqa: PLC0415 - as above

    chosen = subject(told.backend, told.message, release=told.release)
    return save(
        Finding(
            prop=told.property,
            target=told.target,
            backend=told.backend,
            message=chosen.codec.message,
            layout=chosen.layout.id,
            release=told.release or chosen.codec.releases[-1],
            cause=problem.cause,
            expected=problem.expected,
            came=problem.came,
            seed=0,
            version=__version__,
            sample=sample,
        ),
        told.out,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
