# SPDX-License-Identifier: MIT
"""Configurations: what is refused, with which words, and what the rest becomes."""

import copy
import dataclasses
from pathlib import Path
from typing import Any

import pytest

from pretrain_lab.train.config import check_config, describe_options, load_config
from pretrain_lab.train.objectives import KINDS
from pretrain_lab.train.options import ConfigError, TrainingOptions

GOOD: dict[str, Any] = {
    "data": {"files": ["a.txt"], "seq_len": 16},
    "tokenizer": {"kind": "characters"},
    "model": {"d_model": 8, "n_layers": 1, "n_heads": 2},
    "objective": {"kind": "causal"},
    "training": {"n_steps": 10, "batch_size": 4, "lr": 1},
    "output": {"folder": "runs/x"},
}


def changed(name: str, value: Any) -> dict[str, Any]:
    """Give a good content with one option replaced; Ellipsis takes it away."""
    content = copy.deepcopy(GOOD)
    section, _, option = name.partition(".")
    if value is ...:
        del content[section][option]
    elif option:
        content[section][option] = value
    else:
        content[section] = value
    return content


def test_a_good_configuration_gets_its_defaults() -> None:
    """Whole numbers become floats, lists tuples, and max_len the length of the windows."""
    config = check_config(copy.deepcopy(GOOD))
    assert config.training.lr == 1.0
    assert type(config.training.lr) is float
    assert config.training.betas == (0.9, 0.95)
    assert config.data.files == ("a.txt",)
    assert config.model == {"d_model": 8, "n_layers": 1, "n_heads": 2, "max_len": 16}
    assert config.output.checkpoint_every == 500


