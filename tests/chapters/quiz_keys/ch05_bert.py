# SPDX-License-Identifier: MIT
"""Keys of the quiz of chapter 5."""

import inspect
import json
from typing import Any

import torch

from pretrain.bert import BERT
from pretrain.objectives import corrupt_mlm
from pretrain.paths import data_file


def _record(name: str) -> dict[str, Any]:
    """Read a record of the chapter's studies."""
    found: dict[str, Any] = json.loads(data_file("runs", f"{name}.json").read_text())
    return found


def quiz_brt_rate() -> str:
    """Read the sign of the recorded interval: 30 % minus 15 %, in bits at one blank."""
    arms = _record("bert_corruption")["arms"].values()
    (arm,) = [one for one in arms if one["select_prob"] == 0.3]
    gap = arm["minus_reference"]["blank_bits"]
    if gap["low"] <= 0 <= gap["high"]:
        return "holds no difference"
    return f"{'fewer' if gap['high'] < 0 else 'more'} bits"


def quiz_brt_sides() -> str:
    """Count the tokens of a clean text that move the logits at the first position."""
    torch.manual_seed(0)
    model = BERT(11, d_model=16, n_layers=1, n_heads=2, max_len=16, init_std=0.2).eval()
    ids = torch.arange(1, 7)
    n_read = 0
    with torch.no_grad():
        first = model(ids[None])[0, 0]
        for place in range(6):
            other = ids.clone()
            other[place] = 9
            n_read += int((model(other[None])[0, 0] - first).abs().max() > 1e-4)
    return f"the first of 6 tokens reads {'all ' if n_read == 6 else ''}{n_read}"


def quiz_brt_kept() -> str:
    """Multiply the defaults of the corruption: selected, and neither masked nor random."""
    defaults = inspect.signature(corrupt_mlm).parameters
    select, mask, random = (
        defaults[name].default for name in ("select_prob", "mask_prob", "random_prob")
    )
    return f"{1000 * select * (1 - mask - random):.0f}"


def quiz_brt_product() -> str:
    """Multiply the marginals of the two letters."""
    joint = {("i", "s"): 0.5, ("t", "o"): 0.5}
    first = sum(p for (letter, _), p in joint.items() if letter == "i")
    second = sum(p for (_, letter), p in joint.items() if letter == "o")
    return f"{first * second:g}"


def quiz_brt_rescored() -> str:
    """Read the sign of the recorded interval: rescored GPT minus BERT, in bits."""
    _, low, high = _record("bert_evaluation")["blanks"]["minus_bert"]["gpt_rescored"]
    if low <= 0 <= high:
        return "Nobody can tell"
    return "GPT" if high < 0 else "BERT"


def quiz_brt_fates() -> str:
    """Compare top-1 on clean characters between the two corruptions, seed by seed."""
    arms = _record("bert_corruption")["arms"]
    masked, mixed = (
        arms[f"fates {fate}"]["clean_top1"]["values"] for fate in ("all masked", "80/10/10")
    )
    words = {-1: "Worse", 0: "Equally well", 1: "Better"}
    return words[int(min(masked) > max(mixed)) - int(max(masked) < min(mixed))]
