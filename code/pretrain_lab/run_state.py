# SPDX-License-Identifier: MIT
"""The state of a run on disk, so that a killed training resumes to the same losses.

One safetensors file a run, replaced as a whole: weights, moments and losses are its tensors;
evaluations and settings are JSON in its header, where `generators` says how the random choices go
on: "stored" means that the states of the generators are in the file (`pretrain.training.fit` with
`SaveRun`), "derived" that a seed is derived for each choice (the command `pretrain_lab.train`).

Weights that several processes share out (FSDP2, whose parameters are DTensors) are gathered, so
that one process can resume what eight began. Left out: files that each process writes its part of.
"""

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from pretrain.training import History, Hook, Run

MOMENTS = ("step", "exp_avg", "exp_avg_sq")
"""What AdamW keeps of each parameter."""
MUON_MOMENTS = ("momentum_buffer",)
"""What Muon keeps of each."""
LOSSES = "history.losses"


class CheckpointError(RuntimeError):
    """A checkpoint cannot be read, or belongs to another run."""


@dataclass
class RunState:
    """What the file of a run holds."""

    tensors: dict[str, Tensor]  # of `gather_state`, and states of generators, text of a stream
    history: History
    settings: dict[str, Any]  # what a resume must agree with; JSON values
    generators: str  # "stored" or "derived"
    place: Any = None  # in a stream, or in passes over examples; JSON values


@runtime_checkable
class InPasses(Protocol):
    """An objective, or a part of one, that takes its examples batch by batch, pass after pass."""

    left: list[list[int]]  # batches of this pass that are still to come


class SaveRun(Hook):
    """Save a run now and then, and go on from its file when it exists."""

    def __init__(self, path: str | Path, *, every: int = 100) -> None:
        """Name the file to save to, and to resume from when it exists.

        A resume is refused when the length, the text or the examples, or the settings of optimiser,
        model or objective differ; an objective that is a plain function is known by its name alone.
        The run is saved every so many steps, and after the last one.
        """
        if every < 1:
            raise ValueError(f"expected every >= 1, got {every}")
        self.path, self.every = Path(path), every
        self.settings: dict[str, Any] = {}

    def begin(self, run: Run) -> None:
        """Go on from the file, if there is one."""
        self.settings = settings_of(run)
        if not self.path.exists():
            return
        state = read_state(self.path, self.settings, generators="stored")
        names = ("generator", "global_generator")
        lost = [name for name in names if name not in state.tensors]
        if lost:
            raise CheckpointError(f"expected {lost} in {self.path}")
        parts, places = list(_in_passes(run.objective)), state.place or []
        if len(places) != len(parts):
            raise CheckpointError(
                f"expected in {self.path} what is left of {len(parts)} passes, got {len(places)}"
            )
        own, common = (state.tensors.pop(name) for name in names)
        restore_state(run.model, run.optimizer, state.tensors, self.path)
        for part, left in zip(parts, places, strict=True):
            part.left[:] = left
        run.generator.set_state(own)
        torch.set_rng_state(common)
        run.history = state.history

    def save(self, run: Run) -> None:
        """Save, when it is time."""
        if run.is_due(self.every):
            tensors = gather_state(run.model, run.optimizer)
            tensors["generator"] = run.generator.get_state()
            tensors["global_generator"] = torch.get_rng_state()
            places = [part.left for part in _in_passes(run.objective)]
            state = RunState(tensors, run.history, self.settings, "stored", places)
            write_state(self.path, state)


