# SPDX-License-Identifier: MIT
"""Right answers to the quiz of chapter 12, computed."""

import json
from typing import Any

import numpy as np
from torch import Generator

from pretrain.bert import BERT
from pretrain.intervals import wilson_interval
from pretrain.paths import data_file
from pretrain.plot_or_review import load_plot_or_review


def _record(name: str) -> dict[str, Any]:
    """Read a record of data/runs."""
    return json.loads(data_file("runs", f"{name}.json").read_text())


def quiz_cho_passes() -> str:
    """Count the tokens that pass through a decoder's blocks, by reading 10 and writing 31."""
    lengths = [10, *[1] * (31 - 1)]  # the text, then each written token but the last
    return f"{sum(lengths) / lengths[0]:.0f} times"


def quiz_cho_cache() -> str:
    """Divide the weights of MiniLM's shape by the numbers that a text's cache holds."""
    model = BERT(30_522, max_len=256, d_model=384, n_layers=6, n_heads=12)
    weights = sum(p.numel() for p in model.parameters())
    texts = weights / (2 * 6 * 384 * 80)
    return f"About {round(texts, -1):.0f}"


def quiz_cho_lengths() -> str:
    """Apply every rule by length to pairs of a plot and a review of equal length."""
    pairs = load_plot_or_review("test", "sentences", generator=Generator().manual_seed(0))
    lengths = np.array([len(item.text.split()) for item in pairs])
    plots = np.array([item.label == 1 for item in pairs])
    shares = {float(np.mean((lengths > limit) == plots)) for limit in range(0, 60, 3)}
    return f"{100 * shares.pop():.0f} %" if len(shares) == 1 else "It depends"


def quiz_cho_judge() -> str:
    """Compute the 95 % interval of 26 right answers of 32."""
    _, low, high = wilson_interval(26, 32)
    return f"Between {100 * low:.0f} and {100 * high:.0f} %"


def quiz_cho_free() -> str:
    """Read off what our GPTs write behind demonstrations, and whether the published one does."""
    own = _record("in_context")["own_models"]
    wrote = {
        name: max(how["write"]["4"]["mean"] for how in found["words"].values())
        for name, found in own.items()
    }
    ours = max(share for name, share in wrote.items() if name != "decoder")
    assert wrote["decoder"] > 0.5
    return "not enough" if ours == 0 else "enough"


def quiz_cho_names() -> str:
    """Count at how many numbers of passages the masked model is surely ahead of the causal one."""
    gaps = _record("name_study")["differences"]["mlm - clm"].values()
    ahead = sum(gap["low"] > 0 for gap in gaps)
    names = {0: "At none", 4: "At all four"}
    return names.get(ahead, "Only with all")
