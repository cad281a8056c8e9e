# SPDX-License-Identifier: MIT
"""The configuration of `pretrain_lab.train`: a TOML file, checked before anything is made."""

import math
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any, Self, get_type_hints

from pydantic import Field, PrivateAttr, ValidationError, create_model, model_validator

from pretrain_lab.train import options
from pretrain_lab.train.hints import meant_by, unknown_option, unknown_section
from pretrain_lab.train.objectives import DEFAULT_KIND, KINDS, OBJECTIVES
from pretrain_lab.train.options import ConfigError, Options, allowed
from pretrain_lab.train.start import load_start


class Config(Options):
    """A configuration in which everything is known and fits."""

    data: options.DataOptions
    tokenizer: options.TokenizerOptions
    model: Options
    objective: options.ObjectiveOptions
    training: options.TrainingOptions
    output: options.OutputOptions
    _notes: tuple[str, ...] = PrivateAttr(default=())

    @property
    def notes(self) -> tuple[str, ...]:
        """What was changed so that the options fit, in words."""
        return self._notes

    def settings(self) -> dict[str, Any]:
        """Give all that decides the numbers of a run; JSON values."""
        return self.model_dump(mode="json", exclude={"output"})

    @model_validator(mode="after")
    def _options_fit(self) -> Self:
        """Refuse the first option that does not fit another one."""
        data, tokenizer, training = self.data, self.tokenizer, self.training
        sources = [name for name in ("corpus", "files", "dataset") if getattr(data, name)]
        _expect(len(sources) == 1, "[data]", "exactly one of corpus, files, dataset", sources)
        _expect(not data.stream or not data.corpus, "data.stream", "files or a dataset", "a corpus")
        in_order = not data.stream or data.order != "random"
        _expect(in_order, "data.order", '"sequential" where data.stream is true', data.order)
        if not training.init_from:
            for name, kinds in (("path", ("file",)), ("vocab_size", ("bpe", "byte-bpe"))):
                value, wanted = getattr(tokenizer, name), tokenizer.kind in kinds
                words = f'{"a value" if wanted else "none"} for kind "{tokenizer.kind}"'
                _expect((value is not None) == wanted, f"tokenizer.{name}", words, value)
        whole, part = training.batch_size, training.micro_batch_size
        words = f"a divisor of training.batch_size = {whole}"
        _expect(whole % (part or whole) == 0, "training.micro_batch_size", words, part)
        n_steps, n_warmup = training.n_steps, training.n_warmup
        words = f"at most training.n_steps = {n_steps}"
        _expect(n_warmup <= n_steps, "training.n_warmup", words, n_warmup)
        held_out = data.validation_files or data.corpus or (data.hold_out and not data.stream)
        words = "data.validation_files to evaluate on"
        words += ", for nothing is held out of a stream" if data.stream else " or data.hold_out > 0"
        is_right = held_out or not training.evaluate_every
        _expect(is_right, "training.evaluate_every", words, data.validation_files)
        seq_len, max_len = data.seq_len, getattr(self.model, "max_len", data.seq_len)
        words = f"at least data.seq_len = {seq_len}"
        _expect(max_len >= seq_len, "model.max_len", words, max_len)
        return self


def _expect(is_right: Any, where: str, expected: str, got: Any) -> None:
    """Refuse what is not right."""
    if not is_right:
        raise ValueError(f"{where}: expected {expected}, got {got!r}")


def load_config(
    path: str | Path, overrides: Sequence[str] = (), texts: Sequence[str] = ()
) -> Config:
    """Read a TOML file.

    Overrides such as "training.n_steps=50" replace what the file says; one with nothing behind the
    sign takes it away. What is no TOML value is taken as a text. `texts` are files that take the
    place of the text that the file names, and of what it evaluates on. A warm-up and a micro-batch
    of the file that do not fit what the overrides say are cut; `notes` say so.

    Raises:
        ConfigError: No such file, no TOML, or a content that `check_config` refuses.
    """
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"expected a TOML file, but {path} cannot be read ({error})") from error
    except ValueError as error:  # of TOML, and of UTF-8
        example = "python -m pretrain_lab.train experiments/configs/own_text.toml"
        hint = "" if Path(path).suffix == ".toml" else f"; a text comes second: {example} {path}"
        raise ConfigError(f"{path}: expected TOML, but {error}{hint}") from error
    given = {_override(content, override) for override in overrides}
    if texts and isinstance(content.setdefault("data", {}), dict):
        others = ("corpus", "dataset", "subset", "validation_files")
        dropped = {k for k in others if f"data.{k}" not in given}
        kept = {k: v for k, v in content["data"].items() if k not in dropped}
        content["data"] = {**kept, "files": list(texts)}
    notes = _fit(content.get("training"), given)
    config = check_config(content, given)
    config._notes = (*notes, *config.notes)
    return config


def _override(content: dict[str, Any], override: str) -> str:
    """Replace one option, and give its name."""
    name, sign, text = override.partition("=")
    section, dot, key = name.strip().partition(".")
    if not (sign and dot and key and isinstance(content.setdefault(section, {}), dict)):
        kind = str(_kind(content))
        known = {k: list(s.model_fields) for k, s in _sections(KINDS.get(kind, kind)).items()}
        meant = meant_by(name.strip(), known) if not dot else None
        hint = f"; did you mean {meant}={text}?" if meant else ""
        raise ConfigError(f'expected an override "section.option=value", got {override!r}{hint}')
    content[section].pop(key, None)
    if text.strip():
        try:
            content[section][key] = tomllib.loads(f"value = {text}")["value"]
        except ValueError:
            content[section][key] = text
    return f"{section}.{key}"


