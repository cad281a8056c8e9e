# SPDX-License-Identifier: MIT
"""The runs that :mod:`soak` disturbs: how one is started, followed, killed and judged.

A run tells on its output when training begins and when a step is done; where it writes, it is seen
by its temporary files, whose names hold its process (`pretrain.paths.replacing`). Nothing in it
knows that it is watched.
"""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from chapters import ROOT

KINDS = ("causal", "masked", "spans")
"""Objectives: of a GPT, a BERT, a T5."""
WAYS = ("train", "fit")
"""The command `pretrain.train`, and the function `pretrain.training.fit`."""
N_STEPS, CHECKPOINT_EVERY, EVALUATE_EVERY = 60, 2, 15
LAST = "all steps are done"
"""What a run of `soak_fit` says after its last step."""
MODEL_SIZES: dict[str, Any] = {"d_model": 128, "n_layers": 2, "n_heads": 4, "dropout_prob": 0.1}
CHECKPOINT = "checkpoint.safetensors"
RESULTS = ("history.json", "model.safetensors", CHECKPOINT)
"""Files that must equal those of the undisturbed run, byte for byte."""
SECONDS = 300
"""After which a run that neither steps nor ends is given up."""
LOOK = 5e-4
"""Seconds between two looks for a temporary file."""


class SoakError(Exception):
    """A run did not end as it should; the message says which, and where it was killed."""


def write_text(path: Path) -> Path:
    """Write 400 lines of made-up words, so that there is something to learn.

    Args:
        path: The file.

    Returns:
        The same path.
    """
    draw = random.Random(0)
    words = ["".join(draw.choices("abcdefgh", k=draw.randint(1, 6))) for _ in range(60)]
    lines = (" ".join(draw.choices(words, k=draw.randint(1, 12))) for _ in range(400))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


class Attempt:
    """A run as one process: begun, or resumed where its folder has a checkpoint."""

    def __init__(self, way: str, kind: str, text: Path, folder: Path) -> None:
        """Start it.

        Args:
            way: One of `WAYS`.
            kind: One of `KINDS`.
            text: What it trains on.
            folder: For its files.
        """
        self.folder, self.name = folder, f"{way} {kind}"
        folder.mkdir(exist_ok=True)
        self.startup_seconds = 0.0
        """From the start to the first line that it says."""
        self.steps_seen = 0
        """Steps that this process has done."""
        self.is_last_step_done = False
        self._errors = folder.with_suffix(".errors")
        self._begin = time.perf_counter()
        with self._errors.open("w") as errors:
            self.process = subprocess.Popen(
                _command(way, kind, text, folder), cwd=ROOT, env=_environment(), text=True,
                stdout=subprocess.PIPE, stderr=errors,
            )  # fmt: skip
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def finish(self) -> None:
        """Wait until it has ended by itself.

        Raises:
            SoakError: It failed, or hangs.
        """
        try:
            code = self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise SoakError(f"{self.name}: not done after {SECONDS} s") from None
        self._reader.join()
        if code:
            said = self._errors.read_text(encoding="utf-8").strip()[-1500:]
            raise SoakError(f"{self.name}: ended with code {code}, saying:\n{said}")

    def kill(self, phase: str, draw: random.Random, startup: float) -> str | None:
        """Kill it at a moment of a phase.

        Args:
            phase: "start-up", "step", "writing" or "finishing".
            draw: Decides the moment.
            startup: Seconds that a start takes.

        Returns:
            The phase in which it was hit; None when it had ended before.

        Raises:
            SoakError: It failed by itself, or hangs.
        """
        if phase == "start-up":
            self._wait(lambda: False, draw.uniform(0, startup))
        elif phase == "finishing":
            self._wait(lambda: self.is_last_step_done)
            self._wait(lambda: False, draw.uniform(0, 0.05))
        else:
            steps = draw.randint(1, 7)
            self._wait(lambda: self.steps_seen >= steps)
            if phase == "writing":
                self._wait(lambda: CHECKPOINT in self.left_behind())
            else:
                self._wait(lambda: False, draw.uniform(0, 0.03))
        self.process.kill()
        if self.process.wait() != -signal.SIGKILL:
            self.finish()  # raises where it failed by itself
            return None
        self._reader.join()
        return self._phase()

    def left_behind(self) -> list[str]:
        """List the files that this process has half-written, by what they should become."""
        end = f".{self.process.pid}.part"
        names = (name for name in os.listdir(self.folder) if name.endswith(end))
        return [name.removesuffix(end) for name in names]

    def _phase(self) -> str:
        """Tell from what a killed process said and left behind where it was hit."""
        if CHECKPOINT in self.left_behind():
            return "writing"
        if self.is_last_step_done:
            return "finishing"
        return "step" if self.startup_seconds else "start-up"

    def _read(self) -> None:
        """Follow what the process says."""
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.startup_seconds = self.startup_seconds or time.perf_counter() - self._begin
                self.steps_seen += line.startswith("step")
                self.is_last_step_done |= line.startswith((f"step {N_STEPS}/{N_STEPS}", LAST))

    def _wait(self, ready: Callable[[], bool], seconds: float = SECONDS) -> None:
        """Wait for something, for the process's end, or for a time."""
        end = time.perf_counter() + seconds
        while self.process.poll() is None and not ready() and time.perf_counter() < end:
            time.sleep(LOOK)


