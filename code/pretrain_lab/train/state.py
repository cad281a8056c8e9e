# SPDX-License-Identifier: MIT
"""The state of a run of `pretrain_lab.train` on disk, whole, whoever trained it.

Implemented: one safetensors file, replaced as a whole: weights, buffers, moments and losses are its
tensors; step, evaluations, settings and the place in a stream are JSON in its header. Nothing is
pickled, and there is no state of a generator: `pretrain_lab.train.seeds` makes each from its key.
Weights that several processes share out (FSDP2 of torch, whose parameters are DTensors) are
gathered, so that one process can resume what eight began. Left out: files that each process writes
its part of, which models that do not fit into one machine's memory would need.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from pretrain.run_state import MOMENTS, CheckpointError, History, check_settings, replacing

HELD = "stream.held"
LOSSES = "history.losses"


@dataclass
class RunState:
    """Where a run stands, apart from the weights."""

    history: History = field(default_factory=History)
    """Its losses, one a step taken, and its evaluations."""
    place: dict[str, Any] | None = None
    """Place in a stream, as JSON values; None where there is no stream."""
    held: Tensor | None = None
    """int64 (n,), tokens that were read from the stream and not used up."""


def gather(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Copy weights, buffers and moments to the CPU, whole.

    Where parameters are shared out, all processes must call this together.

    Args:
        model: Without wrappers.
        optimizer: Holds the moments.

    Returns:
        Tensors by name: "model." and the name in the model, "optimizer.", the parameter's name and
        what it is.
    """
    tensors = {f"model.{k}": _whole(v) for k, v in model.state_dict().items()}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"optimizer.{name}.{key}"] = _whole(value)
    return tensors


def write_run(
    path: Path, tensors: dict[str, Tensor], state: RunState, settings: dict[str, Any]
) -> None:
    """Write all that a resume needs into one file, all or nothing.

    The file is written beside and then renamed, so a kill leaves the old one.

    Args:
        path: The file.
        tensors: From `gather`.
        state: Where the run stands.
        settings: What a resume must agree with; JSON values.
    """
    losses = torch.tensor(state.history.losses, dtype=torch.float64)
    extra = {LOSSES: losses} | ({} if state.held is None else {HELD: state.held.contiguous()})
    evaluations = state.history.evaluations
    header = {"evaluations": evaluations, "place": state.place, "settings": settings}
    with replacing(path) as part:
        save_file({**tensors, **extra}, part, metadata={"train": json.dumps(header)})


def read_run(path: Path, settings: dict[str, Any]) -> tuple[dict[str, Tensor], RunState]:
    """Read what `write_run` wrote; nothing is changed yet.

    Args:
        path: The file.
        settings: Must equal those of the saved run.

    Returns:
        The tensors, and where the run stood.

    Raises:
        CheckpointError: Damaged or foreign file, or other settings. The file is left as it is.
    """
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {})["train"])
            saved: dict[str, Any] = dict(header["settings"])
            evaluations = [(int(step), float(value)) for step, value in header["evaluations"]]
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
            losses = tensors.pop(LOSSES).tolist()
            place, held = header["place"], tensors.pop(HELD, None)
    except (SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
        raise CheckpointError(
            f"expected a checkpoint of pretrain_lab.train in {path}, but it cannot be read "
            f"({error}); delete it to start anew, or choose another output.folder"
        ) from error
    check_settings(path, saved, settings, "; choose another output.folder")
    return tensors, RunState(History(losses, evaluations), place, held)


def restore(
    model: nn.Module, optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor], path: Path
) -> None:
    """Put weights, buffers and moments back, each process its part of them.

    Args:
        model: Without wrappers; changed in place.
        optimizer: Receives the moments.
        tensors: From `read_run`.
        path: Where they came from, for messages.

    Raises:
        CheckpointError: Tensors are missing, extra or of another shape. Nothing was changed then.
    """
    wanted = {f"model.{k}": v for k, v in model.state_dict().items()}
    parameters = dict(model.named_parameters())
    for name, parameter in parameters.items():
        wanted |= {f"optimizer.{name}.{key}": parameter for key in MOMENTS if key != "step"}
        wanted[f"optimizer.{name}.step"] = torch.zeros((), device=parameter.device)
    wrong = sorted(
        k
        for k in wanted.keys() | tensors.keys()
        if k not in wanted or k not in tensors or wanted[k].shape != tensors[k].shape
    )
    if wrong:
        raise CheckpointError(f"expected the state of this model in {path}, but differ: {wrong}")
    with torch.no_grad():
        for name, value in model.state_dict().items():
            value.copy_(_like(tensors[f"model.{name}"], value))
    for name, parameter in parameters.items():
        kept = {k: f"optimizer.{name}.{k}" for k in MOMENTS}
        optimizer.state[parameter] = {k: _like(tensors[n], wanted[n]) for k, n in kept.items()}


def _whole(value: Tensor) -> Tensor:
    """Copy a tensor to the CPU; the parts of one that is shared out are brought together."""
    whole: Tensor = getattr(value.detach(), "full_tensor", value.detach)()
    return whole.cpu().clone().contiguous()


def _like(value: Tensor, target: Any) -> Tensor:
    """Copy a whole tensor to where another one is, shared out as that one."""
    value = value.to(device=target.device, dtype=target.dtype, copy=True)
    if not hasattr(target, "full_tensor"):
        return value
    from torch.distributed.tensor import distribute_tensor  # a second to import, rarely needed

    shared: Tensor = distribute_tensor(value, target.device_mesh, target.placements)
    return shared
