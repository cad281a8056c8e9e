# SPDX-License-Identifier: MIT
"""Recorded studies begin today as they began when they were recorded.

A record without first losses is held to the first point of a curve, or to its shortest training.
"""

import json
from typing import Any

import pytest
import torch
from torch import Generator

from experiments.ch05_bert import corruption, directions, setup, windows
from experiments.ch05_bert.setup import load_ids, middle_blanks
from experiments.ch06_t5 import learning_rates, prefixes
from experiments.ch07_worldview import contest, hmm_infilling, known_entropy, three_objectives
from experiments.ch08_labels import methods as label_methods
from experiments.ch08_labels.method_table import ARMS
from experiments.ch08_labels.method_table import Plan as LabelPlan
from experiments.ch08_labels.ner import methods as name_methods
from experiments.ch08_labels.plays import methods as pair_methods
from experiments.ch09_finetuning import curves, methods
from experiments.ch13_scaling import runs
from experiments.ch13_scaling.plan import Cell, Plan
from experiments.common import early_stopping
from experiments.common.arm_cache import ArmCache
from experiments.common.special_ids import special_of
from pretrain.evaluation import masked_log_probs, nats_to_bits
from pretrain.objectives import corrupt_mlm, random_windows
from pretrain_lab.oracles.hmm import random_source
from pretrain_lab.paths import RUNS
from pretrain_lab.tokenizers.subwords import load_tokenizer
from tests.support.first_steps import first_evaluation, first_losses

pytestmark = pytest.mark.slow


def record(name: str) -> dict[str, Any]:
    """Read a record."""
    found: dict[str, Any] = json.loads((RUNS / f"{name}.json").read_text())
    return found


def test_short_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chapter 5: windows of 16 characters, after 100 steps."""
    tokenizer, ids = load_ids()
    special, generator = special_of(tokenizer), Generator().manual_seed(17)
    drawn = random_windows(ids["test"], windows.N_JUDGED, windows.JUDGED_LEN, generator=generator)
    judged = corrupt_mlm(drawn, generator=generator, **special)

    def judge(model: Any) -> float:
        log_probs, answers = masked_log_probs(model, judged.ids, judged.labels, batch_size=512)
        return nats_to_bits(-log_probs.gather(-1, answers[:, None]).mean().item())

    found = first_evaluation(
        monkeypatch, windows, lambda: windows.run(ids["train"], 16, 0, special, judge),
        windows.EVERY,
    )  # fmt: skip
    assert found == pytest.approx(record("bert_windows")["curves"]["16"][0][0], abs=0.01)


def test_masks_of_bert(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chapter 5: 15 % selected, 80/10/10; the first losses of the first seed."""
    name, (tokenizer, ids) = corruption.REFERENCE, load_ids()
    data = {"tokenizer": tokenizer, "ids": ids, "special": special_of(tokenizer)}
    expected = record("bert_corruption")["first_losses"][name][:4]
    found = first_losses(
        monkeypatch,
        setup,
        lambda: corruption.run_arm(corruption.arms()[name], 0, data),
        len(expected),
    )
    assert found == pytest.approx(expected, abs=5e-3)


def test_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chapter 5: the reader from the left, at the rate that it chose."""
    recorded, (tokenizer, ids) = record("bert_directions"), load_ids()
    data = {
        "tokenizer": tokenizer,
        "ids": ids,
        "blanks": middle_blanks(ids["test"], directions.N_CURVE, seed=7),
    }
    rate = directions.best_rate(recorded["tried"]["left"])
    rates = dict.fromkeys(directions.make_ways(data), rate)
    expected = recorded["first_losses_nats"]["left"][:4]
    found = first_losses(
        monkeypatch, setup, lambda: directions.run_seed(0, data, rates), len(expected)
    )
    assert found == pytest.approx(expected, abs=5e-3)


def test_prefixes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chapter 6: the first of four lessons, spans in short windows."""
    plan, tokenizer = prefixes.Plan(), load_tokenizer(prefixes.VOCABULARY)
    expected = record("prefixes")["first_losses_nats"][:4]
    found = first_losses(
        monkeypatch,
        prefixes,
        lambda: prefixes.train_model(tokenizer, {}, plan, ArmCache("none", [], keep=False)),
        len(expected),
    )
    assert found == pytest.approx(expected, abs=0.02)


