# SPDX-License-Identifier: MIT
"""What the study of scaling trains: sizes, amounts of text, and the expected cost.

A cell is one size and one amount of text. All cells below a ceiling of compute are trained for the
fit; those above it are held out and predicted before they are trained.
"""

import statistics
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from pretrain.gpt import GPT, GPTConfig
from pretrain.objectives import causal_targets
from pretrain.training import Hook, OptimConfig, Run, fit
from pretrain_lab.scaling.flops import TRAINING, gpt_flops

SEQ_LEN, BATCH_SIZE, N_LAYERS = 64, 8, 2
VOCAB_SIZE = 64  # 62 characters, [PAD] and [MASK]; `runs.plays` checks it
TUNING_SEED = 10
INIT_GAIN = 0.64
WARMUP_SHARE, FINAL_LR = 0.05, 0.02
BETAS = (0.9, 0.99)
"""A batch is only 512 characters, so AdamW averages over more of them than with the book's 0.95.
Tried once on validation plays: 0.99 was better by 0.01 and 0.02 nats at widths 16 and 64 after 429
steps, and worse by 0.01 at width 16 after 1,716. One value serves all runs."""


class Cell(NamedTuple):
    """One size and one amount of text."""

    width: int
    level: int  # steps, as a multiple of the plan's shortest run


