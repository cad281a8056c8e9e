# SPDX-License-Identifier: MIT
"""The looks of the time machines: kinds of characters, signs in texts, and when they look."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from experiments.book_models import snapshot_answers, training_snapshots
from pretrain.gpt import GPT
from pretrain.objectives import CausalLM
from pretrain_lab.checkpoints import load_quantized
from pretrain_lab.paths import DATA, RUNS
from pretrain_lab.tokenizers.characters import CharTokenizer

RECORD = json.loads((RUNS / "time_machine.json").read_text())
WEIGHTS = json.loads((RUNS / "time_machine_weights.json").read_text())


def test_every_character_has_its_kind() -> None:
    """A heading is one as a whole; a colon in a speech is a mark; an apostrophe opens no word."""
    kinds = snapshot_answers.kinds_of("LADY ANNE:\nIt's so:\n\nALL:\nO\n").tolist()
    letters = {"space or line end": "s", "inside a word": "i", "first letter of a word": "f",
               "heading": "h", "mark": "m"}  # fmt: skip
    found = "".join(letters[snapshot_answers.KINDS[kind]] for kind in kinds)
    assert found == "h" * 10 + "s" + "fimi" + "s" + "fim" + "ss" + "h" * 4 + "s" + "f" + "s"


def test_signs_count_long_words_and_headings() -> None:
    """Short words and words that are cut off do not count; a known heading also has the form."""
    texts = ["JULIET:\nwhat light thr", "QZX:\nwhat is glorp ", "no heading here\n"]
    found = snapshot_answers.signs(texts, {"what", "light", "here"}, {"JULIET:\n"})
    assert found["heading form"][0] == pytest.approx(2 / 3)
    assert found["known heading"][0] == pytest.approx(1 / 3)
    # juliet, what, light, what, glorp, heading, here; "thr" and "is" are out
    assert found["known long words"][0] == pytest.approx(4 / 7)


def test_nothing_is_counted_where_there_is_nothing() -> None:
    """A text without long words has no share of them."""
    assert snapshot_answers.signs(["a b"], set(), set())["known long words"] is None


def test_a_training_is_looked_at_without_being_changed(tiny_gpt: Callable[..., GPT]) -> None:
    """The looks come at the chosen steps and the last; drawing in them moves no weight."""
    ids = torch.randint(11, (200,), generator=torch.Generator().manual_seed(0))
    settings = {"n_steps": 60, "lr": 1e-3}
    steps, ends = [], []
    for draws in (0, 3):
        torch.manual_seed(0)
        model = tiny_gpt()

        def look(_: GPT, step: int, draws: int = draws) -> dict[str, float]:
            """Use up random numbers of a generator of the look's own."""
            torch.rand(draws, generator=torch.Generator().manual_seed(1))
            return {"step": step, "bits": 0.0}

        loss = CausalLM(ids, batch_size=2, seq_len=4)
        steps.append([seen["step"] for seen in training_snapshots.travel(
            model, loss, look, **settings)])  # fmt: skip
        ends.append(next(model.parameters()).detach().clone())
    assert steps == [[0, 50, 60], [0, 50, 60]]
    assert torch.equal(*ends)


