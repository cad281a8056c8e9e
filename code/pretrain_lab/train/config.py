# SPDX-License-Identifier: MIT
"""The configuration of `pretrain_lab.train`: a TOML file, read and checked before anything is made.

Implemented: sections and options by `pretrain_lab.train.options` and
`pretrain_lab.train.objectives`, with the nearest known name for an unknown one; the options of
[model] by the signature of the model that the objective trains; what must hold between options;
overrides on the command line. Left out: including other files.
"""

import dataclasses
import difflib
import inspect
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

from pretrain_lab.checkpoints import Model
from pretrain_lab.train.objectives import KINDS
from pretrain_lab.train.options import (
    ConfigError,
    DataOptions,
    ObjectiveOptions,
    OutputOptions,
    TokenizerOptions,
    TrainingOptions,
    checked,
    describe,
)

SECTIONS = ("data", "tokenizer", "model", "objective", "training", "output")


@dataclass(frozen=True)
class Config:
    """A configuration in which everything is known and fits."""

    data: DataOptions
    tokenizer: TokenizerOptions
    model: dict[str, Any]
    objective: ObjectiveOptions
    training: TrainingOptions
    output: OutputOptions

    def settings(self) -> dict[str, Any]:
        """Give all that decides the numbers of a run, as "section.option": JSON value."""
        parts = {name: getattr(self, name) for name in SECTIONS if name != "output"}
        return {
            f"{name}.{key}": list(value) if isinstance(value, tuple) else value
            for name, part in parts.items()
            for key, value in (part if name == "model" else dataclasses.asdict(part)).items()
        }


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> Config:
    """Read a configuration.

    Args:
        path: A TOML file.
        overrides: Such as "training.n_steps=50"; each replaces what the file says, and one with
            nothing behind the sign takes it away. What is no TOML value is taken as a text.

    Returns:
        The checked configuration.

    Raises:
        ConfigError: No such file, no TOML, or a content that `check_config` refuses.
    """
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"expected a TOML file, but {path} cannot be read ({error})") from error
    except ValueError as error:  # of TOML, and of UTF-8
        raise ConfigError(f"{path}: expected TOML, but {error}") from error
    for override in overrides:
        _override(content, override)
    return check_config(content)


def check_config(content: dict[str, Any]) -> Config:
    """Check the content of a configuration.

    Args:
        content: Sections and options, as TOML has them.

    Returns:
        The configuration, defaults filled in.

    Raises:
        ConfigError: Unknown, missing or impossible options; the message names the first of them,
            what was expected and what came.
    """
    _refuse_unknown("section", content, SECTIONS, "[{}]")
    for name in SECTIONS:
        if not isinstance(content.get(name), dict):
            raise ConfigError(f"expected a section [{name}], got {content.get(name)!r}")
    kind = content["objective"].get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        expected = ", ".join(f'"{known}"' for known in KINDS)
        raise ConfigError(f"objective.kind: expected one of {expected}, got {kind!r}")
    data = _section("data", content["data"], DataOptions)
    config = Config(
        data=data,
        tokenizer=_section("tokenizer", content["tokenizer"], TokenizerOptions),
        model=_model_options(content["model"], KINDS[kind].model, data.seq_len),
        objective=_section("objective", content["objective"], KINDS[kind].options),
        training=_section("training", content["training"], TrainingOptions),
        output=_section("output", content["output"], OutputOptions),
    )
    _check_data(config.data)
    _check_rest(config)
    return config


def describe_options() -> str:
    """List every option with its type, default and meaning, for the command's help."""
    lines = []
    kinds = [kind.options for kind in KINDS.values()]
    for section in (DataOptions, TokenizerOptions, *kinds, TrainingOptions, OutputOptions):
        hints = get_type_hints(section)
        lines += ["", (section.__doc__ or "").replace("\n", " ")]
        for item in dataclasses.fields(section):
            if section in kinds and item.name == "kind":
                continue
            missing = item.default is dataclasses.MISSING
            default = "required" if missing else f"default {_toml(item.default)}"
            allowed = describe(hints[item.name], dict(item.metadata))
            lines.append(f"  {item.name}: {item.metadata['about']} ({allowed}; {default})")
    models = ", ".join(f"{kind.model.__name__} ({name})" for name, kind in KINDS.items())
    lines += [
        "",
        f"[model]: the arguments of the objective's model, {models};",
        "the vocabulary is the tokeniser's, and max_len is data.seq_len unless it is given.",
    ]
    return "\n".join(lines)


