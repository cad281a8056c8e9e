# SPDX-License-Identifier: MIT
"""Trained models on disk: weights as safetensors, the rest as JSON, nothing pickled.

In a quantised file a matrix NAME has dtype I8 and a companion `NAME.scale`, F32, one number for
each row: the value in row r is the whole number times scale[r]. All that has one axis or none
(biases, norms) is F32 as it stands. A fine-tuned model is described by its head and its backbone.
The state of a run is in `pretrain_lab.run_state`, adapters in `pretrain_lab.finetuning.adapters`.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from pretrain.bert import BERT, BERTConfig
from pretrain.gpt import GPT, GPTConfig
from pretrain.t5 import T5, T5Config
from pretrain_lab.finetuning.lora import lora_layers
from pretrain_lab.finetuning.next_sentence import NextSentenceBERT
from pretrain_lab.finetuning.sequence_classification import TextClassifier
from pretrain_lab.finetuning.token_classification import WordTagger
from pretrain_lab.paths import CHECKPOINTS, data_file
from pretrain_lab.run_state import CheckpointError, replacing
from pretrain_lab.tokenizers.characters import CharTokenizer
from pretrain_lab.tokenizers.subwords import SubwordTokenizer

Model = GPT | BERT | T5
FineTuned = TextClassifier | WordTagger | NextSentenceBERT
AnyTokenizer = CharTokenizer | SubwordTokenizer
Bits = int | Mapping[str, int]
"""Bits of a stored weight: of all matrices, or of those whose names begin so."""
MODELS: dict[str, tuple[type[Any], type[Any]]] = {
    "GPT": (GPT, GPTConfig), "BERT": (BERT, BERTConfig), "T5": (T5, T5Config)
}  # fmt: skip
"""Name in a header -> the class and its configuration."""
HEADS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (TextClassifier, WordTagger, NextSentenceBERT)
}
"""Name in a header -> the class that is made of a backbone and its `head_options`."""
RENAMED = {"dropout_prob": "dropout"}
"""Option in headers of older files -> its name now."""
GONE = ("embeddings.trained_len",)
"""Tensors of older files that no model has any more."""
SCALE = ".scale"
"""Ending of the name under which the scales of a matrix stand."""


class NoHead(nn.Module):
    """Stands where a checkpoint without masked-LM head leaves nothing to put."""

    def forward(self, x: Tensor, embedding_weight: Tensor) -> Tensor:
        """Refuse to score x (..., D): random logits would look like an answer."""
        raise RuntimeError(
            "expected a masked-LM head, but this checkpoint has none: "
            "use model.encode, or put a new MaskedLMHead in model.head and train it"
        )


def save_model(
    path: str | Path,
    model: Model | FineTuned,
    tokenizer: AnyTokenizer,
    card: dict[str, Any] | None = None,
    *,
    n_bits: Bits | None = None,
) -> None:
    """Write a model so that `load_model` can rebuild it without other knowledge.

    Weights, class, options, names of classes and vocabulary go to `path`, which ends in
    .safetensors; the card (data, seed, steps, metrics; JSON values) goes beside it with the ending
    .json. `n_bits`, 2 to 8, rounds the weights of matrices (see `rounded_state`): they take a
    quarter of the bytes, less when zipped, and are no longer quite the model's.

    Args:
        path: Name of the file.
        model: A GPT, BERT or T5, or one of HEADS on it: a classifier, a tagger.
        tokenizer: Its tokeniser.
        card: What to remember of it; None = nothing.
        n_bits: None = every weight as it is.

    Raises:
        ValueError: The name ends otherwise, the vocabulary is not the model's, the model has
            adapters, or `n_bits`.
        TypeError: Another kind of model or tokeniser, or the card holds what JSON cannot. Nothing
            was written then.
    """
    path = Path(path)
    metadata = {"pretrain": _describe(path, model, tokenizer)}
    card_text = json.dumps(card or {}, indent=2) + "\n"
    state = {name: value.contiguous() for name, value in model.state_dict().items()}
    state = rounded_state(state, n_bits) if n_bits else state
    with replacing(path) as weights_part, replacing(path.with_suffix(".json")) as card_part:
        save_file(state, weights_part, metadata=metadata)
        card_part.write_text(card_text, encoding="utf-8")


def save_quantized(
    path: str | Path, model: Model | FineTuned, tokenizer: AnyTokenizer, step: int | None = None
) -> None:
    """Write a model in a quarter of the bytes, so that `load_quantized` can rebuild it.

    `path` ends in .safetensors; `step` counts the updates so far, None = no snapshot of a training.

    Raises:
        ValueError: The name ends otherwise, the vocabulary is not the model's, the step is
            negative, or a weight is infinite or NaN. Nothing was written then.
    """
    path = Path(path)
    if step is not None and step < 0:
        raise ValueError(f"expected step >= 0, got {step}")
    metadata = {"pretrain": _describe(path, model, tokenizer)}
    if step is not None:
        metadata["step"] = str(step)
    stored = rounded_state(model.state_dict())
    with replacing(path) as part:
        save_file(stored, part, metadata=metadata)


def load_model(name: str | Path) -> tuple[Any, Any]:
    """Rebuild a saved GPT, BERT or T5, or one with a head, in evaluation mode, and its tokeniser.

    Of rounded weights the result has at most 255 values in a row.
    `name` stands in data/checkpoints ("gpt_chars"), or is the path of a .safetensors file.

    Raises:
        FileNotFoundError: No such file; the message lists the names that exist.
        CheckpointError: The file is damaged or does not hold such a model.
    """
    model, tokenizer, _ = _load(_find(name), "a model of this book", quantized=False)
    return model, tokenizer


def load_quantized(name: str | Path) -> tuple[Any, Any, int | None]:
    """Rebuild a model saved by `save_quantized`, in evaluation mode, its tokeniser and its step.

    The weights are floats of at most 255 values in a row; the step is None when the file names
    none. `name` is as for `load_model` ("time_machine/gpt_00050").

    Raises:
        FileNotFoundError: No such file.
        CheckpointError: The file is damaged or does not hold such a model.
    """
    return _load(_find(name), "a rounded model of this book", quantized=True)


def load_card(name: str) -> dict[str, Any]:
    """Read the card of a model in data/checkpoints ("gpt_chars"): data, seed, steps, metrics.

    Raises:
        FileNotFoundError: No such card.
    """
    card: dict[str, Any] = json.loads(data_file("checkpoints", f"{name}.json").read_text())
    return card


def quantize_rows(x: Tensor, n_bits: int = 8) -> tuple[Tensor, Tensor]:
    """Round each row to whole numbers, with 8 bits from -127 to 127, times a scale of its own.

    -128 is not used, so that both sides of 0 are alike.
    `x` is finite float32 or float64 (N, D): of shorter types a scale is so coarse that 127 could
    become 128, which int8 does not have.

    Returns:
        int8 (N, D) and scales, float (N,). Their product misses x by at most half a scale.

    Raises:
        ValueError: Another shape, no column, another type, or not 2 to 8 bits.

    Source: Jacob et al. 2018 (arXiv:1712.05877), section 2.1, without zero point.
    """
    if x.dim() != 2 or x.shape[1] < 1 or x.dtype not in (torch.float32, torch.float64):
        raise ValueError(
            f"expected float32 or float64 (N, D), D >= 1, got {x.dtype} of shape {tuple(x.shape)}"
        )
    if not 2 <= n_bits <= 8:
        raise ValueError(f"expected 2 to 8 bits, got {n_bits}")
    levels = 2 ** (n_bits - 1) - 1
    scales = x.abs().amax(dim=1).clamp(min=torch.finfo(x.dtype).tiny) / levels
    return (x / scales[:, None]).round().to(torch.int8), scales


def rounded_state(state: dict[str, Tensor], n_bits: Bits = 8) -> dict[str, Tensor]:
    """Round the matrices of a state: NAME → int8 (N, D), NAME.scale → float32 (N,); else float32.

    `n_bits` holds for all matrices, or for each beginning of a name its own, of which the longest
    that fits is taken: {"": 6, "blocks": 5}.

    Raises:
        ValueError: A value is infinite or NaN, a matrix has no column, not 2 to 8 bits, or a name
            that no beginning fits.
    """
    stored: dict[str, Tensor] = {}
    for name, value in state.items():
        value = value.detach().float()
        if not value.isfinite().all():
            raise ValueError(f"expected finite weights, got infinite or NaN in {name}")
        if value.dim() == 2:
            stored[name], stored[name + SCALE] = quantize_rows(value, _bits_of(name, n_bits))
        else:
            stored[name] = value.clone()
    return {name: value.contiguous() for name, value in stored.items()}


def _bits_of(name: str, n_bits: Bits) -> int:
    """Return how many bits a matrix gets."""
    if isinstance(n_bits, int):
        return n_bits
    fitting = [beginning for beginning in n_bits if name.startswith(beginning)]
    if not fitting:
        raise ValueError(f"expected bits for {name}, got them for {sorted(n_bits)} only")
    return n_bits[max(fitting, key=len)]


def float_state(stored: dict[str, Tensor]) -> dict[str, Tensor]:
    """Turn what `rounded_state` gives back into name → float32, without the scales.

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


