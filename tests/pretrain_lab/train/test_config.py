# SPDX-License-Identifier: MIT
"""Configurations: what is refused, with which words, and what the rest becomes."""

import copy
import dataclasses
from pathlib import Path
from typing import Any

import pytest
from train_runs import write_toml

from pretrain.t5 import T5
from pretrain.training import OptimConfig
from pretrain_lab.paths import ROOT
from pretrain_lab.train.__main__ import describe_options, main
from pretrain_lab.train.config import check_config, load_config
from pretrain_lab.train.objectives import OBJECTIVES
from pretrain_lab.train.options import ConfigError, TrainingOptions

GOOD: dict[str, Any] = {
    "data": {"files": ["a.txt"], "seq_len": 16},
    "tokenizer": {"kind": "characters"},
    "model": {"d_model": 8, "n_layers": 1, "n_heads": 2},
    "objective": {"kind": "causal"},
    "training": {"n_steps": 10, "batch_size": 4, "lr": 1},
    "output": {"folder": "runs/x"},
}


def changed(**changes: Any) -> dict[str, Any]:
    """Give a good content with options such as training__lr replaced; ... takes one away."""
    content = copy.deepcopy(GOOD)
    for name, value in changes.items():
        section, _, option = name.partition("__")
        if not option:
            content[section] = value
        elif value is ...:
            del content[section][option]
        else:
            content[section][option] = value
    return content


def test_a_good_configuration_gets_its_defaults() -> None:
    """Whole numbers become floats, and max_len the length of the windows."""
    config = check_config(changed())
    assert type(config.training.lr) is float
    assert config.training.optim == OptimConfig(1.0)
    assert config.data.files == ("a.txt",)
    settings = config.settings()
    assert settings["data"]["files"] == ["a.txt"]
    assert settings["model"]["max_len"] == 16
    assert "output" not in settings


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_each_objective_has_its_model(kind: str) -> None:
    """Built from [model]; what is not said is the model's own default."""
    config, spec = check_config(changed(objective__kind=kind)), OBJECTIVES[kind]
    sizes = {"d_model": 8, "n_layers": 1, "n_heads": 2}
    limit = {} if spec.model is T5 else {"max_len": 16}  # a T5 has no longest text
    made = spec.config(11, **config.model.model_dump())
    assert made == spec.config(11, **sizes, **limit)
    assert spec.model(made).config == made


REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"trainings": {}}, r"unknown section \[trainings\]: did you mean \[training\]\?"),
    ({"model": 3}, r"expected a section \[model\], got 3"),
    ({"training__n_step": 3}, r"unknown option training.n_step: did you mean training.n_steps\?"),
    ({"training__lr": ...}, r"training.lr: expected a number > 0 \(peak .*\), got nothing"),
    ({"training__lr": "fast"}, "training.lr: expected a number > 0, got 'fast'"),
    ({"training__lr": 0}, "training.lr: expected a number > 0, got 0"),
    ({"training__lr": float("inf")}, "training.lr: expected a number > 0, got inf"),
    ({"training__n_steps": 2.5}, "training.n_steps: expected a whole number >= 1, got 2.5"),
    ({"training__n_steps": True}, "training.n_steps: expected a whole number >= 1, got True"),
    ({"training__betas": [0.9]}, r"betas: expected a list of 2 numbers >= 0 and < 1, got \[0.9\]"),
    ({"training__betas": [0.9, 1.0]}, "betas: expected a list of 2 numbers >= 0 and < 1, got 1.0"),
    ({"training__relative_lr": 1}, "training.relative_lr: expected true or false, got 1"),
    ({"training__n_warmup": 11}, "n_warmup: expected at most training.n_steps = 10, got 11"),
    ({"training__micro_batch_size": 3}, "a divisor of training.batch_size = 4, got 3"),
    (
        {"training__evaluate_every": 5, "data__hold_out": 0},
        r"expected data.validation_files to evaluate on or data.hold_out > 0, got \(\)",
    ),
    (
        {"training__evaluate_every": 5, "data__stream": True},
        r"to evaluate on, for nothing is held out of a stream, got \(\)",
    ),
    ({"data__files": 3}, "data.files: expected a list of texts, got 3"),
    ({"data__hold_out": 1.0}, "data.hold_out: expected a number >= 0 and < 1, got 1.0"),
    ({"data__files": []}, r"\[data\]: expected exactly one of corpus, files, dataset, got \[\]"),
    ({"data__corpus": "plays"}, r"exactly one of corpus, files, dataset, got \['corpus', 'files'"),
    ({"data__order": "sorted"}, 'data.order: expected one of "random", "sequential", got'),
    ({"data__stream": True, "data__order": "random"}, 'data.order: expected "sequential" where'),
    (
        {"data": {"corpus": "plays", "seq_len": 16, "stream": True}},
        "data.stream: expected files or a dataset, got 'a corpus'",
    ),
    ({"tokenizer__kind": "words"}, 'tokenizer.kind: expected one of "file", "characters", "bpe"'),
    ({"tokenizer__path": "x.json"}, "path: expected none for kind \"characters\", got 'x.json'"),
    ({"tokenizer__kind": "bpe"}, 'tokenizer.vocab_size: expected a value for kind "bpe", got None'),
    ({"model__d_modle": 8}, r"model.d_modle: did you mean model.d_model\?"),
    ({"model__vocab_size": 8}, "unknown option model.vocab_size"),
    ({"model__d_model": ...}, r"model.d_model: expected a whole number \(of GPTConfig\), got not"),
    ({"model__d_ff": 8.5}, "model.d_ff: expected a whole number, got 8.5"),
    ({"model__max_len": 8}, "model.max_len: expected at least data.seq_len = 16, got 8"),
    ({"model__dropout_prob": 0.1}, r"did you mean model.dropout\?"),
    ({"objective__kind": "next"}, 'objective.kind: expected one of "causal", "masked", "spans"'),
    ({"objective__kind": ["causal"]}, "objective.kind: expected one of"),
    ({"objective__noise_density": 0.5}, "unknown option objective.noise_density"),
    (
        {"objective": {"kind": "masked", "select_prob": 0.1}},
        r"did you mean objective.mlm_probability\?",
    ),
    (
        {"objective": {"kind": "spans", "roll": True}},
        r"did you mean objective.random_roll\?",
    ),
    ({"output__folder": ...}, "output.folder: expected a text"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSALS)