def _override(content: dict[str, Any], override: str) -> None:
    """Replace one option by what stands behind the sign of equality, or by nothing."""
    name, sign, text = override.partition("=")
    section, dot, key = name.strip().partition(".")
    if not sign or not dot or not key:
        raise ConfigError(f'expected an override "section.option=value", got {override!r}')
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        value = text
    if not isinstance(content.setdefault(section, {}), dict):
        raise ConfigError(f"expected a section [{section}], got {content[section]!r}")
    if text.strip():
        content[section][key] = value
    else:
        content[section].pop(key, None)


def _refuse_unknown(what: str, names: Iterable[str], known: Iterable[str], form: str) -> None:
    """Refuse the first name that is not known, and say which known one is nearest."""
    known = list(known)
    for name in names:
        if name not in known:
            nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.0)[0]
            raise ConfigError(
                f"unknown {what} {form.format(name)}: the nearest known one is "
                f"{form.format(nearest)}; expected one of {', '.join(known)}"
            )


def _section(name: str, content: dict[str, Any], section: type[Any]) -> Any:
    """Check the options of one section and make its dataclass."""
    known = {item.name: item for item in dataclasses.fields(section)}
    _refuse_unknown("option", content, known, f"{name}.{{}}")
    hints = get_type_hints(section)
    for key, item in known.items():
        if key not in content and item.default is dataclasses.MISSING:
            allowed = describe(hints[key], dict(item.metadata))
            about = item.metadata["about"]
            raise ConfigError(f"{name}.{key}: expected {allowed} ({about}), got nothing")
    return section(
        **{
            k: checked(f"{name}.{k}", v, hints[k], dict(known[k].metadata))
            for k, v in content.items()
        }
    )


def _model_options(content: dict[str, Any], model: type[Model], seq_len: int) -> dict[str, Any]:
    """Check the options of a model by its signature; it checks their ranges itself."""
    parameters = dict(inspect.signature(model.__init__).parameters)
    known = {k: p for k, p in parameters.items() if k not in ("self", "vocab_size")}
    _refuse_unknown("option", content, known, "model.{}")
    content = {**({"max_len": seq_len} if "max_len" in known else {}), **content}
    hints = get_type_hints(model.__init__)
    for key, parameter in known.items():
        if parameter.default is inspect.Parameter.empty and key not in content:
            allowed = describe(hints[key], {})
            raise ConfigError(f"model.{key}: expected {allowed}, for {model.__name__}, got nothing")
    if content.get("max_len", seq_len) < seq_len:
        raise ConfigError(
            f"model.max_len: expected at least data.seq_len = {seq_len}, got {content['max_len']}"
        )
    return {k: checked(f"model.{k}", v, hints[k], {}) for k, v in content.items()}


def _check_data(data: DataOptions) -> None:
    """Refuse texts from nowhere or from two places, and an order that a stream cannot have."""
    sources = ("corpus", "files", "dataset")
    given = [name for name in sources if getattr(data, name)]
    if len(given) != 1:
        raise ConfigError(
            f"[data]: expected exactly one of {', '.join(sources)}, got {given or 'none'}"
        )
    if data.stream and data.corpus:
        raise ConfigError("data.stream: expected files or a dataset to stream, got a corpus")
    if data.stream and data.order == "random":
        raise ConfigError(
            'data.order: expected "sequential" where data.stream is true, got "random"'
        )


def _check_rest(config: Config) -> None:
    """Refuse options of tokeniser and training that do not fit each other."""
    tokenizer, training = config.tokenizer, config.training
    for key, kinds in (("path", ("file",)), ("vocab_size", ("bpe", "byte-bpe"))):
        value = getattr(tokenizer, key)
        if (value is not None) != (tokenizer.kind in kinds):
            wanted = "a value" if tokenizer.kind in kinds else "none"
            raise ConfigError(
                f'tokenizer.{key}: expected {wanted} for kind "{tokenizer.kind}", got {value!r}'
            )
    if training.batch_size % (training.micro_batch_size or training.batch_size):
        raise ConfigError(
            "training.micro_batch_size: expected a divisor of training.batch_size = "
            f"{training.batch_size}, got {training.micro_batch_size}"
        )
    if training.n_warmup > training.n_steps:
        raise ConfigError(
            f"training.n_warmup: expected at most training.n_steps = {training.n_steps}, "
            f"got {training.n_warmup}"
        )
    if training.evaluate_every and not (config.data.validation_files or config.data.corpus):
        raise ConfigError(
            "training.evaluate_every: expected data.validation_files to evaluate on, got none"
        )


def _toml(value: Any) -> str:
    """Write a default as in the file."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    return "none" if value is None else str(list(value) if isinstance(value, tuple) else value)
