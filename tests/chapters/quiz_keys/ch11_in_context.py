# SPDX-License-Identifier: MIT
"""Right answers to the quiz of chapter 11, computed."""

import json
import math
from typing import Any

import torch
from sklearn.metrics import roc_auc_score
from torch import Generator

from pretrain.in_context import calibrate
from pretrain.paths import data_file


def _record() -> dict[str, Any]:
    """Read the chapter's record."""
    return json.loads(data_file("runs", "in_context.json").read_text())


def quiz_icl_shots() -> str:
    """Count the answered questions in the prompt."""
    prompt = "Say whether the review is negative or positive.\n\nReview: Never again.\nSentiment:"
    questions = prompt.split("Sentiment:")[:-1]
    answered = [text for text in prompt.split("Sentiment:")[1:] if text.strip()]
    assert len(questions) == 1
    return ("Zero-shot", "One-shot", "Few-shot")[min(len(answered), 2)]


def quiz_icl_write() -> str:
    """Choose among two answers, and write greedily, from one table of probabilities."""
    after_prompt = {" not": 0.4, " good": 0.3, " bad": 0.1}
    after = {" not": {" bad": 0.9}, " good": {}, " bad": {}}
    chosen = max((" good", " bad"), key=after_prompt.__getitem__)
    written, last = "", max(after_prompt, key=after_prompt.__getitem__)
    while last:
        written += last
        follows = after.get(last, {}) if written == last else {}
        last = max(follows, key=follows.__getitem__) if follows else ""
    return f"*{chosen.strip()}* is chosen, *{written.strip()}* is written"


def quiz_icl_calibration() -> str:
    """Calibrate random scores of two answers; see which measures move."""
    draw = Generator().manual_seed(0)
    truth = torch.randint(2, (200,), generator=draw)
    lean = torch.randn(200, generator=draw) + truth
    scores = torch.stack([torch.zeros(200), lean], dim=1).log_softmax(dim=-1)
    fixed = calibrate(scores, torch.tensor([[0.2, 0.8]]).log())
    measures = {
        "AUC": lambda p: roc_auc_score(truth, p[:, 1]),
        "accuracy": lambda p: float((p.argmax(dim=1) == truth).double().mean()),
        "share of reviews": lambda p: float((p.argmax(dim=1) == 1).double().mean()),
        "probability": lambda p: float(p[0, 1]),
    }
    kept = [k for k, f in measures.items() if math.isclose(f(scores.exp()), f(fixed), abs_tol=1e-3)]
    assert len(kept) == 1
    return kept[0]


def quiz_icl_threshold() -> str:
    """Compare accuracy and AUC of zero and of four demonstrations in the record."""
    curve = _record()["curve"]
    zero, four = curve["0"], curve["4"]
    auc = [sum(found["ordered"]) / len(found["ordered"]) for found in (zero, four)]
    assert four["raw"]["high"] < zero["raw"]["low"], "accuracy has surely fallen"
    return "The threshold" if auc[1] > auc[0] - 0.02 else "The order"


def quiz_icl_exchanged() -> str:
    """Read off where the AUC lies in each draw with all labels exchanged."""
    order = _record()["wrong_labels"]["next"]["ordered"]
    share = sum(auc > 0.5 for auc in order) / len(order)
    return {0.0: "In every draw below 0.5", 1.0: "In every draw above 0.5"}.get(share, "Sometimes")


def quiz_icl_films() -> str:
    """Divide two standard errors: 300 independent sentences, and ten films of thirty alike."""
    right = 0.7
    by_sentence, by_film = (math.sqrt(right * (1 - right) / n) for n in (300, 10))
    names = {1: "Just as wide", 2: "half", 5: "a fifth", 30: "a thirtieth"}
    return names[round(by_film / by_sentence)]