def test_learning_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chapter 6: the relative rate, after 50 steps."""
    arm, study = "relative, 0.04", learning_rates
    judge, train = study.Judge(study.load_ids("validation")), study.load_ids("train")
    found = first_evaluation(
        monkeypatch, study, lambda: study.run(arm, 0, train, judge, 400), study.EVERY
    )
    assert found == pytest.approx(record("t5_rates")["curves"][arm][0][0], abs=0.01)


def test_known_entropy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chapter 7: GPT's first distance from the optimum, by the recipe that it chose."""
    study, recorded = known_entropy, record("known_entropy")
    source = random_source(**study.SOURCE, generator=Generator().manual_seed(study.SOURCE_SEED))
    plan, recipe = study.Plan(), recorded["chosen"]["gpt"]
    asked = study.questions(source, plan)[0]["gpt"]
    step = recorded["curve_steps"][1]
    found = first_evaluation(
        monkeypatch, study, lambda: study.run("gpt", 0, source, asked, plan, recipe), step
    )
    assert found == pytest.approx(recorded["curves"]["gpt"][0][1][0], abs=0.005)


def test_infilling_on_a_known_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chapter 7: the prefix first, after 300 steps."""
    study = hmm_infilling
    source = random_source(
        **known_entropy.SOURCE, generator=Generator().manual_seed(known_entropy.SOURCE_SEED)
    )
    plan = study.Plan()
    found = first_evaluation(
        monkeypatch, study, lambda: study.run("psm", 0, source, plan), plan.every
    )
    expected = record("fill_the_middle")["source"]["orders"]["psm"]["curves"][0][0]
    assert found == pytest.approx(expected[2], abs=0.01)


@pytest.mark.parametrize("name", ["scratch", "gpt"])
def test_pairs_of_plays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chapter 8: two lines change places, the first losses of the first seed."""
    recorded = record("plays_study")
    arm, n = recorded["tasks"]["lines"]["arms"][name], recorded["n_pairs"]
    expected = arm["first_losses_nats"][:4]
    found = first_losses(
        monkeypatch,
        early_stopping,
        lambda: pair_methods.run_network(name, "lines", arm["chosen"], n, 0, 1),
        len(expected),
    )
    assert found == pytest.approx(expected, abs=5e-3)


@pytest.mark.parametrize("name", ["scratch", "mlm"])
def test_labels(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chapter 8: 128 labelled sentences, the first losses of the first seed."""
    recorded = record("label_study")["arms"][name]
    expected = recorded["first_losses_nats"]["128"][:4]
    found = first_losses(
        monkeypatch,
        label_methods,
        lambda: label_methods.run(
            ARMS[name], recorded["chosen"]["128"], 128, 0, "test", LabelPlan()
        ),
        len(expected),
    )
    assert found == pytest.approx(expected, abs=5e-3)


@pytest.mark.parametrize("name", ["scratch", "mlm"])
def test_names(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chapter 8: 512 labelled passages, the first losses of the first seed."""
    recorded = record("name_study")["arms"][name]
    best = max(recorded["tried"]["512"], key=lambda one: one["validation"])
    expected = recorded["first_losses_nats"]["512"][:4]
    found = first_losses(
        monkeypatch,
        early_stopping,
        lambda: name_methods.run(
            name_methods.ARMS[name], best["setting"], 512, 0, name_methods.Plan()
        ),
        len(expected),
    )
    assert found == pytest.approx(expected, abs=5e-3)


@pytest.mark.parametrize("name", list(three_objectives.OWN))
def test_three_objectives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chapter 7: the first losses of seed 0, by the recipe that the trials chose."""
    recorded, study = record("three_objectives"), three_objectives
    race = study.contest_of(recorded["recipe"]["models"])
    expected = recorded["first_losses"][name][:3]
    found = first_losses(
        monkeypatch,
        contest,
        lambda: study.train(race, name, 0, study.load_ids(), study.Plan()),
        len(expected),
    )
    assert found == pytest.approx(expected, abs=0.02)


def test_fine_tuning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chapter 9: everything is tuned, the first losses of the first seed."""
    recorded, plan = record("fine_tuning"), methods.Plan()
    expected = recorded["curves"]["full"]["losses"][0][:4]
    found = first_losses(
        monkeypatch,
        methods,
        lambda: methods.run_method(plan, "full", recorded["methods"]["full"]["lr"], 0, "test"),
        len(expected),
    )
    assert found == pytest.approx(expected, abs=5e-3)


def test_fine_tuning_curves() -> None:
    """Chapter 9: the Trainer's first logged loss, within the warm-up, and the loss before it."""
    expected = record("fine_tuning_curves")["curves"]["pre-trained"]
    found = curves.run("pre-trained", n_steps=curves.MEAN_OF)
    assert found["loss"][0] == pytest.approx(expected["loss"][0], abs=5e-3)
    assert found["validation_loss"][0] == pytest.approx(expected["validation_loss"][0], abs=5e-3)


def test_scaling() -> None:
    """Chapter 13: the shortest training of the smallest model, to its end."""
    cell = next(c for c in record("scaling")["cells"] if (c["width"], c["level"]) == (16, 1))
    torch.manual_seed(0)
    found = runs.run(Plan(), Cell(16, 1), cell["lr"], 0, "test")
    assert found["n_characters"] == cell["d"]
    assert found["loss"] == pytest.approx(cell["losses"][0], abs=0.01)