def test_what_cannot_be_meant_is_refused(changes: dict[str, Any], message: str) -> None:
    """The message names the option, what was expected and what came."""
    with pytest.raises(ConfigError, match=message):
        check_config(changed(**changes))


def test_overrides_are_values_of_toml_or_texts(tmp_path: Path) -> None:
    """One without a value takes the option away."""
    file = write_toml(tmp_path / "x.toml", GOOD)
    changes = ["training.lr=2e-3", "output.folder=some/where", 'data.files=["b", "c"]']
    config = load_config(file, changes)
    assert config.training.lr == 2e-3
    assert config.output.folder == "some/where"
    assert config.data.files == ("b", "c")
    for override, message in (
        ("training.lr=", "training.lr: .* got nothing"),
        ("training.lr", r'expected an override "section.option=value", got'),
        ("lr=1e-3", r"expected an override .*, got .lr=1e-3.; did you mean training.lr=1e-3\?"),
        ("=1", r'expected an override "section.option=value", got'),
        ("trainin.lr=1", r"unknown section \[trainin\]"),
    ):
        with pytest.raises(ConfigError, match=message):
            load_config(file, [override])


@pytest.mark.parametrize("objective", ['"gpt"', '{kind = ["gpt"]}', "{}", "3"])
def test_an_override_beside_a_wrong_objective_is_told_in_one_line(
    tmp_path: Path, objective: str
) -> None:
    """The override is what comes first; its hint needs no objective."""
    file = write_toml(tmp_path / "x.toml", {k: v for k, v in GOOD.items() if k != "objective"})
    file.write_text(f"objective = {objective}\n{file.read_text()}")
    with pytest.raises(ConfigError, match=r"got .lr=1e-3.; did you mean training.lr=1e-3\?"):
        load_config(file, ["lr=1e-3"])
    with pytest.raises(ConfigError, match=r"objective.kind: expected one of"):
        load_config(file, ["training.lr=1e-3"])


