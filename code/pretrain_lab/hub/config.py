# SPDX-License-Identifier: MIT
"""Hugging Face's config.json and the options of our classes, translated both ways.

What our classes cannot represent is refused by name and value; options of generation and of other
tasks' heads are ignored.
"""

from collections.abc import Mapping
from typing import Any

from torch import nn

from pretrain_lab.hub.conversion import ArchitectureMap
from pretrain_lab.hub.name_tables import FAMILIES


def family_of(model: nn.Module) -> ArchitectureMap:
    """Find the family of a BERT, GPT or T5 of this book.

    Raises:
        ValueError: It is something else.
    """
    families = [family for family in FAMILIES if isinstance(model, family.model)]
    if not families:
        known = sorted({family.model.__name__ for family in FAMILIES})
        raise ValueError(f"expected one of our models, {known}, got {type(model).__name__}")
    options = vars(model.config)
    fitting = [family for family in families if family.implied.items() <= options.items()]
    return (fitting or families)[0]


def read_config(
    config: Mapping[str, Any], *, dropout: float | None = None
) -> tuple[ArchitectureMap, dict[str, Any]]:
    """Translate a config.json, and refuse what our classes cannot represent.

    Options that change nothing in a forward pass are ignored. `dropout` None keeps theirs, which
    must then be one value, but for that of attention weights. Returns the family and options for
    `family.config(**options)`.

    Raises:
        ValueError: Another architecture, or an option that ours does not have; the message names
            the option and its value.
    """
    known = [family.model_type for family in FAMILIES]
    if config.get("model_type") not in known:
        raise ValueError(f"expected model_type in {known}, got {config.get('model_type')!r}")
    family = FAMILIES[known.index(config["model_type"])]
    for name in config.get("architectures") or []:
        if name not in family.architectures:
            raise ValueError(f"expected architectures in {family.architectures}, got {name!r}")
    config = {**family.assumed, **config}
    for name, value in family.fixed.items():
        got = config.get(name, value)
        if got != value and (got or value):
            raise ValueError(f"expected {name} = {value!r}, as our models have it, got {got!r}")
    options = {
        ours: _option(name, config.get(name, default), default)
        for ours, (name, default) in family.options.items()
    }
    for name, ours in family.same.items():
        if config.get(name) not in (None, options[ours]):
            raise ValueError(
                f"expected {name} = {options[ours]}, as the encoder, got {config[name]}"
            )
    # T5 1.1 neither ties nor scales; `transformers` 5 always says that it ties, and this besides.
    tied = _option("scale_decoder_outputs", config.get("scale_decoder_outputs", True), True)
    options["tie_head"] = options["tie_head"] and tied
    name, default = family.activation
    if config.get(name, default) not in list(family.activations):
        raise ValueError(f"expected {name} in {list(family.activations)}, got {config[name]!r}")
    options |= _dropouts(family, config) if dropout is None else {"dropout": dropout}
    return family, {
        **options,
        **family.activations[config.get(name, default)],
        **family.implied,
    }


def _dropouts(family: ArchitectureMap, config: Mapping[str, Any]) -> dict[str, float]:
    """Read the probabilities of dropout: one, and perhaps another for attention weights."""
    probs = {
        name: _option(name, config.get(name, family.dropout), family.dropout)
        for name in family.dropouts
    }
    attention = family.attention_dropout
    others = {name: prob for name, prob in probs.items() if name != attention}
    if len(set(others.values())) > 1:
        raise ValueError(f"expected one probability of dropout, got {others}; pass dropout")
    dropout = next(iter(others.values()))
    if attention is None or probs[attention] == dropout:
        return {"dropout": dropout}
    return {"dropout": dropout, "attention_dropout": probs[attention]}


def _option(name: str, value: Any, default: Any) -> Any:
    """Refuse a value that is not of the kind that the default shows."""
    if isinstance(default, bool):
        fits, expected = isinstance(value, bool), "true or false"
    elif isinstance(default, float):
        fits, expected = type(value) in (int, float) and value >= 0, "a number >= 0"
    else:
        fits = type(value) is int and value >= 1
        fits, expected = fits or (default is None and value is None), "a whole number >= 1"
    if not fits:
        raise ValueError(f"expected {name} to be {expected}, got {value!r}")
    return value


def write_config(model: Any, *, with_head: bool = True) -> dict[str, Any]:
    """Describe a BERT, GPT or T5 of this book as a Hugging Face configuration.

    Raises:
        ValueError: Hugging Face's class has no such model; the message names option and value.
    """
    family = family_of(model)
    options = {name: value for name, value in vars(model.config).items() if value is not None}
    d_model = options["d_model"]
    options = {"d_ff": 4 * d_model, "d_head": d_model // options["n_heads"], **options}
    for name, value in family.implied.items():
        if options[name] != value:
            raise ValueError(
                f"expected {name} = {value!r}, as {family.architectures[0]} has it, "
                f"got {options[name]!r}"
            )
    architecture = family.architectures[0] if with_head else family.headless
    config = {"architectures": [architecture], "model_type": family.model_type, **family.written}
    config |= {theirs: options[ours] for ours, (theirs, _) in family.options.items()}
    if "n_segments" in options:
        config["type_vocab_size"] = max(1, options["n_segments"])  # see `to_huggingface`
    config[family.activation[0]] = next(
        name for name, ours in family.activations.items() if ours.items() <= options.items()
    )
    probs = dict.fromkeys(family.dropouts, options["dropout"])
    if family.attention_dropout is not None and "attention_dropout" in options:
        probs[family.attention_dropout] = options["attention_dropout"]
    return config | probs
