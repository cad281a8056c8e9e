# SPDX-License-Identifier: MIT
"""Weights in one byte instead of four: symmetric int8, one scale for each row.

Papers: Jacob et al. 2018 (arXiv:1712.05877) for integer arithmetic in inference; Dettmers et al.
2022 (arXiv:2208.07339) for a scale per row of what goes in and of what it meets.

Implemented: rounding of rows; a linear layer and an embedding over such rows, for reading only;
optionally the linear layer rounds what it reads as well and multiplies whole numbers. Left out:
zero points, fewer than eight bits, outlier columns, training with rounding.

Snapshots of a training on disk: weights as int8 with one scale for each row.

Papers: as `pretrain_lab.compression.quantization`, whose rounding this is.

Implemented: save and load of a model of the book in a quarter of the bytes, with its tokeniser and
the step at which it was taken. Left out: the card of a finished model, and training on from here.

The format is safetensors. A matrix NAME has dtype I8 and a companion `NAME.scale`, F32, one number
for each row: the value in row r is the whole number times scale[r]. All that has one axis or none
(biases, norms, the longest sequence seen) is F32 as it stands. The header holds the "pretrain" of
`save_model`, and "step".
"""

import json
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from pretrain.bert import BERT
from pretrain.run_state import CheckpointError, replacing
from pretrain_lab.checkpoints import MODELS, AnyTokenizer, Model, _load_state, _load_tokenizer
from pretrain_lab.paths import data_file

LEVELS = 127
"""Whole numbers on each side of 0; -128 is not used, so that both sides are alike."""


def quantize_rows(x: Tensor) -> tuple[Tensor, Tensor]:
    """Round each row to whole numbers between -127 and 127, times a scale of its own.

    Args:
        x: float32 or float64 (N, D), finite. Of shorter types a scale is so coarse that 127 could
            become 128, which int8 does not have.

    Returns:
        int8 (N, D) and scales, float (N,). Their product misses x by at most half a scale.

    Raises:
        ValueError: Another shape, no column, or another type.

    Source: Jacob et al. 2018 (arXiv:1712.05877), section 2.1, without zero point.
    """
    if x.dim() != 2 or x.shape[1] < 1 or x.dtype not in (torch.float32, torch.float64):
        raise ValueError(
            f"expected float32 or float64 (N, D), D >= 1, got {x.dtype} of shape {tuple(x.shape)}"
        )
    scales = x.abs().amax(dim=1).clamp(min=torch.finfo(x.dtype).tiny) / LEVELS
    return (x / scales[:, None]).round().to(torch.int8), scales


class QuantizedLinear(nn.Module):
    """A linear layer whose matrix is stored as whole numbers."""

    weight: Tensor
    scales: Tensor
    bias: Tensor | None

    def __init__(self, layer: nn.Linear, *, round_inputs: bool) -> None:
        """Round the matrix of a layer; the layer itself stays as it is.

        Args:
            layer: Its bias is kept in float.
            round_inputs: Whether what comes in is rounded too, token by token, and the product
                taken in whole numbers; otherwise the matrix is turned back at every call.
        """
        super().__init__()
        weight, scales = quantize_rows(layer.weight.detach())
        self.register_buffer("weight", weight)  # (out, in)
        self.register_buffer("scales", scales)  # (out,)
        self.register_buffer("bias", None if layer.bias is None else layer.bias.detach().clone())
        self.round_inputs = round_inputs

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., in) to (..., out)."""
        if not self.round_inputs:
            return F.linear(x, self.weight * self.scales[:, None], self.bias)
        rows, row_scales = quantize_rows(x.flatten(end_dim=-2))
        sums = torch._int_mm(rows, self.weight.t())  # int32 (N, out): exact
        out = (sums * (row_scales[:, None] * self.scales)).unflatten(0, x.shape[:-1])
        return out if self.bias is None else out + self.bias


class QuantizedEmbedding(nn.Module):
    """A table of vectors that is stored as whole numbers."""

    weight: Tensor
    scales: Tensor

    def __init__(self, table: nn.Embedding) -> None:
        """Round the vectors of a table; the table itself stays as it is."""
        super().__init__()
        weight, scales = quantize_rows(table.weight.detach())
        self.register_buffer("weight", weight)  # (V, D)
        self.register_buffer("scales", scales)  # (V,)
        self.num_embeddings = table.num_embeddings

    def forward(self, ids: Tensor) -> Tensor:
        """Look up the vectors of ids (...), as floats (..., D)."""
        return self.weight[ids] * self.scales[ids][..., None]


def quantize_layers(model: nn.Module, *, round_inputs: bool = False) -> nn.Module:
    """Put int8 layers in the place of all linear layers and looked-up tables of a model.

    Tables whose rows are read directly, as learned positions are, stay in float.

    Args:
        model: Changed in place, and from then on for reading only.
        round_inputs: As in `QuantizedLinear`.

    Returns:
        The model.
    """
    for name, child in model.named_children():
        if isinstance(child, nn.Linear):
            setattr(model, name, QuantizedLinear(child, round_inputs=round_inputs))
        elif isinstance(child, nn.Embedding) and name != "position":
            setattr(model, name, QuantizedEmbedding(child))
        else:
            quantize_layers(child, round_inputs=round_inputs)
    return model


def stored_bytes(model: nn.Module) -> int:
    """Count the bytes of a model's parameters and stored buffers, shared ones once."""
    stored = {value.data_ptr(): value for value in model.state_dict(keep_vars=True).values()}
    return sum(value.numel() * value.element_size() for value in stored.values())


