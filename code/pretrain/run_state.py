# SPDX-License-Identifier: MIT
"""The state of a run on disk, so that a killed training resumes to the same losses.

Implemented: one safetensors file a run, replaced as a whole. Tensors, moments and generator states
are its tensors; the history and the settings are JSON in its header. Nothing is pickled.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Generator, Tensor, nn


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary name beside a file, and let it take the file's place when all went well.

    So that a reader of the file sees the old content or the new, and never half of one. A process
    that is killed meanwhile leaves its temporary file, whose name ends in .part, behind.

    Args:
        path: The file, which may not exist yet; its folder is made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


@dataclass
class History:
    """What a run left behind; equal after a resume to what it would have been without."""

    losses: list[float] = field(default_factory=list)
    """Training loss of each step, in nats per predicted token, before its update."""
    evaluations: list[tuple[int, float]] = field(default_factory=list)
    """(steps done, value that `evaluate` returned)."""


MOMENTS = ("step", "exp_avg", "exp_avg_sq")
"""What AdamW keeps of each parameter."""


class CheckpointError(RuntimeError):
    """A checkpoint cannot be read, or belongs to another run."""


def save_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    generator: Generator,
    history: History,
    settings: dict[str, Any],
) -> None:
    """Write everything that a resume needs into one safetensors file, all or nothing.

    The file is written beside and then renamed, so a kill leaves the old one.

    Args:
        path: The file.
        model: Its parameters and buffers are saved.
        optimizer: Its moments are saved, under the names of the parameters.
        generator: Its state is saved, and that of torch's global generator.
        history: What happened so far.
        settings: What a resume must agree with.
    """
    tensors: dict[str, Tensor] = {f"model.{k}": v for k, v in model.state_dict().items()}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state[parameter].items():
            tensors[f"optimizer.{name}.{key}"] = value
    tensors["generator"] = generator.get_state()
    tensors["global_generator"] = torch.get_rng_state()
    header = json.dumps({"history": asdict(history), "settings": settings})
    copies = {k: v.detach().clone().contiguous() for k, v in tensors.items()}
    with replacing(path) as part:
        save_file(copies, part, metadata={"run": header})


def check_settings(
    path: Path, saved: dict[str, Any], settings: dict[str, Any], otherwise: str = ""
) -> None:
    """Refuse to resume a run with other settings than its own.

    Args:
        path: Where the settings were saved, for the message.
        saved: The settings of the run; JSON values.
        settings: Those of now. A tuple equals a list of the same values, for JSON has no tuples.
        otherwise: What else the reader can do, the message's end.

    Raises:
        CheckpointError: They differ; the message names each with both values.
    """
    now = json.loads(json.dumps(settings))
    differing = {
        key: (saved.get(key), now.get(key))
        for key in {**saved, **now}
        if saved.get(key) != now.get(key)
    }
    if differing:
        raise CheckpointError(
            f"expected the settings of the run saved in {path}, "
            f"but these differ (saved, now): {differing}{otherwise}"
        )


def load_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    generator: Generator,
    settings: dict[str, Any],
) -> History:
    """Put a run back to where its checkpoint was written.

    Args:
        path: A file written by `save_checkpoint`.
        model: Receives the parameters and buffers.
        optimizer: Receives the moments.
        generator: Receives its state; torch's global generator does too.
        settings: Must equal those of the saved run.

    Returns:
        The history so far.

    Raises:
        CheckpointError: Damaged file, other settings or another model. Nothing was changed then.
    """
    try:
        with safe_open(path, framework="pt") as file:
            run = json.loads((file.metadata() or {})["run"])
            saved_settings = run["settings"]
            losses, evaluations = run["history"]["losses"], run["history"]["evaluations"]
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
        raise CheckpointError(
            f"expected a checkpoint of this book in {path}, but it cannot be read ({error}); "
            "delete the file to start anew"
        ) from error
    check_settings(path, saved_settings, settings)
    state = {k.removeprefix("model."): v for k, v in tensors.items() if k.startswith("model.")}
    own = {k: (v.dtype, v.shape) for k, v in model.state_dict().items()}
    saved = {k: (v.dtype, v.shape) for k, v in state.items()}
    if own != saved:
        wrong = sorted(k for k in own.keys() | saved.keys() if own.get(k) != saved.get(k))
        raise CheckpointError(f"expected the model saved in {path}, but tensors differ: {wrong}")
    moments = {
        name: {key: tensors.get(f"optimizer.{name}.{key}") for key in MOMENTS}
        for name, _ in model.named_parameters()
    }
    lost = [f"{n}.{k}" for n, parts in moments.items() for k, v in parts.items() if v is None]
    lost += [k for k in ("generator", "global_generator") if k not in tensors]
    if lost:
        raise CheckpointError(f"expected the whole state of a run in {path}, but it lacks {lost}")
    model.load_state_dict(state)
    for name, parameter in model.named_parameters():
        optimizer.state[parameter] = moments[name]
    generator.set_state(tensors["generator"])
    torch.set_rng_state(tensors["global_generator"])
    return History(losses, [(int(s), float(v)) for s, v in evaluations])
