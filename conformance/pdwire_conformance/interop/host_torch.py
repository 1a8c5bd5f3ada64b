"""torch with host memory where a release insists on a GPU: for staging, on a machine without.

Rules:

* Staging of the releases allocates, gathers and scatters on the device that the KV pool
  says it lives on, and later releases refuse any but ``cuda``. Here every tensor says
  ``cuda:0`` of itself, and what is asked for on ``cuda`` is made in host memory.
* Streams and events are done when they are made: there is nothing asynchronous.
* The arithmetic is torch's own (``SGLANG_STAGING_USE_TORCH``); triton is not used.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any


class Instant:
    """A stream or an event of a device that has none: everything has happened already."""

    def __init__(self, device: Any = None, **_: Any) -> None:
        self.device = device

    def record(self, *_: Any) -> None:
        """Nothing is pending."""

    def synchronize(self) -> None:
        """Nothing is pending."""

    def wait_event(self, *_: Any) -> None:
        """Nothing is pending."""

    def wait_stream(self, *_: Any) -> None:
        """Nothing is pending."""

    def query(self) -> bool:
        """It has happened."""
        return True


def rows_into_pack(
    addresses: Sequence[int],
    rows: Any,
    pack: Any,
    widths: Sequence[int],
    strides: Sequence[int] | None = None,
) -> None:
    """Copy rows of each region, one region after the other, into a flat buffer.

    What a kernel does on a GPU for DCP relayout. ``rows`` and ``pack`` are tensors, widths
    and strides bytes per row of each region.
    """
    import numpy as np

    wanted, flat, offset = rows.numpy(), pack.numpy(), 0
    for address, width, stride in zip(addresses, widths, strides or widths, strict=True):
        length = (int(wanted.max()) + 1) * stride
        held = np.ctypeslib.as_array((ctypes.c_uint8 * length).from_address(address))
        chosen = held.reshape(-1, stride)[wanted, :width]
        flat[offset : offset + chosen.size] = chosen.reshape(-1)
        offset += chosen.size


def install() -> None:
    """Make torch of this process do so, in every thread that starts from now on and here."""
    import torch
    from torch.overrides import TorchFunctionMode

    said = torch.device("cuda", 0)
    device_of = torch.Tensor.device.__get__

    class HostMode(TorchFunctionMode):
        """Answers ``cuda:0``, works in host memory."""

        def __torch_function__(
            self,
            func: Callable[..., Any],
            types: Sequence[type],
            args: Sequence[Any] = (),
            kwargs: Mapping[str, Any] | None = None,
        ) -> Any:
            if func == device_of:
                return said
            if func is torch.device:
                return func(*args, **(kwargs or {}))
            return func(
                *(_on_host(torch, each) for each in args),
                **{name: _on_host(torch, each) for name, each in (kwargs or {}).items()},
            )

    for name, stand_in in _device_module().items():
        setattr(torch.cuda, name, stand_in)
    torch.get_device_module = lambda device=None: torch.cuda  # type: ignore[assignment]
    _in_every_thread(HostMode)


def _on_host(torch: Any, value: Any) -> Any:
    if isinstance(value, torch.device) or (isinstance(value, str) and value.startswith("cuda")):
        return "cpu"
    return value


def _device_module() -> dict[str, Any]:
    return {
        "Stream": Instant,
        "Event": Instant,
        "stream": contextlib.nullcontext,
        "set_device": lambda *_: None,
        "current_stream": Instant,
        "default_stream": Instant,
        "synchronize": lambda *_: None,
    }


def _in_every_thread(mode: Callable[[], Any]) -> None:
    """Enter a mode here and in every thread to come; torch's modes belong to one thread."""
    mode().__enter__()
    run = threading.Thread.run

    def run_in_mode(self: threading.Thread) -> None:
        with mode():
            run(self)

    threading.Thread.run = run_in_mode  # type: ignore[method-assign]
