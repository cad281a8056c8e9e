# SPDX-License-Identifier: MIT
"""What a run of `pretrain_lab.train` consists of, made from its configuration.

`accelerate` is imported here and only when a run is prepared: the rest of the package works without
it.
"""

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pretrain.objectives import Batch
from pretrain.training import make_optimizer
from pretrain_lab.checkpoints import AnyTokenizer, Model
from pretrain_lab.train.config import Config
from pretrain_lab.train.data import Windows
from pretrain_lab.train.log import tell
from pretrain_lab.train.objectives import OBJECTIVES, make_batch
from pretrain_lab.train.options import ConfigError
from pretrain_lab.train.seeds import derive_generator, derive_seed, micro_batches
from pretrain_lab.train.start import load_start
from pretrain_lab.train.text import Text, read_text
from pretrain_lab.train.tokenizer import pad_of


@dataclass
class Run:
    """A run, ready to take steps."""

    config: Config
    accelerator: Any  # `accelerate.Accelerator`: this process, its device, and the others
    text: Text
    model: nn.Module  # wrapped for several processes where there are
    optimizer: Any  # `accelerate`'s wrapper of AdamW, or of MuonWithAdamW
    parts: list[range]  # samples of a global batch for this process, in parts that fit into memory
    settings: dict[str, Any]  # all that decides the numbers; a resume must agree with it

    @property
    def bare_model(self) -> nn.Module:
        """The model without wrappers."""
        model: nn.Module = self.accelerator.unwrap_model(self.model)
        return model

    def batch(self, step: int, part: range) -> Batch:
        """Make one part, given as sample numbers, of the batch after so many steps."""
        first = step * self.config.training.batch_size
        return self._batch(self.text.windows, part, first, step)

    def evaluation_batch(self, number: int, part: range) -> Batch:
        """Make one part of a batch of the text held out; the same at every evaluation."""
        assert self.text.validation is not None  # the configuration was refused otherwise
        return self._batch(self.text.validation, part, 0, "evaluation", number)

    def _batch(self, windows: Windows, part: range, first: int, *name: int | str) -> Batch:
        """Make a batch on this process's device, each sample from a generator of its own."""
        samples = []
        for sample in part:
            generator = derive_generator(self.config.training.seed, *name, sample)
            samples.append((windows.read(first + sample, generator), generator))
        batch = make_batch(self.text.objective, samples, pad_id=pad_of(self.text.tokenizer))
        device = self.accelerator.device
        mask = None if batch.input_mask is None else batch.input_mask.to(device)
        return Batch(batch.inputs.to(device), batch.labels.to(device), mask)

    def total(self, value: Tensor | float) -> float:
        """Add up a number over all processes, which all get the sum."""
        if self.accelerator.num_processes == 1:
            return float(value)
        part = torch.as_tensor(value, dtype=torch.float64, device=self.accelerator.device)
        return float(self.accelerator.reduce(part, reduction="sum"))


def prepare(config: Config, *, cpu: bool = False) -> Run:
    """Make everything that a run needs; cpu leaves a GPU alone.

    Raises:
        ConfigError: The text, the vocabulary, the model or the processes are not as needed.
    """
    training, folder = config.training, Path(config.output.folder)
    accelerator = _make_accelerator(cpu)
    try:
        parts = micro_batches(
            training.batch_size,
            training.micro_batch_size or training.batch_size,
            n_processes=accelerator.num_processes,
            process=accelerator.process_index,
        )
    except ValueError as error:
        raise ConfigError(f"[training]: {error}") from error
    text = read_text(config)
    model = make_model(config, text.tokenizer)
    _check_space(folder, model, text)
    settings = {**config.settings(), **text.facts, "precision": accelerator.mixed_precision}
    _check_agreement(accelerator, settings)
    wrapped, optimizer = accelerator.prepare(model, make_optimizer(model, training.optim))
    return Run(config, accelerator, text, wrapped, optimizer, parts, settings)