def _in_passes(objective: Any) -> Iterator[InPasses]:
    """Yield what has batches left: an objective itself, or those that it is a mixture of."""
    if isinstance(objective, InPasses):
        yield objective
    elif is_dataclass(objective):
        for one in fields(objective):
            yield from _in_passes(getattr(objective, one.name))
    elif isinstance(objective, Mapping):
        for part in objective.values():
            yield from _in_passes(part)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary name beside a file, and let it take the file's place when all went well.

    So that a reader of the file sees the old content or the new, and never half of one. A process
    that is killed meanwhile leaves its temporary file, whose name ends in .part, behind. The file
    need not exist yet; its folder is made. Who may read the file is what the umask says, even if
    the library that writes it allows its owner alone.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.touch()
        mode = part.stat().st_mode
        part.unlink()
        yield part
        if part.stat().st_mode != mode:
            part.chmod(mode)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def settings_of(run: Run) -> dict[str, Any]:
    """Collect what a resume must agree with: JSON values, texts and other tensors by their hash."""
    return {
        "n_steps": run.n_steps,
        "optim": _as_json(run.optim),
        "model": _as_json(_options_of(run.model)),
        "objective": _as_json(run.objective),
    }


def _options_of(model: Any) -> Any:
    """Give the configuration of a model; for a head on a backbone, both options; else None."""
    if hasattr(model, "config") or not hasattr(model, "head_options"):
        return getattr(model, "config", None)
    return {"backbone": model.backbone.config, **model.head_options()}


