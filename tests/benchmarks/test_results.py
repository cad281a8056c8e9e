# SPDX-License-Identifier: MIT
"""The stored table must be complete, consistent, and about the baselines that it names."""

import json
import random

import pytest
import torch
from torch import nn

from benchmarks import baseline_a, equal_time, generation, nanogpt_recipe, quality, steps, timing
from benchmarks.peers import Shape, bert_pair, gpt_pair, n_parameters
from benchmarks.rows import score_row
from benchmarks.text import Split, benchmark_text, small_split
from pretrain.bert import BERT, BERTConfig
from pretrain.gpt import GPT, GPTConfig
from pretrain_lab.paths import ROOT
from pretrain_lab.tokenizers.characters import CharTokenizer

RESULTS = ROOT / "benchmarks" / "results.json"


def expected_names() -> list[str]:
    names = [*quality.CAUSAL_NAMES, *quality.MASKED_NAMES]
    for shape in steps.SHAPES:
        for kind in steps.KINDS:
            names += [steps.row_name(kind, shape, p) for p in steps.DROPOUTS]
            names.append(steps.peak_name(kind, shape))
    names.append(equal_time.ROW_NAME)
    for case in generation.CASES:
        names += [generation.row_name(*case, sampled) for sampled in (False, True)]
    return names


def test_every_row_is_there_once_and_in_order():
    rows = json.loads(RESULTS.read_text())["rows"]
    assert [row["name"] for row in rows] == expected_names()


def stored_rows() -> dict[str, dict]:
    return {row["name"]: row for row in json.loads(RESULTS.read_text())["rows"]}


def test_every_row_is_consistent():
    for row in stored_rows().values():
        lower, upper = row["quartiles"]
        assert row["n"] >= 5
        assert lower <= row["ratio"] <= upper
        assert row["ratio"] == pytest.approx(row["ours"] / row["peer"], rel=0.25)
        if row["unit"] == "share of peak":
            assert 0 < row["ours"] < 1.1


def test_what_the_page_says_of_the_quality_reached():
    rows = stored_rows()
    perplexity = rows["a causal, held-out perplexity"]
    assert perplexity["ours"] < min(perplexity["peer"], 5.69)  # 5.69 is the published figure
    for name, published in (("top-1", 0.569), ("top-5", 0.857)):
        accuracy = rows[f"a masked, held-out {name} accuracy"]
        assert accuracy["ours"] > max(accuracy["peer"], published)
    equal = rows[equal_time.ROW_NAME]
    assert equal["ours"] < equal["peer"] - 0.2


def test_our_models_are_no_larger_than_allowed():
    vocab_size = small_split(benchmark_text()).tokenizer.vocab_size
    for model in (
        GPT(GPTConfig(vocab_size, max_len=baseline_a.SEQ_LEN, **quality.CAUSAL_SHAPE)),
        BERT(BERTConfig(vocab_size, max_len=baseline_a.SEQ_LEN, **quality.MASKED_SHAPE)),
    ):
        assert n_parameters(model) <= 190_000


@pytest.mark.parametrize("build", [gpt_pair, bert_pair])
@pytest.mark.parametrize("shape", [Shape(96, 2, 4, 2, 8), Shape(32, 3, 2, 2, 8)])
def test_both_sides_of_a_pair_have_the_same_parameters(build, shape):
    ours, peer = build(shape, dropout=0.1)
    assert n_parameters(ours) == n_parameters(peer)


@pytest.mark.parametrize("build", [gpt_pair, bert_pair])
@pytest.mark.parametrize("dropout", [0.1, 0.0])
def test_both_sides_of_a_pair_have_the_same_dropout(build, dropout):
    for model in build(Shape(32, 2, 2, 2, 8), dropout=dropout):
        found = {module.p for module in model.modules() if isinstance(module, nn.Dropout)}
        assert found <= {dropout}
        x = torch.ones(2, 8, dtype=torch.int64)
        draws = [model.train()(x) for _ in range(2)]
        first, second = (getattr(draw, "logits", draw) for draw in draws)
        assert torch.equal(first, second) is (dropout == 0)


@pytest.mark.parametrize("causal", [True, False])
def test_the_published_chapters_model(causal):
    vocab_size, d, f = 62, 96, 256
    model = baseline_a.Baseline(vocab_size, causal=causal).eval()
    layer = 4 * (d * d + d) + (d * f + f) + (f * d + d) + 2 * 2 * d
    assert n_parameters(model) == 2 * layer + 2 * vocab_size * d + vocab_size + 2 * d == 186_430
    ids = torch.randint(vocab_size, (2, 48), generator=torch.Generator().manual_seed(0))
    changed = ids.clone()
    changed[:, -1] = (ids[:, -1] + 1) % vocab_size
    same = torch.equal(model(ids)[:, :-1], model(changed)[:, :-1])
    assert same is causal


def test_nanogpts_model():
    d, vocab_size = 128, 65
    model = nanogpt_recipe.NanoGPT(vocab_size)
    assert n_parameters(model) == 4 * (12 * d * d + 2 * d) + (vocab_size + 64) * d + d == 804_096
    assert model(torch.zeros(2, 64, dtype=torch.int64)).shape == (2, 64, vocab_size)


def test_pairs_alternate_and_warm_up_is_not_counted():
    calls: list[str] = []
    pairs = timing.alternate(
        lambda: calls.append("ours"), lambda: calls.append("peer"), n_pairs=3, n_warmup=1
    )
    assert calls == ["ours", "peer", "ours", "peer", "peer", "ours", "ours", "peer"]
    assert len(pairs.ours) == len(pairs.peer) == 3


def test_a_row_holds_medians_and_the_median_of_the_ratios():
    row = score_row("x", [1.0, 2.0, 9.0], [2.0, 2.0, 3.0], unit="s", note="")
    assert (row.ours, row.peer, row.ratio, row.n) == (2.0, 2.0, 1.0, 3)
    assert row.quartiles == (0.75, 2.0)


def test_equal_time_stops_when_the_time_is_up():
    text = "".join(random.Random(0).choices("abcde \n", k=3_000))
    tokenizer = CharTokenizer.from_text(text)
    ids = tokenizer.encode(text)
    split = Split(tokenizer, ids[:2_700], ids[2_700:], ids[:0])
    torch.manual_seed(0)
    fresh = GPT(GPTConfig(tokenizer.vocab_size, **equal_time.SHAPE)).state_dict()
    untrained, trained = (equal_time.train_for(seconds, split, seed=0) for seconds in (0.0, 0.3))
    assert all(torch.equal(fresh[name], value) for name, value in untrained.state_dict().items())
    assert not any(torch.equal(fresh[name], value) for name, value in trained.state_dict().items())
    assert not trained.training
