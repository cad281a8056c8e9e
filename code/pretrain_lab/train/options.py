# SPDX-License-Identifier: MIT
"""What a configuration of `pretrain_lab.train` may say: every option, its type, range and meaning.

Implemented: one dataclass for each section of the file, whose fields are the options, and the check
of one value. Reading a file, and what must hold between options, is `pretrain_lab.train.config`.
The options of [objective] are in `pretrain_lab.train.objectives`, each beside the objective that
they are of; those of [model] are the arguments of `pretrain.gpt.GPT`, `bert.BERT` and `t5.T5`.
"""

import math
from dataclasses import MISSING, dataclass, field
from typing import Any


class ConfigError(ValueError):
    """A configuration says something that cannot be meant."""


def option(
    about: str,
    *,
    default: Any = MISSING,
    low: float | None = None,
    above: float | None = None,
    high: float | None = None,
    below: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    """Declare one option of a section.

    Args:
        about: What it is, with its unit.
        default: Its value where the file says nothing; without one, the file must say it.
        low: Smallest allowed number.
        above: All allowed numbers are greater.
        high: Largest allowed number.
        below: All allowed numbers are smaller.
        choices: The allowed words; none = any.

    Returns:
        A dataclass field.
    """
    limits = {"low": low, "above": above, "high": high, "below": below, "choices": choices}
    return field(default=default, metadata={"about": about, **limits})


@dataclass(frozen=True)
class DataOptions:
    """[data]: the text. Exactly one of corpus, files and dataset says where it is."""

    seq_len: int = option("tokens in a window", low=2)
    corpus: str | None = option('"plays": the plays of this book', default=None, choices=("plays",))
    files: tuple[str, ...] = option("text files in UTF-8; * stands for any characters", default=())
    dataset: str | None = option("for `datasets`: a name on the hub or a folder", default=None)
    subset: str | None = option("its configuration, for a dataset", default=None)
    split: str = option("its split, for a dataset", default="train")
    column: str = option("its column that holds the texts, for a dataset", default="text")
    validation_files: tuple[str, ...] = option("text to evaluate on, as files", default=())
    stream: bool = option("read while training, instead of before it into memory", default=False)
    order: str | None = option(
        "windows from anywhere in the text, or one after another as in a stream; none = as can be",
        default=None,
        choices=("random", "sequential"),
    )


@dataclass(frozen=True)
class TokenizerOptions:
    """[tokenizer]: what becomes an id. All kinds but "file" are learned from the text."""

    kind: str = option("where it comes from", choices=("file", "characters", "bpe", "byte-bpe"))
    path: str | None = option(
        'for "file": a .json of the `tokenizers` library, or a name in data/tokenizers',
        default=None,
    )
    vocab_size: int | None = option("ids, for the two kinds of bpe", default=None, low=1)
    n_sentinels: int = option("sentinels to add where the objective needs them", default=100, low=1)
    sample_size: int = option("characters of a stream to learn from", default=10_000_000, low=1)


@dataclass(frozen=True)
class ObjectiveOptions:
    """[objective]: what all kinds have; their own options are in `train.objectives`."""

    kind: str = option("the objective")


@dataclass(frozen=True)
class TrainingOptions:
    """[training]: the steps. The batch is that of all processes together."""

    n_steps: int = option("updates", low=1)
    batch_size: int = option("windows in an update, over all processes", low=1)
    lr: float = option("peak learning rate", above=0)
    micro_batch_size: int | None = option("windows at once; none = batch_size", default=None, low=1)
    n_warmup: int = option("steps in which the rate rises", default=0, low=0)
    final_lr: float = option("share of the rate that is left at the end", default=0.0, low=0)
    betas: tuple[float, float] = option("AdamW's two rates", default=(0.9, 0.95), low=0, below=1)
    weight_decay: float = option("AdamW's decay of matrices", default=0.1, low=0)
    clip_norm: float = option("largest norm of the gradient", default=1.0, above=0)
    relative_lr: bool = option("rates relative to each parameter's size", default=False)
    seed: int = option("decides weights, windows, corruption and dropout", default=0, low=0)
    evaluate_every: int = option("steps between evaluations; 0 = none", default=0, low=0)
    evaluation_batches: int = option("batches in an evaluation", default=4, low=1)


@dataclass(frozen=True)
class OutputOptions:
    """[output]: where the files go."""

    folder: str = option("folder for checkpoint, model and history")
    checkpoint_every: int = option("steps between checkpoints", default=500, low=1)
    log_every: int = option("steps between lines where no bar is shown", default=100, low=1)


def checked(where: str, value: Any, wanted: Any, limits: dict[str, Any]) -> Any:
    """Give a value in the type of its option.

    Args:
        where: Name of the option, such as "training.lr".
        value: From TOML.
        wanted: Type of the option: a plain one, a tuple of one, or one of these or None.
        limits: As declared by `option`; may be empty.

    Returns:
        The value; whole numbers become floats and lists become tuples where those are wanted.

    Raises:
        ConfigError: Another type, or outside the limits; the message says what is expected.
    """
    inner = _without_none(wanted)
    parts = getattr(inner, "__args__", ())
    expected = _description(inner, limits)
    if not parts:
        return _checked_one(where, value, inner, limits, expected)
    n_wanted = None if parts[-1] is Ellipsis else len(parts)
    if not isinstance(value, list) or n_wanted not in (None, len(value)):
        raise ConfigError(f"{where}: expected {expected}, got {value!r}")
    return tuple(_checked_one(where, one, parts[0], limits, expected) for one in value)


def _checked_one(where: str, value: Any, wanted: type, limits: dict[str, Any], text: str) -> Any:
    """Check a value that is no list; True is no number."""
    if wanted is float and type(value) is int:
        value = float(value)
    right = type(value) is wanted
    if right and wanted in (int, float):
        low, high = limits.get("low"), limits.get("high")
        above, below = limits.get("above"), limits.get("below")
        right = (
            math.isfinite(value)
            and (low is None or value >= low)
            and (above is None or value > above)
            and (high is None or value <= high)
            and (below is None or value < below)
        )
    if right and limits.get("choices"):
        right = value in limits["choices"]
    if not right:
        raise ConfigError(f"{where}: expected {text}, got {value!r}")
    return value


def _without_none(wanted: Any) -> Any:
    """Give X for the type `X | None`, and a type that is no such union back."""
    parts = getattr(wanted, "__args__", ())
    if type(None) not in parts:
        return wanted
    return next(part for part in parts if part is not type(None))


def _description(wanted: Any, limits: dict[str, Any]) -> str:
    """Say in words what is allowed, for messages and for the help."""
    words = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
    parts = getattr(wanted, "__args__", ())
    if parts:
        n_parts = "" if parts[-1] is Ellipsis else f"{len(parts)} "
        plural = words[parts[0]].removeprefix("a ").removeprefix("whole ") + "s"
        text = f"a list of {n_parts}{plural}"
    else:
        text = words[wanted]
    if limits.get("choices"):
        return "one of " + ", ".join(f'"{choice}"' for choice in limits["choices"])
    signs = (("low", ">="), ("above", ">"), ("high", "<="), ("below", "<"))
    bounds = [f"{s} {limits[n]}" for n, s in signs if limits.get(n) is not None]
    return " ".join([text, " and ".join(bounds)]).strip()


def describe(wanted: Any, limits: dict[str, Any]) -> str:
    """Say in words what an option allows.

    Args:
        wanted: Its type.
        limits: As declared by `option`.

    Returns:
        For instance "a whole number >= 1".
    """
    return _description(_without_none(wanted), limits)
