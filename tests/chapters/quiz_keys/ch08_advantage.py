# SPDX-License-Identifier: MIT
"""Right answers to the quiz of chapter 8, computed."""

import json
import math
from typing import Any

import numpy as np

from pretrain.paths import data_file


def _record(name: str) -> dict[str, Any]:
    """Read a record of data/runs."""
    return json.loads(data_file("runs", f"{name}.json").read_text())


def quiz_adv_worth() -> str:
    """Apply the definition: a straight line over the logarithm of the number of labels."""
    needed = math.exp(np.interp(0.65, [0.60, 0.70], np.log([100, 10_000])))
    return f"{needed / 100:.0f} times"


def quiz_adv_null() -> str:
    """Read off the record on which side of 0 and of 5 points the interval lies."""
    found = _record("label_study")["differences"]["mlm - scratch"]["2048"]
    surely_other = found["low"] > 0 or found["high"] < 0
    return {
        (False, True): "one of 5 points is excluded",
        (False, False): "The study says nothing",
        (True, True): "Pre-training changed",
    }[surely_other, found["high"] < 0.05]


def quiz_adv_reference() -> str:
    """Compare frozen MiniLM's two factors at 512 labels."""
    worth = _record("label_study")["worth"]["frozen_minilm"]
    by_words, by_scratch = worth["bow"]["512"]["k"], worth["scratch"]["512"]["k"]
    return "Larger" if by_scratch > by_words else "Smaller"


def quiz_adv_rival() -> str:
    """Find the rivals that no trained model of the three objectives leaves surely behind."""
    following = _record("gpt_evaluation")["comparison"]["test_bits"]
    blank = {k: way["bits"] for k, way in _record("bert_evaluation")["blanks"]["ways"].items()}
    spans = _record("t5_evaluation")
    rivals = {
        "Drawing lots": [(following["uniform"], following["gpt"])],
        "Frequencies": [
            (following["unigram"], following["gpt"]),
            (blank["unigram"], blank["bert"]),
            (spans["loss"]["text"]["nats_unigram"], spans["loss"]["text"]["nats_told"]),
        ],
        "The same network": [(blank["random_encoder"], blank["bert"])],
        "counts": [
            (following["kneser_ney_best"], following["gpt"]),
            (blank["n_gram"], blank["bert"]),
            (spans["counts"]["kneser_ney"]["nats_told"], spans["loss"]["text"]["nats_told"]),
        ],
    }
    # A triple is mean, low, high; a model is surely ahead if its high lies below the rival's low.
    unbeaten = [
        name
        for name, pairs in rivals.items()
        if not any(model[2] < rival[1] for rival, model in pairs)
    ]
    assert len(unbeaten) == 1
    return unbeaten[0]


def quiz_adv_digits() -> str:
    """Sum the surprises of ten characters and round up once."""
    return f"{math.ceil(10 * -math.log2(0.9))} digits"


def quiz_adv_converse() -> str:
    """Ask which implication is false of a model that compresses well and understands nothing."""
    ways = _record("compression")["ways"]
    understands, compresses = False, ways["counts"]["bits"] <= ways["gpt_chars"]["bits"]
    implications = {
        "understands a text can compress it": (understands, compresses),
        "compresses a text well understands it": (compresses, understands),
    }
    false = [said for said, (a, b) in implications.items() if a and not b]
    assert len(false) == 1
    return false[0]