def backbone_of(model: Any) -> Any:
    """Give the GPT, BERT or T5 that a model is or has below its head.

    Raises:
        TypeError: It is something else.
    """
    backbone = model.backbone if type(model) in HEADS.values() else model
    if type(backbone) not in [kind for kind, _ in MODELS.values()]:
        raise TypeError(
            f"expected a {', '.join(MODELS)}, alone or in a {', '.join(HEADS)}, "
            f"got {type(backbone).__name__}"
        )
    return backbone


def check_vocabulary(model: Any, tokenizer: AnyTokenizer) -> None:
    """Refuse a tokeniser that is none of ours, or not a model's.

    Raises:
        TypeError: Another kind of tokeniser.
        ValueError: Another number of ids.
    """
    if not isinstance(tokenizer, AnyTokenizer):
        raise TypeError(
            "expected a CharTokenizer or SubwordTokenizer as tokenizer, "
            f"got {type(tokenizer).__name__}"
        )
    if tokenizer.vocab_size != backbone_of(model).config.vocab_size:
        raise ValueError(
            f"expected a tokenizer of {backbone_of(model).config.vocab_size} ids, as the model "
            f"has, got {tokenizer.vocab_size}"
        )


def _describe(path: Path, model: Model | FineTuned, tokenizer: AnyTokenizer) -> str:
    """Make the header of a file, once its name, the model and the vocabulary are seen to fit."""
    if path.suffix != ".safetensors":
        raise ValueError(f"expected a file name ending in .safetensors, got {path.name}")
    backbone = backbone_of(model)
    check_vocabulary(backbone, tokenizer)
    if any(lora_layers(model)):
        raise ValueError(
            "expected a model without adapters: save them alone with save_adapters, or fold them "
            "into the weights with merge_lora(model)"
        )
    what: dict[str, Any] = {
        "model": type(backbone).__name__,
        "options": asdict(backbone.config),
        "tokenizer": tokenizer.to_dict(),
    }
    if isinstance(getattr(backbone, "head", None), NoHead):
        what["has_head"] = False
    if isinstance(model, FineTuned):
        what["head"] = {"kind": type(model).__name__, "options": model.head_options()}
    return json.dumps(what)