def check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written, and make none yet.

    Raises:
        ConfigError: It is a file, or it or the folder that it would be made in cannot be written.
    """
    nearest = folder
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    if not nearest.is_dir():
        raise ConfigError(f"output.folder: expected a folder, but {nearest} is a file")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise ConfigError(f"output.folder: expected a folder to write to, but {nearest} is not one")


def _check_space(folder: Path, model: nn.Module, text: Text) -> None:
    """Refuse a disk that the files of a run do not fit on.

    These are a model, a checkpoint with two moments of every weight, the next one beside it until
    it takes its place, and the ids of the text.
    """
    there = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    weights = 4 * sum(p.numel() for p in model.parameters())
    ids = 0 if text.key is None or text.ids is None else 4 * len(text.ids.train)
    nearest = folder
    while not nearest.exists():
        nearest = nearest.parent
    need, free = 7 * weights + ids - there, shutil.disk_usage(nearest).free
    if need > free:
        raise ConfigError(
            f"output.folder: expected {need / 1e6:,.1f} MB of free disk for the files of this run "
            f"in {folder}, got {free / 1e6:,.1f} MB"
        )


def make_model(config: Config, tokenizer: AnyTokenizer) -> Model:
    """Make the model of a configuration on the CPU, with random weights or those to start from.

    Raises:
        ConfigError: Sizes or names that the model refuses.
    """
    spec = OBJECTIVES[config.objective.kind]
    torch.manual_seed(derive_seed(config.training.seed, "weights"))
    start = config.training.init_from and load_start(config.training.init_from)[0]
    if start and start.config.vocab_size != tokenizer.vocab_size:
        raise ConfigError(
            f"training.init_from: expected a vocabulary of {start.config.vocab_size} ids, as the "
            f"model has, got {tokenizer.vocab_size}"
        )
    try:
        model = spec.model(spec.config(tokenizer.vocab_size, **config.model.model_dump()))
        if start:
            model.load_state_dict(start.state_dict())
    except (ValueError, KeyError, RuntimeError) as error:
        raise ConfigError(f"[model]: {error}") from error
    return model


def _make_accelerator(cpu: bool) -> Any:
    """Join the processes, on a GPU where there is one, and refuse what cannot be right."""
    from accelerate import Accelerator

    cpu = cpu or not torch.accelerator.is_available()
    launched = "ACCELERATE_MIXED_PRECISION" in os.environ
    if launched and "MASTER_ADDR" in os.environ and "WORLD_SIZE" not in os.environ:
        tell(
            "one process: `accelerate launch --cpu` starts one, whatever --num_processes says; for "
            "two, take `torchrun --nproc_per_node 2 -m pretrain_lab.train …`, which use CPUs where "
            "there is no GPU. The losses are the same"
        )
    accelerator = Accelerator(cpu=cpu)
    if accelerator.mixed_precision not in ("no", "bf16"):
        raise ConfigError(f"expected mixed precision no or bf16, got {accelerator.mixed_precision}")
    kind = accelerator.distributed_type.name
    wants_fsdp = os.environ.get("ACCELERATE_USE_FSDP", "false").lower() == "true"
    if kind in ("DEEPSPEED", "MEGATRON_LM") or (kind == "FSDP" and not accelerator.is_fsdp2):
        raise ConfigError(f"expected plain processes or FSDP with fsdp_version 2, got {kind}")
    if wants_fsdp and kind != "FSDP":
        raise ConfigError(f"FSDP was asked for, but without GPUs accelerate gives {kind}")
    return accelerator


def _check_agreement(accelerator: Any, settings: dict[str, Any]) -> None:
    """Refuse processes that read different files or configurations."""
    own = derive_seed(0, json.dumps(settings)) >> 2  # fits into a signed number
    others = accelerator.gather(torch.tensor([own], device=accelerator.device))
    if not bool((others == own).all()):
        raise ConfigError("expected all processes to read the same text and configuration")