def _kind(content: dict[str, Any]) -> Any:
    """Give what a content calls its objective; None where it says nothing."""
    objective = content.get("objective")
    return objective.get("kind") if isinstance(objective, dict) else None


def _fit(training: Any, given: Collection[str]) -> list[str]:
    """Cut warm-up and micro-batch to fit, unless they were given, and say so."""
    notes = []
    if isinstance(training, dict):
        n_steps, n_warmup, whole, part = (
            int(value) if isinstance(value := training.get(name), int | float) and value > 0 else 0
            for name in ("n_steps", "n_warmup", "batch_size", "micro_batch_size")
        )
        if 0 < n_steps < n_warmup and "training.n_warmup" not in given:
            training["n_warmup"] = n_steps // 10
            notes.append(f"training.n_warmup cut to {n_steps // 10}, for {n_steps} steps")
        if whole and part and whole % part and "training.micro_batch_size" not in given:
            training["micro_batch_size"] = fitting = math.gcd(whole, part)
            notes.append(f"training.micro_batch_size cut to {fitting}, for batches of {whole}")
    return notes


def check_config(content: dict[str, Any], given: Collection[str] = ()) -> Config:
    """Check sections and options, as TOML has them, and fill the defaults in.

    `given` are options, such as "model.d_model", that somebody asked for beside the file.

    Raises:
        ConfigError: Unknown, missing or impossible options; the message names the first of them,
            what was expected and what came.
    """
    for name in content:
        if name not in Config.model_fields:
            raise ConfigError(unknown_section(name, Config.model_fields))
    kind = _kind(content)
    if isinstance(kind, str) and kind in KINDS:
        kind = KINDS[kind]
        content = {**content, "objective": {**content["objective"], "kind": kind}}
    if not isinstance(kind, str) or kind not in OBJECTIVES:
        names = allowed({"enum": list(OBJECTIVES)})
        raise ConfigError(f"objective.kind: expected {names}, got {kind!r}")
    sections = _sections(kind)
    content, notes = _started(content, kind, given)
    data, model = content.get("data"), content.get("model")
    has_limit = "max_len" in sections["model"].model_fields
    if has_limit and isinstance(data, dict) and isinstance(model, dict):
        content = {**content, "model": {"max_len": data.get("seq_len"), **model}}
    parts: dict[str, Any] = {name: (section, ...) for name, section in sections.items()}
    try:
        config = create_model("Config", __base__=Config, **parts).model_validate(content)
    except ValidationError as error:
        raise ConfigError(_complaint(error, sections)) from None
    config._notes = notes
    return config


def _started(
    content: dict[str, Any], kind: str, given: Collection[str]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Take [model], but for its dropout, and [tokenizer] from the weights to start from."""
    training = content.get("training")
    name = training.get("init_from") if isinstance(training, dict) else None
    if not isinstance(name, str):
        return content, ()
    model, _ = load_start(name)
    wanted: Any = OBJECTIVES[kind].model
    if type(model) is not wanted:
        raise ConfigError(
            f'training.init_from: expected a {wanted.__name__}, which kind "{kind}" trains, got '
            f"a {type(model).__name__} in {name}"
        )
    own = {k: v for k, v in asdict(model.config).items() if k != "vocab_size"}
    free = ("dropout", "attention_dropout")
    refused = [one for one in given if one.startswith(("model.", "tokenizer."))]
    refused = [one for one in refused if one.partition(".")[2] not in free]
    if refused:
        raise ConfigError(
            f"{refused[0]}: expected none beside training.init_from, for model and vocabulary are "
            f"those of {name}"
        )
    section = content.get("model")
    kept = {k: v for k, v in section.items() if k in free} if isinstance(section, dict) else {}
    filled = {"model": {**own, **kept}, "tokenizer": {"kind": "file", "path": name}}
    return {**content, **filled}, (f"model and vocabulary are those of {name}",)


def _sections(kind: str) -> dict[str, type[Options]]:
    """Give the sections of a configuration whose objective is of this kind."""
    spec = OBJECTIVES.get(kind, OBJECTIVES[DEFAULT_KIND])
    common: dict[str, Any] = {k: field.annotation for k, field in Config.model_fields.items()}
    return {**common, "model": model_options(spec.config), "objective": spec.options}


def model_options(config: type[Any]) -> type[Options]:
    """Make the section [model] of the fields of a model's configuration."""
    hints, about = get_type_hints(config), f"of {config.__name__}"
    sizes: dict[str, Any] = {
        one.name: (
            hints[one.name],
            Field(... if one.default is MISSING else one.default, description=about),
        )
        for one in fields(config)
        if one.name != "vocab_size"
    }
    return create_model("ModelOptions", __base__=Options, **sizes)


def _complaint(error: ValidationError, sections: dict[str, type[Options]]) -> str:
    """Say in one line what is wrong; an unknown name comes first, for it explains a missing one."""
    first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    kind, (section, *option), got = first["type"], first["loc"] or ("",), repr(first["input"])
    if kind == "value_error":
        return str(first["ctx"]["error"])
    if kind == "extra_forbidden":
        known = {name: list(one.model_fields) for name, one in sections.items()}
        return unknown_option(str(section), str(option[0]), known)
    if not option:
        return f"expected a section [{section}], got {'nothing' if kind == 'missing' else got}"
    schema = sections[str(section)].model_json_schema()["properties"][option[0]]
    about = ""
    if kind == "missing" and len(option) == 1:
        about, got = f" ({schema['description']})", "nothing"
    return f"{section}.{option[0]}: expected {allowed(schema)}{about}, got {got}"
