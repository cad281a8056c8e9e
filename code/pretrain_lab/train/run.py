# SPDX-License-Identifier: MIT
"""What a run of `pretrain_lab.train` consists of, made from its configuration.

`accelerate` is imported here and only when a run is prepared: the rest of the package works without
it.
"""

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from pretrain.objectives import Batch, TextObjective
from pretrain.training import make_optimizer
from pretrain_lab.checkpoints import AnyTokenizer, Model
from pretrain_lab.train.config import Config
from pretrain_lab.train.data import (
    ConsecutiveWindows,
    DatasetRows,
    RandomWindows,
    StreamedWindows,
    Windows,
    all_rows,
    encode_all,
    find_files,
    row_encoder,
    validation_rows,
)
from pretrain_lab.train.objectives import OBJECTIVES, make_batch, make_objective
from pretrain_lab.train.options import ConfigError, DataOptions
from pretrain_lab.train.seeds import derive_generator, derive_seed, micro_batches
from pretrain_lab.train.tokenizer import first_characters, make_tokenizer


class Text(NamedTuple):
    """What a run reads, and how."""

    tokenizer: AnyTokenizer
    objective: TextObjective
    windows: Windows
    validation: RandomWindows | None  # of the text held out; None where nothing is evaluated
    facts: dict[str, Any]  # by which text and vocabulary are known again; JSON values


@dataclass
class Run:
    """A run, ready to take steps."""

    config: Config
    accelerator: Any  # `accelerate.Accelerator`: this process, its device, and the others
    text: Text
    model: nn.Module  # wrapped for several processes where there are
    optimizer: Any  # `accelerate`'s wrapper of AdamW
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
        batch = make_batch(self.text.objective, samples, pad_id=self.text.tokenizer.pad_id)
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
    accelerator = _make_accelerator(cpu)
    training = config.training
    try:
        parts = micro_batches(
            training.batch_size,
            training.micro_batch_size or training.batch_size,
            n_processes=accelerator.num_processes,
            process=accelerator.process_index,
        )
    except ValueError as error:
        raise ConfigError(f"[training]: {error}") from error
    text = _read_text(config)
    model = make_model(config, text.tokenizer)
    settings = {**config.settings(), **text.facts, "precision": accelerator.mixed_precision}
    _check_agreement(accelerator, settings)
    wrapped, optimizer = accelerator.prepare(model, make_optimizer(model, training.optim))
    return Run(config, accelerator, text, wrapped, optimizer, parts, settings)


def make_model(config: Config, tokenizer: AnyTokenizer) -> Model:
    """Make the model of a configuration on the CPU, its weights drawn from the seed.

    Raises:
        ConfigError: Sizes or names that the model refuses.
    """
    spec = OBJECTIVES[config.objective.kind]
    torch.manual_seed(derive_seed(config.training.seed, "weights"))
    try:
        return spec.model(spec.config(tokenizer.vocab_size, **config.model.model_dump()))
    except (ValueError, KeyError) as error:
        raise ConfigError(f"[model]: {error}") from error


def _make_accelerator(cpu: bool) -> Any:
    """Join the processes, on a GPU where there is one, and refuse what cannot be right."""
    from accelerate import Accelerator

    cpu = cpu or not torch.accelerator.is_available()
    launched = "ACCELERATE_MIXED_PRECISION" in os.environ
    if launched and "MASTER_ADDR" in os.environ and "WORLD_SIZE" not in os.environ:
        raise ConfigError(
            "several processes were asked for, but `accelerate launch --cpu` starts one, whatever "
            "--num_processes says. Take `torchrun --nproc_per_node 2 -m pretrain_lab.train …` or "
            "`accelerate launch --multi_gpu --num_processes 2 -m pretrain_lab.train …`; both use "
            "CPUs where there is no GPU"
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


def _read_text(config: Config) -> Text:
    """Make vocabulary, objective and windows."""
    data, options = config.data, config.tokenizer
    rows: Iterable[str] = DatasetRows(data) if data.stream else list(all_rows(data))
    sample = first_characters(rows, options.sample_size) if data.stream else rows
    with_sentinels = OBJECTIVES[config.objective.kind].needs_sentinels
    tokenizer = make_tokenizer(options, sample, with_sentinels=with_sentinels)
    objective = make_objective(config.objective, tokenizer, data.seq_len)
    windows, facts = _make_windows(data, rows, tokenizer, objective.window_len)
    facts["tokenizer.sha256"] = _digest(json.dumps(tokenizer.to_dict()).encode())
    validation = None
    if config.training.evaluate_every:
        held_out = encode_all(validation_rows(data), tokenizer.encode)
        facts["validation.sha256"] = _digest(held_out.numpy().tobytes())
        validation = RandomWindows(held_out, window_len=objective.window_len)
    return Text(tokenizer, objective, windows, validation, facts)


def _make_windows(
    data: DataOptions, rows: Iterable[str], tokenizer: AnyTokenizer, window_len: int
) -> tuple[Windows, dict[str, Any]]:
    """Make the windows of a text, and note by what the text is known again."""
    encode = row_encoder(tokenizer, data)
    sizes: dict[str, Any] = {"seq_len": data.seq_len, "window_len": window_len}
    facts: dict[str, Any]
    if data.stream:  # its content is not read yet
        facts = {"data.file_sizes": [path.stat().st_size for path in find_files(data.files)]}
        return StreamedWindows(lambda: DatasetRows(data), encode, **sizes), facts
    ids = encode_all(rows, encode)
    facts = {"data.sha256": _digest(ids.numpy().tobytes())}
    if data.order == "sequential":
        return ConsecutiveWindows(ids, **sizes), facts
    return RandomWindows(ids, window_len=window_len), facts


def _digest(content: bytes) -> str:
    """Give 16 hexadecimal digits by which a content is known again."""
    return hashlib.sha256(content).hexdigest()[:16]


def _check_agreement(accelerator: Any, settings: dict[str, Any]) -> None:
    """Refuse processes that read different files or configurations."""
    own = derive_seed(0, json.dumps(settings)) >> 2  # fits into a signed number
    others = accelerator.gather(torch.tensor([own], device=accelerator.device))
    if not bool((others == own).all()):
        raise ConfigError("expected all processes to read the same text and configuration")