def make_model(width: int) -> GPT:
    """Make an untrained GPT with d_model = width; heads are 16 wide, std ~ 1/sqrt(width)."""
    return GPT(
        GPTConfig(
            VOCAB_SIZE,
            d_model=width,
            n_layers=N_LAYERS,
            n_heads=max(1, width // 16),
            max_len=SEQ_LEN,
            init_std=INIT_GAIN / width**0.5,
        )
    )


@cache
def size(width: int) -> tuple[int, int, int]:
    """Return N without embeddings, N with them, and training FLOPs per character of a width."""
    with torch.device("meta"):
        model = make_model(width)
    total = sum(parameter.numel() for parameter in model.parameters())
    tables = sum(parameter.numel() for parameter in model.embeddings.parameters())
    return total - tables, total, TRAINING * gpt_flops(model, SEQ_LEN) // SEQ_LEN


@dataclass(frozen=True)
class Plan:
    """Sizes, amounts of text, seeds and rates."""

    shortest: int = 429  # steps; sixteen times as many read the training plays once
    levels: tuple[int, ...] = (1, 2, 4, 8, 16)
    widths: tuple[int, ...] = (16, 24, 32, 48, 64, 96, 128)
    ceiling: float = 2.7e12  # training FLOPs; no run of the fit takes more
    seeds: tuple[int, ...] = (0, 1, 2)
    tuning_levels: tuple[int, ...] = (1, 4)
    rates: tuple[float, ...] = (2e-3, 4e-3, 8e-3, 16e-3, 32e-3)
    n_windows: Mapping[str, int] = field(default_factory=lambda: {"validation": 1024, "test": 2048})
    """Unread windows on which losses are taken, the same for all runs."""
    held_out_width: int = 208
    n_resamples: int = 1000
    min_sizes: int = 4  # on a curve of equal compute, at least
    keep: bool = True

    @classmethod
    def quick(cls) -> "Plan":
        """Make everything tiny."""
        return cls(
            shortest=4, widths=(16, 24, 32, 48), levels=(1, 2, 4, 8), held_out_width=64,
            seeds=(0, 1), rates=(4e-3, 8e-3, 16e-3), tuning_levels=(1, 2), ceiling=3.6e9,
            n_windows={"validation": 32, "test": 64}, n_resamples=5, min_sizes=3, keep=False,
        )  # fmt: skip

    def recipe(self) -> dict[str, Any]:
        """List everything that decides what a run does; another value starts the study anew."""
        drop = ("n_resamples", "min_sizes", "keep")
        return {
            "seq_len": SEQ_LEN, "batch_size": BATCH_SIZE, "n_layers": N_LAYERS,
            "tuning_seed": TUNING_SEED, "init_gain": INIT_GAIN, "warmup_share": WARMUP_SHARE,
            "final_lr": FINAL_LR, "betas": BETAS,
            **{name: value for name, value in asdict(self).items() if name not in drop},
        }  # fmt: skip

    def n_steps(self, cell: Cell) -> int:
        """Return the number of updates of a cell."""
        return self.shortest * cell.level

    def n_characters(self, cell: Cell) -> int:
        """Return D: the characters that a run of the cell predicts, each once."""
        return self.n_steps(cell) * BATCH_SIZE * SEQ_LEN

    def flops(self, cell: Cell) -> int:
        """Count the FLOPs of training a cell, attention scores and head included."""
        return self.n_characters(cell) * size(cell.width)[2]

    def cells(self) -> list[Cell]:
        """List the grid."""
        return [Cell(width, level) for width in self.widths for level in self.levels]

    def fitted_cells(self) -> list[Cell]:
        """List the cells below the ceiling, cheap ones first."""
        below = [cell for cell in self.cells() if self.flops(cell) <= self.ceiling]
        return sorted(below, key=self.flops)

    def held_out(self) -> dict[Cell, tuple[int, ...]]:
        """List the predicted cells with their seeds: the grid above the ceiling, and the last.

        The last one is beyond all sizes of the fit, reads everything, and is the main prediction.
        """
        above = [cell for cell in self.cells() if self.flops(cell) > self.ceiling]
        seeds: dict[Cell, tuple[int, ...]] = dict.fromkeys(above, self.seeds[:1])
        return seeds | {Cell(self.held_out_width, self.levels[-1]): self.seeds}

    def tuned_cells(self) -> list[Cell]:
        """List the cells at which all learning rates are tried; the same effort for every size."""
        return [Cell(width, level) for level in self.tuning_levels for width in self.widths]

    def run_seconds(self, cell: Cell, seconds_per_step: float, n_windows: int) -> float:
        """Estimate a run: its steps, and reading the unread windows, a third of a step's work."""
        return seconds_per_step * (self.n_steps(cell) + n_windows / BATCH_SIZE / TRAINING)

    def table(self, step: Mapping[int, float]) -> list[dict[str, Any]]:
        """List for each size what is trained and how long it will take.

        `step` is seconds of a training step by width. Each row: sizes, amounts of text, runs, and
        CPU-minutes of the three parts.
        """
        rows = []
        for width in sorted({*self.widths, self.held_out_width}):
            parts: dict[str, Mapping[Cell, tuple[Any, ...]]] = {
                "tuning": dict.fromkeys(self.tuned_cells(), self.rates),
                "fit": dict.fromkeys(self.fitted_cells(), self.seeds),
                "held out": self.held_out(),
            }
            row: dict[str, Any] = {
                "width": width, "n": size(width)[0], "flops_per_character": size(width)[2],
                "ms_per_step": 1000 * step[width],
            }  # fmt: skip
            for name, cells in parts.items():
                read = self.n_windows["validation" if name == "tuning" else "test"]
                mine = {cell: runs for cell, runs in cells.items() if cell.width == width}
                row[f"{name}: levels"] = [cell.level for cell in mine]
                row[f"{name}: minutes"] = sum(
                    len(runs) * self.run_seconds(cell, step[width], read) / 60
                    for cell, runs in mine.items()
                )
            rows.append(row)
        return rows


class OnePass:
    """The causal loss on windows that are read once: it refuses to begin a second pass."""

    def __init__(self, ids: Tensor, generator: Generator) -> None:
        """Cut the text, int64 (L,), and shuffle the windows.

        Window i reads characters i T .. i T + T - 1 and predicts those one further, so that each is
        read once and predicted once.
        """
        self.windows = ids.unfold(0, SEQ_LEN + 1, SEQ_LEN)  # (n, T + 1), a view
        self.order = torch.randperm(len(self.windows), generator=generator)
        self.n_taken = 0

    def take(self) -> Tensor:
        """Return the next windows, int64 (B, T + 1).

        Raises:
            ValueError: Not enough unread windows are left.
        """
        end = self.n_taken + BATCH_SIZE
        if end > len(self.order):
            raise ValueError(f"expected at most {len(self.order)} windows in one pass, got {end}")
        rows = self.order[self.n_taken : end]
        self.n_taken = end
        return self.windows[rows]

    def __call__(self, model: nn.Module, generator: Generator) -> Tensor:
        """Return the mean loss of the next windows, nats per character; draws nothing."""
        inputs, targets = causal_targets(self.take())
        return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())


def step_seconds(width: int, n_timed: int = 8) -> float:
    """Measure the processor time of a training step, the median of a few."""
    model, generator = make_model(width), Generator().manual_seed(0)
    length = (2 + n_timed) * BATCH_SIZE * SEQ_LEN + 1
    loss = OnePass(torch.randint(VOCAB_SIZE, (length,), generator=generator), generator)
    clock, optim = StepClock(), OptimConfig(1e-3, betas=BETAS)
    fit(model, loss, optim, n_steps=2 + n_timed, generator=generator, hooks=[clock])
    return statistics.median(clock.seconds[2:])


class StepClock(Hook):
    """Note the processor time of each step."""

    def begin(self, run: Run) -> None:
        """Start the clock."""
        self.seconds: list[float] = []
        self.started = time.process_time()

    def after_step(self, run: Run) -> None:
        """Note a step and restart the clock."""
        self.seconds.append(time.process_time() - self.started)
        self.started = time.process_time()