def test_a_wrong_configuration_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a traceback, and before anything is read or made."""
    file = write_toml(tmp_path / "x.toml", GOOD)
    (tmp_path / "bad.toml").write_text("lr = = 1")
    for arguments, message in (
        (
            [str(file), "--set", "training.n_step=5"],
            "unknown option training.n_step: did you mean training.n_steps?",
        ),
        ([str(tmp_path / "bad.toml")], "bad.toml: expected TOML, but"),
        ([str(tmp_path / "nowhere.toml")], "expected a TOML file, but"),
    ):
        assert main(["--config", *arguments]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.startswith("pretrain_lab.train: ")
        assert error.count("\n") == 1
    assert main(["novel.txt"]) == 2
    (tmp_path / "novel.txt").write_text("once upon a time")
    assert main([str(tmp_path / "novel.txt")]) == 2
    assert "a text comes second: python -m pretrain_lab.train" in capsys.readouterr().err
    assert main([]) == 2
    assert "expected a configuration, such as" in capsys.readouterr().err


def test_help_has_every_option_with_its_default() -> None:
    """What is printed comes from the same fields that are checked."""
    text = describe_options()
    for name in TrainingOptions.model_fields:
        assert f"\n  {name}: " in text
    assert "n_steps: updates (a whole number >= 1; required)" in text
    assert (
        "betas: AdamW's two rates (a list of 2 numbers >= 0 and < 1; default [0.9, 0.95])" in text
    )
    assert "vocab_size: ids, for the two kinds of bpe (a whole number >= 1; default none)" in text
    for spec in OBJECTIVES.values():
        assert (spec.options.__doc__ or "?") in text
        assert all(one.name in text for one in dataclasses.fields(spec.config))
    assert "  of a GPT (causal, prefix):\n    d_model: (a whole number; required)" in text
    assert '    norm: (a text; default "post")' in text


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("training.lerning_rate", "training.lr"),
        ("training.learning_rate", "training.lr"),
        ("training.epochs", "training.n_steps"),
        ("training.max_steps", "training.n_steps"),
        ("training.seq_len", "data.seq_len"),
        ("model.width", "model.d_model"),
        ("model.hidden_size", "model.d_model"),
        ("model.layers", "model.n_layers"),
        ("model.heads", "model.n_heads"),
        ("training.block_size", "data.seq_len"),
    ],
)
def test_the_hint_is_what_was_meant(name: str, meant: str) -> None:
    """Names of other programs, misspellings, and options that stand in another section."""
    with pytest.raises(ConfigError, match=f"unknown option {name}: did you mean {meant}\\?$"):
        check_config(changed(**{name.replace(".", "__"): 1}))


def test_without_a_near_name_the_options_are_listed() -> None:
    """No nonsense; and the device is chosen on the command line."""
    with pytest.raises(
        ConfigError, match=r"option training.colour: expected one of n_steps, batch"
    ):
        check_config(changed(training__colour=1))
    with pytest.raises(ConfigError, match=r"option training.device: .* the command's --cpu leaves"):
        check_config(changed(training__device="cuda"))
    with pytest.raises(ConfigError, match=r"unknown section \[zebra\]: expected \[data\], \[tok"):
        check_config(changed(zebra={}))


def test_what_is_meant_is_taken() -> None:
    """Whole numbers written 1e3, one file without a list, objectives by their models' names."""
    config = check_config(
        changed(training__n_steps=1e3, data__files="a.txt", objective__kind="bert")
    )
    assert config.training.n_steps == 1000
    assert type(config.training.n_steps) is int
    assert config.data.files == ("a.txt",)
    assert config.objective.kind == "masked"
    for kind, model in (("gpt", "causal"), ("mlm", "masked"), ("t5", "spans"), ("clm", "causal")):
        assert check_config(changed(objective__kind=kind)).objective.kind == model


def test_texts_take_the_place_of_the_files(tmp_path: Path) -> None:
    """Those of the command line; nothing of the file's text is left."""
    file = write_toml(tmp_path / "x.toml", changed(data__validation_files=["v.txt"]))
    config = load_config(file, texts=["one.txt", "two.txt"])
    assert config.data.files == ("one.txt", "two.txt")
    assert config.data.validation_files == ()
    kept = load_config(file, ["data.validation_files=own.txt"], texts=["one.txt"])
    assert kept.data.validation_files == ("own.txt",), "it was given beside the texts"
    plays = write_toml(tmp_path / "y.toml", {**GOOD, "data": {"corpus": "plays", "seq_len": 16}})
    assert load_config(plays, texts=["one.txt"]).data.corpus is None


def test_warm_up_and_micro_batch_are_cut_to_fit(tmp_path: Path) -> None:
    """And it is said; what somebody gave beside the file is refused instead."""
    made = changed(training__n_warmup=10, training__micro_batch_size=4, training__batch_size=8)
    file = write_toml(tmp_path / "x.toml", made)
    assert load_config(file).notes == ()
    config = load_config(file, ["training.n_steps=5", "training.batch_size=6"])
    assert (config.training.n_warmup, config.training.micro_batch_size) == (0, 2)
    assert config.notes == (
        "training.n_warmup cut to 0, for 5 steps",
        "training.micro_batch_size cut to 2, for batches of 6",
    )
    with pytest.raises(ConfigError, match=r"n_warmup: expected at most .* = 5, got 7"):
        load_config(file, ["training.n_steps=5", "training.n_warmup=7"])


def test_every_objective_has_an_example() -> None:
    """Each is a correct configuration; those of the plays are short."""
    files = sorted((ROOT / "experiments" / "configs").glob("*.toml"))
    examples = {file.stem: load_config(file) for file in files}
    own = {name: made for name, made in examples.items() if name.startswith("own_text")}
    plays = {name: made for name, made in examples.items() if name not in own}
    assert sorted(made.objective.kind for made in plays.values()) == sorted(OBJECTIVES)
    assert [made.objective.kind for made in own.values()] == ["causal", "masked", "spans"]
    for name, made in examples.items():
        assert made.output.folder == f"runs/{name}"
        assert made.training.evaluate_every > 0
    assert all(made.training.n_steps <= 100 for made in plays.values())
    assert all(made.tokenizer.kind == "byte-bpe" for made in own.values())