SCALE = ".scale"
"""Ending of the name under which the scales of a matrix stand."""


def save_quantized(
    path: str | Path, model: Model, tokenizer: AnyTokenizer, step: int | None = None
) -> None:
    """Write a model with rounded matrices, so that `load_quantized` can rebuild it.

    Args:
        path: File name, ending in .safetensors.
        model: Stays as it is.
        tokenizer: Saved with it.
        step: Updates done so far; None = not a snapshot of a training.

    Raises:
        ValueError: The name ends otherwise, the vocabulary is not the model's, the step is
            negative, or a weight is infinite or NaN. Nothing was written then.
    """
    path = Path(path)
    if path.suffix != ".safetensors":
        raise ValueError(f"expected a file name ending in .safetensors, got {path.name}")
    if tokenizer.vocab_size != model.options["vocab_size"]:
        raise ValueError(
            f"expected a tokenizer of {model.options['vocab_size']} ids, as the model has, "
            f"got {tokenizer.vocab_size}"
        )
    if step is not None and step < 0:
        raise ValueError(f"expected step >= 0, got {step}")
    description = {
        "model": type(model).__name__,
        "options": model.options,
        "tokenizer": tokenizer.to_dict(),
    }
    metadata = {"pretrain": json.dumps(description)}
    if step is not None:
        metadata["step"] = str(step)
    state = dict(model.state_dict())
    if isinstance(model, BERT) and model.options["tie_head"]:
        del state["head.output_weight"]  # the embedding matrix under another name
    with replacing(path) as part:
        save_file(rounded_state(state), part, metadata=metadata)


def rounded_state(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Round the matrices of a state; all else becomes float32.

    Args:
        state: Name → tensor. Whole numbers of no axis must be below 2^24, which float32 holds
            exactly.

    Returns:
        Name → int8 (N, D) and NAME.scale → float32 (N,) for each matrix, the others by their name.

    Raises:
        ValueError: A value is infinite or NaN, or a matrix has no column.
    """
    stored: dict[str, Tensor] = {}
    for name, value in state.items():
        value = value.detach().float()
        if not value.isfinite().all():
            raise ValueError(f"expected finite weights, got infinite or NaN in {name}")
        if value.dim() == 2:
            stored[name], stored[name + SCALE] = quantize_rows(value)
        else:
            stored[name] = value.clone()
    return {name: value.contiguous() for name, value in stored.items()}


def load_quantized(name: str | Path) -> tuple[Any, Any, int | None]:
    """Rebuild a model saved by `save_quantized`, in evaluation mode, and its tokeniser.

    Args:
        name: A name below data/checkpoints ("time_machine/gpt_00050"), or the path of a
            .safetensors file.

    Returns:
        The model (GPT, BERT or T5) with float weights of at most 255 values in a row, its
        tokeniser, and the step, None when the file names none.

    Raises:
        FileNotFoundError: No such file.
        CheckpointError: The file is damaged or does not hold such a model.
    """
    path = Path(name)
    if path.suffix != ".safetensors":
        path = data_file("checkpoints", f"{name}.safetensors")
    if not path.exists():
        raise FileNotFoundError(f"expected a file of save_quantized, got {str(path)!r}")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            stored = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        description = json.loads(metadata["pretrain"])
        model = MODELS[description["model"]](**description["options"])
        tokenizer = _load_tokenizer(description["tokenizer"])
        step = int(metadata["step"]) if "step" in metadata else None
        state = float_state(stored)
    except (SafetensorError, KeyError, ValueError, TypeError, OSError) as error:
        raise CheckpointError(
            f"expected a rounded model of this book in {path}, but it cannot be read ({error})"
        ) from error
    _load_state(model, state, path)
    return model.eval(), tokenizer, step


def float_state(stored: dict[str, Tensor]) -> dict[str, Tensor]:
    """Turn rounded matrices back into floats.

    Args:
        stored: As `rounded_state` gives it.

    Returns:
        Name → float32, without the scales.

    Raises:
        ValueError: A matrix without its scales, scales without their matrix, or scales that are
            not one finite float32 for each row.
    """
    state = {name: value for name, value in stored.items() if not name.endswith(SCALE)}
    whole = {name: value for name, value in state.items() if value.dtype == torch.int8}
    expected = {name + SCALE for name in whole}
    found = stored.keys() - state.keys()
    if found != expected:
        raise ValueError(
            f"expected scales for every int8 matrix: missing {sorted(expected - found)}, "
            f"without matrix {sorted(found - expected)}"
        )
    for name, value in whole.items():
        scale = stored[name + SCALE]
        if scale.shape != value.shape[:1] or scale.dtype != torch.float32 or value.dim() != 2:
            raise ValueError(
                f"expected {name} (N, D) and its scales float32 (N,), got shapes "
                f"{tuple(value.shape)} and {tuple(scale.shape)}, {scale.dtype}"
            )
        if not scale.isfinite().all():
            raise ValueError(f"expected finite scales of {name}, got infinite or NaN")
        state[name] = value * scale[:, None]
    return state