def test_a_kept_look_stores_the_weights_of_its_moment(
    tiny_gpt: Callable[..., GPT], tmp_path: Path
) -> None:
    """One file for each look, with its step; what rounding costs is read from the file."""
    tokenizer = CharTokenizer("abcdefghi")
    model = tiny_gpt()

    def look(model: GPT, step: int) -> dict[str, Any]:
        """Look at one weight alone."""
        first = float(model.embeddings.token.weight.data[0, 0])
        guess = [[["a" if first > 0 else "b", 1.0]]]
        return {"step": step, "bits": first, "guesses": guess, "greedy": guess[0][0][0]}

    keep = training_snapshots.keeping(look, "gpt", tokenizer, tmp_path)
    looks = []
    for step, value in ((0, 0.5), (50, -0.25)):
        model.embeddings.token.weight.data[0, 0] = value
        looks.append(keep(model, step))
    assert looks == [look(model, 0) | {"bits": 0.5, "guesses": [[["a", 1.0]]], "greedy": "a"},
                     look(model, 50)]  # fmt: skip
    names = ["gpt_00000.safetensors", "gpt_00050.safetensors"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    rows = training_snapshots.rounding_cost("gpt", looks, look, tmp_path)
    assert [row["step"] for row in rows] == [0, 50]
    assert [row["bits_int8"] for row in rows] == pytest.approx([0.5, -0.25], abs=0.02)
    assert all(row["same_greedy_text"] and row["same_best_guess"] == 1 for row in rows)
    looks[1] |= {"guesses": [[["a", 1.0]]], "greedy": "aa"}  # as if the float model said more
    other = training_snapshots.rounding_cost("gpt", looks, look, tmp_path)[1]
    assert (other["same_greedy_text"], other["same_best_guess"]) == (False, 0)


def test_every_look_has_its_weights() -> None:
    """As many files as looks, each small enough, and the record tells their true sizes."""
    files = set()
    for name in training_snapshots.RECIPES:
        assert [row["step"] for row in WEIGHTS[name]] == [
            look["step"] for look in RECORD[name]["looks"]
        ]
        for row, look in zip(WEIGHTS[name], RECORD[name]["looks"], strict=True):
            assert row["bits_float"] == pytest.approx(look["bits"], abs=1e-3)
            path = training_snapshots.weights_file(training_snapshots.WEIGHTS, name, row["step"])
            files.add(path)
            assert path.stat().st_size == row["bytes"] <= 200 * 1024
            model, _, step = load_quantized(path)
            assert step == row["step"]
            assert type(model).__name__.lower() == name
            shape = training_snapshots.RECIPES[name]["shape"]
            assert {key: getattr(model.config, key) for key in shape} == shape
    assert files == set(training_snapshots.WEIGHTS.iterdir())
    assert sum(path.stat().st_size for path in files) == WEIGHTS["total_bytes"] <= 2_000_000


def test_the_data_card_tells_what_rounding_costs() -> None:
    """The numbers of the card are those of the record."""
    card = " ".join((DATA / "README.md").read_text(encoding="utf-8").split())
    costs = {
        name: [abs(row["bits_int8"] - row["bits_float"]) for row in WEIGHTS[name]]
        for name in ("gpt", "bert")
    }
    most, last = max(map(max, costs.values())), max(rows[-1] for rows in costs.values())
    assert f"at most {most:.3f} bits per character" in card
    assert f"at most {last:.4f} for the last GPT and BERT" in card
    changed = sum(not row["same_greedy_text"] for row in WEIGHTS["gpt"])
    assert (changed, len(WEIGHTS["gpt"])) == (2, 8)
    assert "two of the eight of the GPT do" in card
    assert f"{WEIGHTS['total_bytes'] / 1e6:.1f} MB in all" in card
    for name, rows in WEIGHTS.items():
        if name in costs:
            sizes = f"{rows[-1]['bytes'] / 1e3:.0f} kB"
            last_name = f"`{name}_{rows[-1]['step']:05d}` of {sizes}"
            assert f"{len(rows)} files `{name}_00000` to {last_name}" in card


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt", "bert"])
def test_stored_weights_reach_the_recorded_loss(name: str) -> None:
    """The last file of each training, asked again, costs the bits of the record."""
    row = WEIGHTS[name][-1]
    model, tokenizer, step = load_quantized(
        training_snapshots.weights_file(training_snapshots.WEIGHTS, name, row["step"])
    )
    n = training_snapshots.N_HELD_OUT
    look = (
        snapshot_answers.gpt_look(tokenizer, n, lambda texts: {})
        if name == "gpt"
        else snapshot_answers.bert_look(tokenizer, 4 * n)
    )
    assert look(model, step)["bits"] == pytest.approx(row["bits_int8"], abs=2e-3)
