# SPDX-License-Identifier: MIT
"""What a configuration of `pretrain_lab.train` may say: every option, its type, range and meaning.

One pydantic model for each section of the file; what is checked and what `--help` lists come from
the same fields. The options of [objective] are in `pretrain_lab.train.objectives`, each beside its
objective; those of [model] are the fields of `GPTConfig`, `BERTConfig` and `T5Config`.
"""

from dataclasses import fields
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)

from pretrain.training import OptimConfig


def _in_a_list(value: Any) -> Any:
    """Take a single text for a list of one."""
    return (value,) if isinstance(value, str) else value


Texts = Annotated[tuple[str, ...], Field(strict=False), BeforeValidator(_in_a_list)]
Share = Annotated[float, Field(ge=0, lt=1)]


class ConfigError(ValueError):
    """A configuration says something that cannot be meant."""


class Options(BaseModel):
    """One section: no other option, and no value of another type (1 is not true)."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _whole(cls, value: Any, info: ValidationInfo) -> Any:
        """Take 1e3, which is a float in TOML, for 1000 where a whole number is asked for."""
        kind = cls.model_fields[str(info.field_name)].annotation
        is_whole = isinstance(value, float) and value.is_integer()
        return int(value) if is_whole and int in (kind, *get_args(kind)) else value


class DataOptions(Options):
    """[data]: the text. Exactly one of corpus, files and dataset says where it is."""

    seq_len: int = Field(ge=2, description="tokens in a window")
    corpus: Literal["plays"] | None = Field(None, description='"plays": the plays of this book')
    files: Texts = Field(
        (), description="text files in UTF-8; * stands for any characters, a folder for its *.txt"
    )
    dataset: str | None = Field(None, description="for `datasets`: a name on the hub or a folder")
    subset: str | None = Field(None, description="its configuration, for a dataset")
    split: str = Field("train", description="its split, for a dataset")
    column: str = Field("text", description="its column that holds the texts, for a dataset")
    validation_files: Texts = Field((), description="text to evaluate on, as files")
    hold_out: float = Field(
        0.05, ge=0, lt=1,
        description="share of the text, from its end, that is kept to evaluate on and not trained "
        "on, where no validation_files are given; of a text in memory that is not the plays",
    )  # fmt: skip
    stream: bool = Field(False, description="read while training, not before it into memory")
    order: Literal["random", "sequential"] | None = Field(
        None, description="windows from anywhere, or one after another; none = as can be"
    )


class TokenizerOptions(Options):
    """[tokenizer]: what becomes an id. All kinds but "file" are learned from the text."""

    kind: Literal["file", "characters", "bpe", "byte-bpe"] = Field(description="where it is from")
    path: str | None = Field(
        None, description='for "file": a .json of `tokenizers`, or a name in data/tokenizers'
    )
    vocab_size: int | None = Field(None, ge=1, description="ids, for the two kinds of bpe")
    n_sentinels: int = Field(100, ge=1, description="sentinels, where the objective needs them")
    sample_size: int = Field(
        10_000_000, ge=1, description="characters, from the start, that bpe is learned from"
    )


class ObjectiveOptions(Options):
    """[objective]: what all kinds have; their own options are in `train.objectives`."""

    kind: str = Field(description="the objective")


class TrainingOptions(Options):
    """[training]: the steps. The batch is that of all processes together."""

    n_steps: int = Field(ge=1, description="updates")
    batch_size: int = Field(ge=1, description="windows in an update, over all processes")
    lr: float = Field(gt=0, description="peak learning rate")
    micro_batch_size: int | None = Field(None, ge=1, description="windows at once; none = all")
    n_warmup: int = Field(0, ge=0, description="steps in which the rate rises")
    final_lr: float = Field(0.0, ge=0, description="share of the rate that is left at the end")
    betas: tuple[Share, Share] = Field((0.9, 0.95), strict=False, description="AdamW's two rates")
    weight_decay: float = Field(0.1, ge=0, description="AdamW's decay of matrices")
    clip_norm: float = Field(1.0, gt=0, description="largest norm of the gradient")
    relative_lr: bool = Field(False, description="rates relative to each parameter's size")
    optimizer: Literal["adamw", "muon"] = Field("adamw", description="Muon: for matrices in blocks")
    seed: int = Field(0, ge=0, description="decides weights, windows, corruption and dropout")
    evaluate_every: int = Field(0, ge=0, description="steps between evaluations; 0 = none")
    evaluation_batches: int = Field(4, ge=1, description="batches in an evaluation")
    init_from: str | None = Field(
        None,
        description="weights to start from: the folder of a run, a .safetensors file, a name in "
        "data/checkpoints, or a Hugging Face folder or id; [model] and [tokenizer] are its own",
    )

    @property
    def optim(self) -> OptimConfig:
        """What of it the optimiser needs."""
        return OptimConfig(
            **{field.name: getattr(self, field.name) for field in fields(OptimConfig)}
        )


class OutputOptions(Options):
    """[output]: where the files go."""

    folder: str = Field(description="folder for checkpoint, model and history")
    checkpoint_every: int = Field(500, ge=1, description="steps between checkpoints")
    log_every: int = Field(100, ge=1, description="steps between lines where no bar is shown")


WORDS = {"integer": "a whole number", "number": "a number", "string": "a text"}
BOUNDS = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}


def allowed(schema: dict[str, Any]) -> str:
    """Say in words what the JSON schema of an option allows, such as "a whole number >= 1"."""
    schema = schema.get("anyOf", [schema])[0]  # the X of `X | None`
    words = schema.get("enum", [schema["const"]] if "const" in schema else [])
    if words:
        return "one of " + ", ".join(f'"{word}"' for word in words)
    item = schema.get("prefixItems", [schema.get("items", schema)])[0]
    text = WORDS.get(item["type"], "true or false")
    if item is not schema:
        text = f"a list of {schema.get('maxItems', '')} {text.split()[-1]}s".replace("  ", " ")
    return " ".join(
        [text, " and ".join(f"{b} {item[k]}" for k, b in BOUNDS.items() if k in item)]
    ).strip()
