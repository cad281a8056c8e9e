# SPDX-License-Identifier: MIT
"""Trained models on disk: weights as safetensors, the rest as JSON, nothing pickled.

Implemented: save and load of a model with its tokeniser, and the card that says how it was made.
Left out: the state of a run, which `pretrain.run_state` keeps.
"""

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from pretrain.bert import BERT
from pretrain.gpt import GPT
from pretrain.run_state import CheckpointError, replacing
from pretrain.t5 import T5
from pretrain_lab.paths import CHECKPOINTS, data_file
from pretrain_lab.tokenizers.characters import CharTokenizer
from pretrain_lab.tokenizers.subwords import SubwordTokenizer

Model = GPT | BERT | T5
AnyTokenizer = CharTokenizer | SubwordTokenizer
MODELS: dict[str, type[Model]] = {"GPT": GPT, "BERT": BERT, "T5": T5}


def save_model(
    path: str | Path, model: Model, tokenizer: AnyTokenizer, card: dict[str, Any]
) -> None:
    """Write a model so that `load_model` can rebuild it without other knowledge.

    The weights go to `path`; what the model is (class, options, vocabulary) stands in the
    header of the same file; the card goes beside it with the ending .json.

    Args:
        path: File name, ending in .safetensors.
        model: Parameters and buffers are saved.
        tokenizer: Saved with it, for weights mean nothing without their vocabulary.
        card: Data, seed, steps, metrics; JSON values.

    Raises:
        ValueError: The name ends otherwise, or the vocabulary is not the model's.
        TypeError: The card holds what JSON cannot; nothing was written then.
    """
    path = Path(path)
    if path.suffix != ".safetensors":
        raise ValueError(f"expected a file name ending in .safetensors, got {path.name}")
    if tokenizer.vocab_size != model.options["vocab_size"]:
        raise ValueError(
            f"expected a tokenizer of {model.options['vocab_size']} ids, as the model has, "
            f"got {tokenizer.vocab_size}"
        )
    description = {
        "model": type(model).__name__,
        "options": model.options,
        "tokenizer": tokenizer.to_dict(),
    }
    card_text = json.dumps(card, indent=2) + "\n"
    state = {name: value.contiguous() for name, value in model.state_dict().items()}
    if isinstance(model, BERT) and model.options["tie_head"]:
        del state["head.output_weight"]  # the embedding matrix under another name
    with replacing(path) as weights_part, replacing(path.with_suffix(".json")) as card_part:
        save_file(state, weights_part, metadata={"pretrain": json.dumps(description)})
        card_part.write_text(card_text, encoding="utf-8")


def load_model(name: str | Path) -> tuple[Any, Any]:
    """Rebuild a saved model, in evaluation mode, and its tokeniser.

    Args:
        name: A name in data/checkpoints ("gpt_chars"), or the path of a .safetensors file.

    Returns:
        The model (GPT, BERT or T5) and its tokeniser, of characters or of subwords.

    Raises:
        FileNotFoundError: No such file; the message lists the names that exist.
        CheckpointError: The file is damaged or does not hold such a model.
    """
    path = Path(name)
    if path.suffix != ".safetensors":
        path = data_file("checkpoints", f"{name}.safetensors")
    if not path.exists():
        known = sorted(p.stem for p in CHECKPOINTS.glob("*.safetensors"))
        raise FileNotFoundError(f"expected one of {known} or a file, got {str(name)!r}")
    try:
        with safe_open(path, framework="pt") as file:
            description = json.loads((file.metadata() or {})["pretrain"])
            state = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        model = MODELS[description["model"]](**description["options"])
        tokenizer = _load_tokenizer(description["tokenizer"])
    except (SafetensorError, KeyError, ValueError, TypeError, OSError) as error:
        raise CheckpointError(
            f"expected a model of this book in {path}, but it cannot be read ({error})"
        ) from error
    _load_state(model, state, path)
    return model.eval(), tokenizer


def load_card(name: str) -> dict[str, Any]:
    """Read the card of a model in data/checkpoints.

    Args:
        name: The model's name, such as "gpt_chars".

    Returns:
        Data, seed, steps, metrics.

    Raises:
        FileNotFoundError: No such card.
    """
    card: dict[str, Any] = json.loads(data_file("checkpoints", f"{name}.json").read_text())
    return card


def _load_tokenizer(state: dict[str, Any]) -> AnyTokenizer:
    """Rebuild a tokeniser of either kind; only a list of characters makes one of characters."""
    if "characters" in state:
        return CharTokenizer.from_dict(state)
    return SubwordTokenizer.from_dict(state)


def _load_state(model: Model, state: dict[str, Any], path: Path) -> None:
    """Copy the tensors in, and name any that is missing, extra or of another shape."""
    tied = {"head.output_weight"} if model.options["tie_head"] else set()
    try:
        result = model.load_state_dict(state, strict=False)
    except RuntimeError as error:
        raise CheckpointError(f"tensors of {path} do not fit: {error}") from error
    missing = set(result.missing_keys) - tied
    if missing or result.unexpected_keys:
        raise CheckpointError(
            f"tensors of {path} do not fit: missing {sorted(missing)}, "
            f"unexpected {sorted(result.unexpected_keys)}"
        )