def _as_json(value: Any) -> Any:
    """Turn a setting into a JSON value; of a function or another object only the name is known."""
    if isinstance(value, Tensor):
        return hashlib.sha256(value.contiguous().cpu().numpy().tobytes()).hexdigest()[:16]
    if is_dataclass(value):
        parts = {one.name: _as_json(getattr(value, one.name)) for one in fields(value)}
        return {"kind": type(value).__name__, **parts}
    if isinstance(value, Mapping):
        return {str(name): _as_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        parts_of = [_as_json(part) for part in value]
        text = json.dumps(parts_of)
        return parts_of if len(text) < 200 else hashlib.sha256(text.encode()).hexdigest()[:16]
    if value is None or isinstance(value, str | int | float):
        return value
    return getattr(value, "__name__", type(value).__name__)


def check_settings(
    path: Path,
    saved: dict[str, Any],
    settings: dict[str, Any],
    otherwise: str = "",
    may_differ: Collection[str] = (),
) -> None:
    """Refuse to resume a run with other settings than its own, but for those that may differ.

    A tuple equals a list of the same values, for JSON has no tuples. The message names `path` and
    ends with `otherwise`: what else the reader can do.

    Raises:
        CheckpointError: They differ; the message names each with both values.
    """
    found = differences(saved, settings)
    refused = {name: values for name, values in found.items() if name not in may_differ}
    if refused:
        raise CheckpointError(
            f"expected the settings of the run saved in {path}, "
            f"but these differ (saved, now): {refused}{otherwise}"
        )


def differences(saved: dict[str, Any], settings: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """List the settings that differ by their paths, such as "optim.lr", with both values."""
    then, now = _flat(saved), _flat(json.loads(json.dumps(settings)))
    return {
        key: (then.get(key), now.get(key))
        for key in {**then, **now}
        if then.get(key) != now.get(key)
    }


def _flat(settings: dict[str, Any], start: str = "") -> dict[str, Any]:
    """Name every setting by its path: {"optim": {"lr": 1}} becomes {"optim.lr": 1}."""
    found = {}
    for name, value in settings.items():
        inner = (
            _flat(value, f"{start}{name}.") if isinstance(value, dict) else {start + name: value}
        )
        found.update(inner)
    return found


def gather_state(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Copy weights ("model.NAME") and moments ("optimizer.NAME.MOMENT") to the CPU, whole.

    Buffers count as weights. Where parameters are shared out, all processes must call this
    together.
    """
    tensors = {f"model.{name}": whole(value) for name, value in model.state_dict().items()}
    for name, parameter in model.named_parameters():
        for moment, value in optimizer.state.get(parameter, {}).items():
            tensors[f"optimizer.{name}.{moment}"] = whole(value)
    return tensors


def restore_state(
    model: nn.Module, optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor], path: Path
) -> None:
    """Put weights, buffers and moments of `gather_state` back, each process its part of them.

    The model has no wrappers and is changed in place; `path` is named in messages. A parameter of
    which no moment was saved had no gradient in any step, and the optimiser begins it anew.

    Raises:
        CheckpointError: Tensors are missing, extra or of another shape or dtype. Nothing was
            changed then.
    """
    weights = {f"model.{name}": value for name, value in model.state_dict().items()}
    wanted, kept = dict(weights), {}
    moments = _moments_of(optimizer)
    for name, parameter in model.named_parameters():
        names = {moment: f"optimizer.{name}.{moment}" for moment in moments[parameter]}
        if tensors.keys() & names.values():
            kept[parameter] = names
            step = torch.zeros((), device=parameter.device)
            wanted |= {full: step if k == "step" else parameter for k, full in names.items()}
    forms, saved = (
        {name: (value.dtype, value.shape) for name, value in given.items()}
        for given in (wanted, tensors)
    )
    wrong = sorted(k for k in forms.keys() | saved.keys() if forms.get(k) != saved.get(k))
    if wrong:
        raise CheckpointError(f"expected the state of this model in {path}, but differ: {wrong}")
    with torch.no_grad():
        for name, value in weights.items():
            value.copy_(_like(tensors[name], value))
    for parameter, names in kept.items():
        optimizer.state[parameter] = {k: _like(tensors[n], wanted[n]) for k, n in names.items()}


def _moments_of(optimizer: torch.optim.Optimizer) -> dict[Tensor, tuple[str, ...]]:
    """Name what an optimiser keeps of each parameter; only AdamW's groups have `betas`."""
    return {
        parameter: MOMENTS if "betas" in group else MUON_MOMENTS
        for group in optimizer.param_groups
        for parameter in group["params"]
    }


def whole(value: Tensor) -> Tensor:
    """Copy a tensor to the CPU; the parts of one that is shared out are brought together."""
    found: Tensor = getattr(value.detach(), "full_tensor", value.detach)()
    return found.cpu().clone().contiguous()


def _like(value: Tensor, target: Any) -> Tensor:
    """Copy a whole tensor to where another one is, shared out as that one."""
    value = value.to(device=target.device, copy=True)
    if not hasattr(target, "full_tensor"):
        return value
    from torch.distributed.tensor import distribute_tensor  # a second to import, rarely needed

    shared: Tensor = distribute_tensor(value, target.device_mesh, target.placements)
    return shared


def write_state(path: Path, state: RunState) -> None:
    """Write a run into one file, all or nothing: a kill leaves the old one."""
    header = {
        "generators": state.generators,
        "evaluations": state.history.evaluations,
        "settings": state.settings,
        "place": state.place,
    }
    losses = torch.tensor(state.history.losses, dtype=torch.float64)
    with replacing(path) as part:
        save_file({**state.tensors, LOSSES: losses}, part, metadata={"run": json.dumps(header)})


def read_state(
    path: Path,
    settings: dict[str, Any],
    *,
    generators: str,
    otherwise: str = "",
    may_differ: Collection[str] = (),
) -> RunState:
    """Read what `write_state` wrote; `otherwise` and `may_differ` are those of `check_settings`.

    Raises:
        CheckpointError: Damaged or foreign file, another kind of run, or other settings.
    """
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {})["run"])
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        evaluations = [(int(step), float(value)) for step, value in header["evaluations"]]
        history = History(tensors.pop(LOSSES).tolist(), evaluations)
        state = RunState(
            tensors, history, dict(header["settings"]), header["generators"], header["place"]
        )
    except (SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
        raise CheckpointError(
            f"expected a checkpoint of this book in {path}, but it cannot be read ({error}); "
            f"delete the file to start anew{otherwise}"
        ) from error
    if state.generators != generators:
        raise CheckpointError(
            f"expected a run with {generators} generators in {path}, got {state.generators} ones: "
            f"`fit` and the command pretrain_lab.train do not go on with each other's{otherwise}"
        )
    check_settings(path, state.settings, settings, otherwise, may_differ)
    return state