def test_settings_hold_all_but_the_output() -> None:
    """Where files go does not decide numbers; everything else does."""
    settings = check_config(copy.deepcopy(GOOD)).settings()
    assert settings["data.files"] == ["a.txt"]
    assert settings["model.max_len"] == 16
    assert settings["training.seed"] == 0
    assert not [name for name in settings if name.startswith("output")]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("trainings", {}, r"unknown section \[trainings\]: the nearest known one is \[training\]"),
        ("model", 3, r"expected a section \[model\], got 3"),
        ("training.n_step", 3, r"unknown option training.n_step: .* one is training.n_steps"),
        ("training.learning_rate", 3, "unknown option training.learning_rate"),
        ("training.lr", ..., r"training.lr: expected a number > 0 \(peak learning rate\), got not"),
        ("training.lr", "fast", "training.lr: expected a number > 0, got 'fast'"),
        ("training.lr", 0, "training.lr: expected a number > 0, got 0.0"),
        ("training.lr", float("inf"), "training.lr: expected a number > 0, got inf"),
        ("training.n_steps", 2.5, "training.n_steps: expected a whole number >= 1, got 2.5"),
        ("training.n_steps", True, "training.n_steps: expected a whole number >= 1, got True"),
        ("training.betas", [0.9], "training.betas: expected a list of 2 numbers >= 0 and < 1, got"),
        ("training.betas", [0.9, 1.0], r"training.betas: .* >= 0 and < 1, got 1.0"),
        ("training.relative_lr", 1, "training.relative_lr: expected true or false, got 1"),
        ("training.n_warmup", 11, "n_warmup: expected at most training.n_steps = 10, got 11"),
        ("training.micro_batch_size", 3, "a divisor of training.batch_size = 4, got 3"),
        ("training.evaluate_every", 5, "expected data.validation_files to evaluate on, got none"),
        ("data.files", "a.txt", "data.files: expected a list of texts, got 'a.txt'"),
        ("data.files", [1], "data.files: expected a list of texts, got 1"),
        ("data.files", [], "expected exactly one of corpus, files, dataset, got none"),
        ("data.corpus", "plays", r"exactly one of corpus, files, dataset, got \['corpus', 'files'"),
        ("data.order", "sorted", 'data.order: expected one of "random", "sequential", got'),
        ("data.seq_len", 1, "data.seq_len: expected a whole number >= 2, got 1"),
        ("tokenizer.kind", "words", 'tokenizer.kind: expected one of "file", "characters", "bpe"'),
        ("tokenizer.path", "x.json", 'expected none for kind "characters", got \'x.json\''),
        ("model.d_modle", 8, "model.d_modle: the nearest known one is model.d_model"),
        ("model.vocab_size", 8, "unknown option model.vocab_size"),
        ("model.d_model", ..., "model.d_model: expected a whole number, for GPT, got nothing"),
        ("model.d_model", "8", "model.d_model: expected a whole number, got '8'"),
        ("model.d_ff", 8.0, "model.d_ff: expected a whole number, got 8.0"),
        ("model.max_len", 8, "model.max_len: expected at least data.seq_len = 16, got 8"),
        ("objective.kind", "next", 'objective.kind: expected one of "causal", "masked", "spans"'),
        ("objective.kind", ["causal"], "objective.kind: expected one of"),
        ("objective.mask_prob", 0.5, "unknown option objective.mask_prob"),
        ("output.folder", ..., "output.folder: expected a text"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(name: str, value: Any, message: str) -> None:
    """The message names the option, what was expected and what came."""
    with pytest.raises(ConfigError, match=message):
        check_config(changed(name, value))


def test_options_of_two_sections_must_fit() -> None:
    """A stream has one order, a corpus needs no stream, and a vocabulary of bpe a size."""
    content = changed("data.stream", True)
    content["data"]["order"] = "random"
    with pytest.raises(ConfigError, match='expected "sequential" where data'):
        check_config(content)
    content = changed("data", {"corpus": "plays", "seq_len": 16, "stream": True})
    with pytest.raises(ConfigError, match="expected files or a dataset to stream, got a corpus"):
        check_config(content)
    with pytest.raises(ConfigError, match='vocab_size: expected a value for kind "bpe", got None'):
        check_config(changed("tokenizer.kind", "bpe"))
    with pytest.raises(ConfigError, match='path: expected a value for kind "file", got None'):
        check_config(changed("tokenizer.kind", "file"))


@pytest.mark.parametrize("kind", KINDS)
def test_each_objective_has_its_model(kind: str) -> None:
    """A T5 has no max_len; its message says so by the names that it has."""
    config = check_config(changed("objective.kind", kind))
    assert ("max_len" in config.model) == (kind != "spans")
    content = changed("objective.kind", kind)
    content["model"]["max_len"] = 20
    if kind == "spans":
        with pytest.raises(
            ConfigError, match=r"unknown option model.max_len: .*model.max_distance"
        ):
            check_config(content)
    else:
        assert check_config(content).model["max_len"] == 20
    assert KINDS[kind].model(11, **config.model)


def test_files_and_overrides(tmp_path: Path) -> None:
    """Overrides are TOML values, or texts when they are none."""
    file = tmp_path / "x.toml"
    file.write_text(
        '[data]\nfiles = ["a.txt"]\nseq_len = 16\n[tokenizer]\nkind = "characters"\n'
        "[model]\nd_model = 8\nn_layers = 1\nn_heads = 2\n[objective]\nkind = 'causal'\n"
        "[training]\nn_steps = 10\nbatch_size = 4\nlr = 1\n[output]\nfolder = 'x'\n"
    )
    changes = ["training.lr=2e-3", "output.folder=some/where", 'data.files=["b", "c"]']
    config = load_config(file, changes)
    assert config.training.lr == 2e-3
    assert config.output.folder == "some/where"
    assert config.data.files == ("b", "c")
    with pytest.raises(ConfigError, match=r"training\.lr: expected a number > 0 .*, got not"):
        load_config(file, ["training.lr="])
    for wrong in ("training.lr", "lr=1", "=1"):
        with pytest.raises(ConfigError, match=r'expected an override "section.option=value", got'):
            load_config(file, [wrong])
    with pytest.raises(ConfigError, match=r"unknown section \[trainin\]"):
        load_config(file, ["trainin.lr=1"])
    file.write_text("lr = = 1")
    with pytest.raises(ConfigError, match=r"x\.toml: expected TOML, but"):
        load_config(file)
    with pytest.raises(ConfigError, match=r"expected a TOML file, but .*nowhere\.toml"):
        load_config(tmp_path / "nowhere.toml")


def test_the_description_has_every_option_with_its_default() -> None:
    """What the help prints comes from the same declarations that are checked."""
    text = describe_options()
    for item in dataclasses.fields(TrainingOptions):
        assert f"  {item.name}: {item.metadata['about']} (" in text
    assert (
        "betas: AdamW's two rates (a list of 2 numbers >= 0 and < 1; default [0.9, 0.95])" in text
    )
    assert "n_steps: updates (a whole number >= 1; required)" in text
