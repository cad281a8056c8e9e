# SPDX-License-Identifier: MIT
"""Tiny runs of pretrain_lab.train for its tests, also in processes of their own."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from accelerate import Accelerator
from accelerate.state import AcceleratorState, DistributedType, PartialState
from accelerate.utils import FullyShardedDataParallelPlugin
from torch.distributed.fsdp import FSDPModule

from pretrain.t5 import T5
from pretrain_lab.paths import ROOT
from pretrain_lab.train import loop as train_loop
from pretrain_lab.train import run as train_setup
from pretrain_lab.train.config import Config, check_config
from pretrain_lab.train.objectives import OBJECTIVES

N_STEPS = 12


def write_text(path: Path, n_lines: int = 400, seed: int = 0) -> Path:
    """Write lines of made-up words, so that there is something to learn."""
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcdefgh", k=draw.randint(1, 6))) for _ in range(60)]
    lines = (" ".join(draw.choices(words, k=draw.randint(0, 12))) for _ in range(n_lines))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def content(folder: Path, kind: str = "causal", **changes: Any) -> dict[str, Any]:
    """Give the content of a configuration; changes such as training__lr=1 replace options."""
    text = folder / "text.txt"
    if not text.exists():
        write_text(text)
    learned = {"kind": "bpe", "vocab_size": 150, "n_sentinels": 6}
    made: dict[str, Any] = {
        "data": {"files": [str(text)], "seq_len": 24, "validation_files": [str(text)]},
        "tokenizer": {"kind": "characters"} if kind == "causal" else learned,
        "model": {"d_model": 16, "n_layers": 2, "n_heads": 2, "dropout": 0.1},
        "objective": {"kind": kind},
        "training": {
            "n_steps": N_STEPS, "batch_size": 8, "micro_batch_size": 2, "lr": 1e-2, "n_warmup": 3,
            "evaluate_every": 5, "evaluation_batches": 1,
        },
        "output": {"folder": str(folder / kind), "checkpoint_every": 4, "log_every": 100},
    }  # fmt: skip
    if kind == "spans":
        made["objective"]["random_roll"] = True  # rows of different lengths
    if OBJECTIVES[kind].model is T5:
        made["training"]["relative_lr"] = True
    for name, value in changes.items():
        section, _, option = name.partition("__")
        made[section][option] = value
    return {k: {o: v for o, v in s.items() if v is not None} for k, s in made.items()}


def config(folder: Path, kind: str = "causal", **changes: Any) -> Config:
    """Give a checked configuration."""
    return check_config(content(folder, kind, **changes))


def write_toml(path: Path, made: dict[str, Any]) -> Path:
    """Write a configuration; JSON values are TOML values here."""
    lines = []
    for section, options in made.items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in options.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def history(folder: Path) -> dict[str, Any]:
    """Read the losses that a run left."""
    found: dict[str, Any] = json.loads((folder / "history.json").read_text())
    return found


def launch(*command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command of this environment with one thread, warnings as errors in our module."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    paths = [str(Path(__file__).parent), str(ROOT / "code"), os.environ.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, env=environment, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


def train_until(made: Config, step: int) -> None:
    """Train, and stop before a step as if somebody had pressed the keys for it."""
    take_step = train_loop.take_step

    def stopping(run: Any, number: int) -> float:
        """Take the step, or stop."""
        if number == step:
            raise KeyboardInterrupt
        return take_step(run, number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train_loop, "take_step", stopping)
        with pytest.raises(KeyboardInterrupt):
            train_loop.train(made, cpu=True)


def die(folder: Path, step: int) -> None:
    """Start a run and die in a step of it without any clean-up."""
    take_step = train_loop.take_step

    def dying(run: Any, number: int) -> float:
        """Die in the middle: the gradients are there, the update is not."""
        if number == step:
            run.optimizer.step = lambda: os.kill(os.getpid(), signal.SIGKILL)
        return take_step(run, number)

    train_loop.take_step = dying
    train_loop.train(config(folder, "masked"), cpu=True)


def all_objectives(folder: Path) -> None:
    """Run all objectives with two processes: plain ones, then with weights shared out."""
    Accelerator.end_training = lambda self: None  # the next run needs the same processes
    for kind in OBJECTIVES:
        train_loop.train(config(folder, kind, output__folder=str(folder / f"{kind}_2")), cpu=True)
    streamed = {"data__stream": True, "output__folder": str(folder / "streamed_2")}
    train_loop.train(config(folder, "spans", **streamed), cpu=True)
    for kind in OBJECTIVES:
        with pytest.MonkeyPatch.context() as patch:
            share_out(patch, 4 if OBJECTIVES[kind].model is T5 else 2)
            made = config(folder, kind, output__folder=str(folder / f"{kind}_fsdp"))
            train_until(made, 6)
            train_loop.train(made, cpu=True)  # from step 4 on


def share_out(patch: Any, n_blocks: int) -> None:
    """Make accelerate use FSDP, which it offers on GPUs alone, on CPUs, by our example file."""
    example = (ROOT / "experiments" / "configs" / "fsdp.yaml").read_text()
    said = {k.removeprefix("fsdp_"): v for k, v in yaml.safe_load(example)["fsdp_config"].items()}
    plugin = FullyShardedDataParallelPlugin(
        fsdp_version=said["version"],
        auto_wrap_policy=said["auto_wrap_policy"].lower(),
        transformer_cls_names_to_wrap=[said["transformer_layer_cls_to_wrap"]],
        reshard_after_forward=said["reshard_after_forward"],
        cpu_ram_efficient_loading=said["cpu_ram_efficient_loading"],
        cpu_offload=said["offload_params"],
        state_dict_type=said["state_dict_type"],
    )
    prepare = train_loop.prepare

    def make_accelerator(cpu: bool) -> Accelerator:
        """Replace what accelerate found out about the processes."""
        accelerator = Accelerator(cpu=cpu, fsdp_plugin=plugin)
        for state in (AcceleratorState, PartialState):
            state._shared_state["distributed_type"] = DistributedType.FSDP
        AcceleratorState._shared_state["fsdp_plugin"] = plugin
        return accelerator

    def checked_prepare(*arguments: Any, **options: Any) -> Any:
        """Make sure that the weights are shared out indeed, each block apart."""
        run = prepare(*arguments, **options)
        parts = [type(m).__name__ for m in run.model.modules() if isinstance(m, FSDPModule)]
        assert parts.count("FSDPBlock") == n_blocks, parts
        matrix = max(run.model.parameters(), key=lambda p: p.numel())
        assert matrix.to_local().numel() * 2 == matrix.numel()
        return run

    patch.setattr(train_setup, "_make_accelerator", make_accelerator)
    patch.setattr(train_loop, "prepare", checked_prepare)


if __name__ == "__main__":
    if sys.argv[1] == "die":
        die(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        all_objectives(Path(sys.argv[2]))
