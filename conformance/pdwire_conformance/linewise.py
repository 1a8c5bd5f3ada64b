"""A child process that is spoken to in lines: :class:`LineProcess`.

Rules:

* Every answer has a deadline. A process that misses one, ends, or sends a line longer than
  is allowed is lost: it is ended, and stays unusable until it is started again, because its
  next line could answer anything.
* Reading and writing happen at once, so that neither side waits for a full pipe; requests
  run ahead of answers by no more than the caller says.
* A process is ended by its own id, and waited for. What it printed on standard error is
  kept in a file, and its end is told with the loss.

It knows nothing of what the lines say, and nothing of this project: the peers stand on it.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Final, TextIO

__all__ = ["LONGEST", "LineProcess", "LostError", "protocol_output"]

LONGEST: Final = 1 << 26
"""Bytes of the longest line that is read: an answer with 131,072 indices has about a million."""

_STEP_BYTES: Final = 1 << 16
_TAIL_BYTES: Final = 4096


class LostError(Exception):
    """The process is not there any more: ``text`` says what it did, ``said`` its last words."""

    def __init__(self, text: str, said: str = "") -> None:
        super().__init__(text + (f" ({said})" if said else ""))
        self.text = text
        self.said = said


class LineProcess:
    """A command, started and ended as often as one likes."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        longest: int = LONGEST,
    ) -> None:
        self._command = list(command)
        self._environment = environment
        self._longest = longest
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr: IO[bytes] | None = None
        self._buffer = bytearray()
        self._searched = 0

    @property
    def alive(self) -> bool:
        """Whether it has been started and neither ended nor lost."""
        return self._process is not None

    @property
    def pid(self) -> int | None:
        """Its process id while it is alive."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the command.

        Raises:
            LostError: there is no such program, or it must not be run.
        """
        self.close()
        self._buffer.clear()
        self._searched = 0
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the process
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                env=self._environment,
            )
        except OSError as error:
            self.close()
            raise LostError(f"cannot be started: {error}") from error
        for pipe in self._pipes():
            os.set_blocking(pipe.fileno(), False)

    def ask(self, line: bytes, limit_s: float) -> bytes:
        """Write one line (its end included) and read one, both within the limit."""
        return next(self.exchange([line], limit_s=limit_s))

    def exchange(
        self, lines: Iterable[bytes], *, limit_s: float, ahead: int = 1
    ) -> Iterator[bytes]:
        """The answers to lines, one each, in order.

        ``ahead`` is how many lines may be under way; each answer has ``limit_s`` seconds,
        counted from the answer before it.

        Raises:
            LostError: no answer in time, the end of the process, or too long a line.
        """
        waiting = iter(lines)
        more, rest, owed = True, memoryview(b""), 0
        while more or owed:
            ends = time.monotonic() + limit_s
            while (answer := self._line()) is None:
                while more and not rest and owed < ahead:
                    line = next(waiting, None)
                    more, rest = line is not None, memoryview(line or b"")
                    owed += more
                if not owed:
                    return
                rest = self._step(rest, ends, limit_s)
            owed -= 1
            if owed < 0:
                raise self.lost(f"said something unasked: {_shown(answer)}")
            yield answer

    def read(self, limit_s: float) -> bytes | None:
        """The next line without asking for one; ``None`` when none comes in time.

        Raises:
            LostError: the process ended, or the line is too long.
        """
        ends = time.monotonic() + limit_s
        while (line := self._line()) is None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._stdout(), selectors.EVENT_READ)
                if not selector.select(max(0.0, ends - time.monotonic())):
                    return None
            self._read()
        return line

    def finish(self, limit_s: float, *, hang_up: bool = True) -> tuple[int | None, bytes]:
        """Close its standard input, unless it is to leave by itself, and wait for its end.

        Its exit status (``None`` when it stayed, and was ended) and what it said until then.
        """
        process = self._running()
        ends = time.monotonic() + limit_s
        if hang_up and process.stdin is not None:
            _close_quietly(process.stdin)
        open_ = True
        while open_ and len(self._buffer) <= self._longest:
            with selectors.DefaultSelector() as selector:
                selector.register(self._stdout(), selectors.EVENT_READ)
                if not selector.select(max(0.0, ends - time.monotonic())):
                    break
            open_ = self._fill()
        try:
            status: int | None = process.wait(max(0.0, ends - time.monotonic()))
        except subprocess.TimeoutExpired:
            status = None
        surplus = bytes(self._buffer)
        self.close()
        return status, surplus

    def said(self) -> str:
        """The last line that it printed on standard error, shortened."""
        if self._stderr is None or self._stderr.closed:
            return ""
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - _TAIL_BYTES))
        lines = self._stderr.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:300] if lines else ""

    def lost(self, what: str) -> LostError:
        """End the process; the error that says why it is of no more use."""
        said = self.said()
        self.close()
        return LostError(what, said)

    def close(self) -> None:
        """End the process, by its own id, and wait for it."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    _close_quietly(pipe)
        if self._stderr is not None:
            self._stderr.close()
            self._stderr = None

    def _step(self, rest: memoryview, ends: float, limit_s: float) -> memoryview:
        """Wait for the pipes and move what they take; what is left to write."""
        process = self._running()
        assert process.stdin is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._stdout(), selectors.EVENT_READ)
            if rest:
                selector.register(process.stdin, selectors.EVENT_WRITE)
            ready = selector.select(max(0.0, ends - time.monotonic()))
            if not ready:
                raise self.lost(f"gave no answer within {limit_s:g} s")
            for key, _ in ready:
                if key.fileobj is process.stdin:
                    rest = rest[self._write(rest) :]
                else:
                    self._read()
        return rest

    def _write(self, rest: memoryview) -> int:
        pipe = self._running().stdin
        assert pipe is not None
        try:
            return os.write(pipe.fileno(), rest[:_STEP_BYTES])
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            # It may have said why on its output before it left: let the reader find out.
            return len(rest)

    def _read(self) -> None:
        process = self._running()
        if not self._fill():
            raise self.lost(_ended(process))
        if len(self._buffer) > self._longest and b"\n" not in self._buffer:
            raise self.lost(f"sent a line of more than {self._longest} bytes")

    def _fill(self) -> bool:
        """Take what it said; ``False`` at the end of its output."""
        chunk = os.read(self._stdout(), _STEP_BYTES)
        self._buffer += chunk
        return bool(chunk)

    def _stdout(self) -> int:
        pipe = self._running().stdout
        assert pipe is not None
        return pipe.fileno()

    def _line(self) -> bytes | None:
        end = self._buffer.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._buffer)
            return None
        self._searched = 0
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise LostError("is not running")
        return self._process

    def _pipes(self) -> list[IO[bytes]]:
        process = self._running()
        return [pipe for pipe in (process.stdin, process.stdout) if pipe is not None]


def protocol_output() -> TextIO:
    """Take this process's standard output for the protocol.

    Descriptor 1 is standard error from now on, so that whatever prints, C++ included,
    does not speak in between.
    """
    sys.stdout.flush()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return answers


def _ended(process: subprocess.Popen[bytes]) -> str:
    """What became of a process whose output is at its end."""
    try:
        status = process.wait(1.0)
    except subprocess.TimeoutExpired:
        return "closed its standard output"
    return f"ended with status {status}"


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    return repr(text if len(text) <= 120 else f"{text[:120]}…")


def _close_quietly(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        return