def _find(name: str | Path) -> Path:
    """Find the file of a name or a path."""
    path = Path(name)
    if path.suffix != ".safetensors":
        path = data_file("checkpoints", f"{name}.safetensors")
    if not path.exists():
        known = sorted(p.stem for p in CHECKPOINTS.glob("*.safetensors"))
        raise FileNotFoundError(f"expected one of {known} or a file, got {str(name)!r}")
    return path


def _load(path: Path, wanted: str, *, quantized: bool) -> tuple[Any, Any, int | None]:
    """Rebuild a model, its tokeniser and its step, None when the file names none."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            stored = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        what = json.loads(metadata["pretrain"])
        kind, config = MODELS[what["model"]]
        options = {RENAMED.get(key, key): value for key, value in what["options"].items()}
        model = kind(config(**options))
        if not what.get("has_head", True):
            model.head = NoHead()
        if "head" in what:
            model = HEADS[what["head"]["kind"]](model, **what["head"]["options"])
        tokenizer = _load_tokenizer(what["tokenizer"])
        step = int(metadata["step"]) if "step" in metadata else None
        is_rounded = quantized or any(value.dtype == torch.int8 for value in stored.values())
        state = float_state(stored) if is_rounded else stored
    except (SafetensorError, KeyError, ValueError, TypeError, OSError) as error:
        raise CheckpointError(
            f"expected {wanted} in {path}, but it cannot be read ({error})"
        ) from error
    try:
        model.load_state_dict({name: value for name, value in state.items() if name not in GONE})
    except RuntimeError as error:
        raise CheckpointError(f"tensors of {path} do not fit: {error}") from error
    return model.eval(), tokenizer, step


def _load_tokenizer(state: dict[str, Any]) -> AnyTokenizer:
    """Rebuild a tokeniser of either kind; only a list of characters makes one of characters."""
    if "characters" in state:
        return CharTokenizer.from_dict(state)
    return SubwordTokenizer.from_dict(state)