def results(folder: Path) -> dict[str, str]:
    """Hash what a finished run left.

    Args:
        folder: Of the run.

    Returns:
        File name → SHA-256, or "missing".
    """
    files = {name: folder / name for name in RESULTS}
    return {
        name: hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else "missing"
        for name, file in files.items()
    }


def check_whole(folder: Path) -> None:
    """Read every file that a later run might read.

    Args:
        folder: Of a run that was killed.

    Raises:
        SoakError: One is half-written.
    """
    for file in sorted(folder.iterdir()):
        try:
            if file.suffix == ".json":
                json.loads(file.read_text(encoding="utf-8"))
            elif file.suffix == ".safetensors":
                with safe_open(file, framework="np") as content:
                    _ = [content.get_tensor(name) for name in content.keys()]  # noqa: SIM118
        except (ValueError, SafetensorError) as error:
            raise SoakError(f"a kill left {file.name} half-written: {error}") from error


def _command(way: str, kind: str, text: Path, folder: Path) -> list[str]:
    """Make the command of a run, which is the same whenever it is given."""
    if way == "fit":
        script = Path(__file__).with_name("soak_fit.py")
        return [sys.executable, str(script), kind, str(text), str(folder)]
    config = folder.with_suffix(".toml")
    lines = []
    for section, options in _config(kind, text, folder).items():
        lines += [f"[{section}]", *(f"{k} = {json.dumps(v)}" for k, v in options.items())]
    config.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [sys.executable, "-m", "pretrain.train", "--config", str(config), "--cpu"]


def _config(kind: str, text: Path, folder: Path) -> dict[str, dict[str, object]]:
    """Make a configuration of the command; JSON values are TOML values here."""
    learned = {"kind": "bpe", "vocab_size": 150, "n_sentinels": 6}
    return {
        "data": {"files": [str(text)], "validation_files": [str(text)], "seq_len": 24},
        "tokenizer": {"kind": "characters"} if kind == "causal" else learned,
        "model": MODEL_SIZES,
        "objective": {"kind": kind},
        "training": {
            "n_steps": N_STEPS, "batch_size": 8, "lr": 1e-3, "n_warmup": 3,
            "relative_lr": kind == "spans", "evaluate_every": EVALUATE_EVERY,
            "evaluation_batches": 1,
        },
        "output": {"folder": str(folder), "checkpoint_every": CHECKPOINT_EVERY, "log_every": 1},
    }  # fmt: skip


def _environment() -> dict[str, str]:
    """Make the environment of a run: one thread, no network, nothing held back in a buffer."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1"}
