# SPDX-License-Identifier: MIT
"""The configuration of `pretrain_lab.train`: a TOML file, checked before anything is made."""

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self, get_type_hints

from pydantic import Field, ValidationError, create_model, model_validator

from pretrain_lab.train import options
from pretrain_lab.train.objectives import OBJECTIVES
from pretrain_lab.train.options import ConfigError, Options, allowed

RENAMED = {
    "select_prob": "mlm_probability", "mask_prob": "mask_replace_prob", "dropout_prob": "dropout",
    "random_prob": "random_replace_prob", "noise_share": "noise_density", "roll": "random_roll",
    "mean_span_len": "mean_noise_span_length",
}  # fmt: skip
"""Options of older files -> their names now."""


class Config(Options):
    """A configuration in which everything is known and fits."""

    data: options.DataOptions
    tokenizer: options.TokenizerOptions
    model: Options
    objective: options.ObjectiveOptions
    training: options.TrainingOptions
    output: options.OutputOptions

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
        held_out = data.validation_files or data.corpus or not training.evaluate_every
        words = "data.validation_files to evaluate on"
        _expect(held_out, "training.evaluate_every", words, data.validation_files)
        seq_len, max_len = data.seq_len, getattr(self.model, "max_len", data.seq_len)
        words = f"at least data.seq_len = {seq_len}"
        _expect(max_len >= seq_len, "model.max_len", words, max_len)
        return self


def _expect(is_right: Any, where: str, expected: str, got: Any) -> None:
    """Refuse what is not right."""
    if not is_right:
        raise ValueError(f"{where}: expected {expected}, got {got!r}")


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> Config:
    """Read a TOML file.

    Overrides such as "training.n_steps=50" replace what the file says; one with nothing behind the
    sign takes it away. What is no TOML value is taken as a text.

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
        name, sign, text = override.partition("=")
        section, dot, key = name.strip().partition(".")
        if not (sign and dot and key and isinstance(content.setdefault(section, {}), dict)):
            raise ConfigError(f'expected an override "section.option=value", got {override!r}')
        content[section].pop(key, None)
        if text.strip():
            try:
                content[section][key] = tomllib.loads(f"value = {text}")["value"]
            except ValueError:
                content[section][key] = text
    return check_config(content)


def check_config(content: dict[str, Any]) -> Config:
    """Check sections and options, as TOML has them, and fill the defaults in.

    Raises:
        ConfigError: Unknown, missing or impossible options; the message names the first of them,
            what was expected and what came.
    """
    for name in content:
        if name not in Config.model_fields:
            raise ConfigError(_unknown("section [{}]", name, Config.model_fields))
    objective = content.get("objective")
    kind = objective.get("kind") if isinstance(objective, dict) else None
    if not isinstance(kind, str) or kind not in OBJECTIVES:
        names = allowed({"enum": list(OBJECTIVES)})
        raise ConfigError(f"objective.kind: expected {names}, got {kind!r}")
    sections = _sections(kind)
    data, model = content.get("data"), content.get("model")
    has_limit = "max_len" in sections["model"].model_fields
    if has_limit and isinstance(data, dict) and isinstance(model, dict):
        content = {**content, "model": {"max_len": data.get("seq_len"), **model}}
    parts: dict[str, Any] = {name: (section, ...) for name, section in sections.items()}
    try:
        return create_model("Config", __base__=Config, **parts).model_validate(content)
    except ValidationError as error:
        raise ConfigError(_complaint(error, sections)) from None


def _sections(kind: str) -> dict[str, type[Options]]:
    """Give the sections of a configuration whose objective is of this kind."""
    spec = OBJECTIVES[kind]
    hints, about = get_type_hints(spec.config), f"of {spec.config.__name__}"
    sizes: dict[str, Any] = {
        one.name: (
            hints[one.name],
            Field(... if one.default is MISSING else one.default, description=about),
        )
        for one in fields(spec.config)
        if one.name != "vocab_size"
    }
    common: dict[str, Any] = {k: field.annotation for k, field in Config.model_fields.items()}
    model = create_model("ModelOptions", __base__=Options, **sizes)
    return {**common, "model": model, "objective": spec.options}


def _complaint(error: ValidationError, sections: dict[str, type[Options]]) -> str:
    """Say in one line what is wrong; an unknown name comes first, for it explains a missing one."""
    first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    kind, (section, *option), got = first["type"], first["loc"] or ("",), repr(first["input"])
    if kind == "value_error":
        return str(first["ctx"]["error"])
    if kind == "extra_forbidden":
        known = sections[str(section)].model_fields
        return _unknown(f"option {section}.{{}}", str(option[0]), known)
    if not option:
        return f"expected a section [{section}], got {'nothing' if kind == 'missing' else got}"
    schema = sections[str(section)].model_json_schema()["properties"][option[0]]
    about = ""
    if kind == "missing" and len(option) == 1:
        about, got = f" ({schema['description']})", "nothing"
    return f"{section}.{option[0]}: expected {allowed(schema)}{about}, got {got}"


def _unknown(form: str, name: str, known: Iterable[str]) -> str:
    """Name an unknown section or option and the known one that is nearest."""
    nearest = get_close_matches(RENAMED.get(name, name), list(known), n=1, cutoff=0.0)[0]
    return (
        f"unknown {form.format(name)}: the nearest known one is "
        f"{form.split()[1].format(nearest)}; expected one of {', '.join(known)}"
    )
