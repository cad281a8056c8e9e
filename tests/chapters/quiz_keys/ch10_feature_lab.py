# SPDX-License-Identifier: MIT
"""Right answers to the quiz of chapter 10, computed."""

import json
from typing import Any

import torch
from torch import Generator
from transformers import BertConfig, BertModel

from pretrain.paths import data_file
from pretrain.probes import control_labels, fit_probe


def _record() -> dict[str, Any]:
    """Read the chapter's record."""
    return json.loads(data_file("runs", "feature_lab.json").read_text())


def quiz_lab_output() -> str:
    """Run a BERT of one layer and width 384 on two texts of nine tokens."""
    config = BertConfig(
        vocab_size=20, hidden_size=384, num_hidden_layers=1, num_attention_heads=12,
        intermediate_size=384,
    )  # fmt: skip
    model = BertModel(config, add_pooling_layer=False).eval()
    with torch.inference_mode():
        found = model(torch.ones(2, 9, dtype=torch.long))[0]
    return str(tuple(found.shape))


def quiz_lab_clusters() -> str:
    """Read off the silhouettes of ten clusters among vectors of noise and on their map."""
    found = _record()["noise"]["noise"]["silhouettes"]
    vectors, on_map = (abs(found[key]) > 0.1 for key in ("vectors", "tsne"))
    return {
        (False, False): "Near 0 in both",
        (False, True): "Near 0 among the vectors, well above 0 on the map",
        (True, False): "Well above 0 among the vectors, near 0 on the map",
        (True, True): "Well above 0 in both",
    }[vectors, on_map]


def quiz_lab_cosine() -> str:
    """See in which of two spaces 0.7 lies above the mean cosine of two sentences."""
    space = _record()["space"]
    alike = [name for name in ("minilm", "smollm2") if space[name]["mean_cosine"] < 0.7]
    return {
        ("minilm", "smollm2"): "In both",
        ("minilm",): "In MiniLM's",
        ("smollm2",): "In SmolLM2's",
        (): "In neither",
    }[tuple(alike)]


def quiz_lab_best_of() -> str:
    """Take the best of 72 chance scores against a null of single heads, and count p <= 0.05."""
    draw = Generator().manual_seed(0)
    heads, null = torch.randn(500, 72, generator=draw), torch.randn(500, 999, generator=draw)
    best = heads.amax(dim=1, keepdim=True)
    p_values = (1 + (null >= best).sum(dim=1)) / (1 + null.shape[1])
    share = float((p_values <= 0.05).double().mean())
    names = {0.0: "Never", 0.05: "In one case of twenty", 0.5: "In half", 1.0: "Nearly always"}
    return names[min(names, key=lambda value: abs(value - share))]


def quiz_lab_memory() -> str:
    """Fit a control task on vectors that hold nothing but which of 30 words it is."""
    words = torch.arange(30).repeat(4)
    types = [[str(word) for word in words.tolist()]]
    control = control_labels(types, 2, generator=Generator().manual_seed(0))[0]
    states = torch.eye(30)[words]
    probe = fit_probe((states, control), (states, control))
    share = float(probe.hits(states, control).double().mean())
    names = {0.5: "About 50 %", 0.75: "About 75 %", 1.0: "About 100 %"}
    return names[min(names, key=lambda value: abs(value - share))]


def quiz_lab_rival() -> str:
    """Find the rival of the name probe that its interval does not leave behind."""
    run = _record()["probes"]["minilm"]["name"]
    at = run["layers"].index(run["chosen"])
    rivals = {
        "Chance": 1 / run["n_classes"],
        "control task": run["control"][at][2],
        "layer 0": run["accuracy"][0][2],
    }
    close = [name for name, top in rivals.items() if top >= run["accuracy"][at][1]]
    assert len(close) == 1
    return close[0]
