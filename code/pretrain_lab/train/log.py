# SPDX-License-Identifier: MIT
"""What a run of `pretrain_lab.train` says while it goes: lines, a bar, log.csv, TensorBoard."""

import csv
import math
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from pretrain.training import History
from pretrain_lab.run_state import replacing

LOG = "log.csv"
"""File in the folder of a run with a line a step."""
COLUMNS = ("step", "loss", "lr", "tokens_per_second", "held_out", "bits_per_character")


def tell(text: str) -> None:
    """Print a line at once, in the first process alone."""
    if os.environ.get("RANK", "0") == "0":
        tqdm.write(text, file=sys.stdout)
        sys.stdout.flush()


class Silent:
    """The log of a process that is not the first one: none."""

    def step(self, loss: float, lr: float, seconds: float, held_out: float | None) -> None:
        """Say nothing."""

    def close(self) -> None:
        """There is nothing to close."""


class RunLog:
    """The log of the first process.

    A line says the mean loss since the last line, so that the noise of single batches is not taken
    for progress.
    """

    def __init__(
        self,
        folder: Path,
        history: History,
        *,
        n_steps: int,
        tokens_per_step: int,
        tokens_per_character: float,
        every: int,
        bar: bool,
    ) -> None:
        """Go on after the steps of a history, in whose place nothing else is logged.

        `tokens_per_character` turns nats per token into bits per character; 0 = it would mean
        nothing. A line is said every so many steps, and shown below a bar.
        """
        self.n_steps, self.tokens_per_step, self.every = n_steps, tokens_per_step, every
        self.tokens_per_character = tokens_per_character
        self.done = len(history.losses)
        self._losses: list[float] = []
        self._seconds = 0.0
        self._bar = tqdm(total=n_steps, initial=self.done, disable=not bar, unit="step")
        self._file = open_log(folder / LOG, history)
        self._board = open_board(folder, self.done)

    def step(self, loss: float, lr: float, seconds: float, held_out: float | None) -> None:
        """Note a step, of which the loss held out is known only now and then."""
        self.done += 1
        self._losses.append(loss)
        self._seconds += seconds
        speed = self.tokens_per_step / max(seconds, 1e-9)
        bits = self.bits(held_out)
        row = (self.done, f"{loss:.6f}", f"{lr:.6g}", f"{speed:.0f}", _cell(held_out), _cell(bits))
        csv.writer(self._file).writerow(row)
        self._file.flush()
        if self._board is not None:
            values = {
                "loss/training": loss, "loss/held_out": held_out, "bits_per_character": bits,
                "lr": lr, "tokens_per_second": speed,
            }  # fmt: skip
            for name, value in values.items():
                if value is not None:
                    self._board.add_scalar(name, value, self.done)
        self._bar.update()
        if self.done % self.every == 0 or self.done == self.n_steps:
            tell(f"step {self.done}/{self.n_steps}: {self._line(lr)}")
            self._losses, self._seconds = [], 0.0
        if held_out is not None:
            in_bits = "" if bits is None else f" ({bits:.2f} bits per character)"
            tell(f"step {self.done}/{self.n_steps}: held out {held_out:.4f} nats{in_bits}")

    def bits(self, nats: float | None) -> float | None:
        """Turn nats per token into bits per character, where that means something."""
        if nats is None or not self.tokens_per_character:
            return None
        return nats * self.tokens_per_character / math.log(2)

    def close(self) -> None:
        """Close bar and files."""
        self._bar.close()
        self._file.close()
        if self._board is not None:
            self._board.close()

    def _line(self, lr: float) -> str:
        """Sum up the steps since the last line."""
        n = len(self._losses)
        speed = n * self.tokens_per_step / max(self._seconds, 1e-9)
        left = time_of((self.n_steps - self.done) * self._seconds / n)
        end = f", {left} left" if self.done < self.n_steps else ""
        return f"loss {sum(self._losses) / n:.4f}, lr {lr:.2e}, {speed:,.0f} tokens/s{end}"


def time_of(seconds: float) -> str:
    """Write a time as a person says it: "40 s", "12 min", "3.5 h"."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def open_log(path: Path, history: History) -> Any:
    """Open log.csv behind the line of the last step of a history.

    Lines of later steps, which a killed run wrote after its checkpoint, are dropped; lines that are
    missing are made of the losses.
    """
    known: dict[str, list[str]] = {}
    if path.is_file():
        with path.open(newline="", encoding="utf-8", errors="replace") as lines:
            known = {row[0]: row for row in csv.reader(lines) if len(row) == len(COLUMNS)}
    evaluations = dict(history.evaluations)
    with replacing(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for step, loss in enumerate(history.losses, start=1):
            made = [str(step), f"{loss:.6f}", "", "", _cell(evaluations.get(step)), ""]
            writer.writerow(known.get(str(step), made))
    return path.open("a", newline="", encoding="utf-8")


def open_board(folder: Path, done: int) -> Any:
    """Open TensorBoard's file, where `tensorboard` is installed; later steps are purged."""
    if find_spec("tensorboard") is None:
        return None
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder / "tensorboard"), purge_step=done + 1)


def _cell(value: float | None) -> str:
    """Write a number of log.csv; nothing where there is none."""
    return "" if value is None else f"{value:.6f}"
