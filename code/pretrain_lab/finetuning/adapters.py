# SPDX-License-Identifier: MIT
"""Adapters on disk: what fine-tuning with LoRA has trained, without the frozen weights below.

One safetensors file holds the thin matrices and all else that was trained, such as a new head. Its
header names the base and the SHA-256 of the base's frozen weights, so that adapters are never put
on a model that they were not trained with. Paper: Hu et al. 2022 (arXiv:2106.09685), section 4.2,
for tasks that are swapped by exchanging the adapters alone.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Generator, Tensor, nn

from pretrain_lab.checkpoints import HEADS, load_model
from pretrain_lab.finetuning.lora import LoRALinear, lora_layers, replace_module
from pretrain_lab.run_state import CheckpointError, replacing

_HEADER = "pretrain_adapters"


def save_adapters(path: str | Path, model: Any, *, base: str) -> None:
    """Write the adapters of a model, and all else in it that is trained, a new head above all.

    Args:
        path: Name of the file, ending in .safetensors.
        model: With layers of `add_lora`, alone or below a head of `checkpoints.HEADS`.
        base: What the model was before, as `load_model` finds it ("gpt_plays", or a file).

    Raises:
        ValueError: The name ends otherwise, or the model has no adapters, or merged ones. Nothing
            was written then.
    """
    path = Path(path)
    if path.suffix != ".safetensors":
        raise ValueError(f"expected a file name ending in .safetensors, got {path.name}")
    layers = {name: m for name, m in model.named_modules() if isinstance(m, LoRALinear)}
    if not layers:
        raise ValueError(
            f"expected a model with adapters (add_lora), got none in its {_kind(model)}"
        )
    if any(layer.merged for layer in layers.values()):
        raise ValueError("expected adapters beside their weights: call set_merged(model, False)")
    trained = {
        name: parameter.detach().cpu().contiguous()
        for name, parameter in model.named_parameters()
        if parameter.requires_grad or name.rpartition(".")[2] in ("lora_a", "lora_b")
    }
    has_head = type(model) in HEADS.values()
    below: Any = model.backbone if has_head else model
    what = {
        "base": base,
        "sha256": _hash(below, {_plain(name) for name in _below(trained, has_head)}),
        "head": {"kind": _kind(model), "options": model.head_options()} if has_head else None,
        "layers": {
            name: {"rank": layer.rank, "alpha": layer.alpha, "dropout": layer.dropout.p}
            for name, layer in layers.items()
        },
    }
    with replacing(path) as part:
        save_file(trained, part, metadata={_HEADER: json.dumps(what)})


def load_adapters(path: str | Path, base: nn.Module | str | Path | None = None) -> tuple[Any, Any]:
    """Put stored adapters on their base, and give the model, in evaluation mode, and a tokeniser.

    Args:
        path: A file of `save_adapters`.
        base: The model that they were trained with, which is changed in place; or its name or
            file; None = the name in the file of the adapters.

    Returns:
        The adapted model, below its head if one was stored. The tokeniser is None when `base` is
        a model.

    Raises:
        FileNotFoundError: No such file, or no such base.
        CheckpointError: The file is damaged or no file of adapters, or the base is another model
            or has adapters already. The base is as it was then.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"expected a file of save_adapters, got {str(path)!r}")
    what, trained = _read(path)
    tokenizer = None
    if base is None or isinstance(base, str | Path):
        base, tokenizer = load_model(what["base"] if base is None else base)
    assert isinstance(base, nn.Module)
    n_adapters = len(list(lora_layers(base)))
    if n_adapters:
        raise CheckpointError(
            f"expected a base without adapters for {path}, got a {_kind(base)} with {n_adapters}"
        )
    found = _hash(base, {_plain(name) for name in _below(trained, what["head"] is not None)})
    if found != what["sha256"]:
        raise CheckpointError(
            f"expected the base {what['base']!r} of {path}, whose frozen weights have SHA-256 "
            f"{what['sha256'][:12]}, got a {_kind(base)} with {found[:12]}"
        )
    model: nn.Module = base
    if what["head"] is not None:
        model = HEADS[what["head"]["kind"]](base, **what["head"]["options"])
    model.requires_grad_(False)
    for name, options in what["layers"].items():
        linear = model.get_submodule(name)
        assert isinstance(linear, nn.Linear)
        replace_module(model, name, LoRALinear(linear, **options, generator=Generator()))
    parameters = dict(model.named_parameters())
    with torch.no_grad():
        for name, value in trained.items():
            parameters[name].copy_(value)
            parameters[name].requires_grad_(True)
    return model.eval(), tokenizer


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read header and tensors of a file of adapters."""
    try:
        with safe_open(path, framework="pt") as file:
            what = json.loads((file.metadata() or {})[_HEADER])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if what["head"] is not None and what["head"]["kind"] not in HEADS:
            raise ValueError(f"unknown head {what['head']['kind']!r}")
        if not {"base", "sha256", "layers"} <= what.keys():
            raise ValueError("its header is not whole")
    except (SafetensorError, KeyError, ValueError, TypeError, OSError) as error:
        raise CheckpointError(
            f"expected adapters of save_adapters in {path}, but it cannot be read ({error})"
        ) from error
    return what, tensors


def _below(names: Any, has_head: bool) -> list[str]:
    """Choose the names of parameters of the base, as the base itself calls them."""
    if not has_head:
        return list(names)
    starts = ("backbone.", "bert.")  # the attribute that holds the base of a head
    return [name.split(".", 1)[1] for name in names if name.startswith(starts)]


def _plain(name: str) -> str:
    """Name a parameter as it was called before its layer was given an adapter."""
    return name.replace(".base.", ".")


def _hash(base: nn.Module, trained: set[str]) -> str:
    """Hash the names, shapes and numbers of all parameters of a base that are not trained."""
    digest = hashlib.sha256()
    frozen = {_plain(name): value for name, value in base.named_parameters()}
    for name in sorted(frozen.keys() - trained):
        if name.rpartition(".")[2] in ("lora_a", "lora_b"):
            continue
        value = frozen[name].detach().cpu().contiguous()
        digest.update(f"{name} {value.dtype} {tuple(value.shape)} ".encode())
        digest.update(value.flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _kind(model: nn.Module) -> str:
    """Name the class of a model."""
    return type(model).__name__
