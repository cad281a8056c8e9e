# SPDX-License-Identifier: MIT
"""Ctrl-C and SIGTERM, by which people and clusters stop a run of `pretrain_lab.train`."""

import signal
import threading
from types import FrameType
from typing import Any

NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}


class Stopped(Exception):
    """A run was asked to stop, and has saved what it had."""


class Interrupts:
    """Note a signal instead of dying of it, while a run takes steps.

    Before, and at the second signal, it is a KeyboardInterrupt. Outside the main thread, where
    Python allows no handlers, nothing changes.

    Attributes:
        came: The name of the signal that came; "" = none.
        wait: Whether the run finishes its step first.
    """

    def __init__(self) -> None:
        """Handle nothing yet."""
        self.came, self.wait = "", False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Interrupts":
        """Take the place of the handlers that are there."""
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in NAMES}
        return self

    def __exit__(self, *_: object) -> None:
        """Give them their place back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, _: FrameType | None) -> None:
        """Note a signal, or stop at once."""
        if not self.wait or self.came:
            raise KeyboardInterrupt
        self.came = NAMES[signal.Signals(number)]
