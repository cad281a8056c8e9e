# SPDX-License-Identifier: MIT
"""The probe: its sentences, its leans, and what it says where there is nothing to see."""

import numpy as np
import pytest
import torch
from torch import Tensor

from pretrain.bert import BERT, BERTConfig
from pretrain_lab.interpretability.pronoun_bias import (
    GROUPS,
    TEMPLATES,
    blank_leans,
    compare_groups,
    sentences,
)
from pretrain_lab.tokenizers.subwords import load_tokenizer


@pytest.fixture(scope="module")
def model() -> BERT:
    """An untrained model of the book's vocabulary."""
    torch.manual_seed(0)
    return BERT(
        BERTConfig(
            load_tokenizer("book_wordpiece").vocab_size,
            d_model=16,
            n_layers=1,
            n_heads=2,
            max_len=32,
        )
    )


def test_templates_hold_one_word_and_one_pronoun() -> None:
    """Nothing else says who is meant."""
    others = {"he", "she", "his", "her", "him", "hers", "himself", "herself"}
    for text in sentences("nurse", "she"):
        words = text.replace(",", " ").replace(".", " ").split()
        assert words.count("nurse") == words.count("she") == 1
        assert others & set(words) == {"she"}
    assert len(set(TEMPLATES)) == len(TEMPLATES) >= 8


def test_groups_do_not_overlap() -> None:
    """Controls and occupations come in groups of one size."""
    words = [word for group in GROUPS.values() for word in group]
    assert len(set(words)) == len(words)
    assert len(GROUPS["women"]) == len(GROUPS["men"])
    assert len(GROUPS["care"]) == len(GROUPS["command"]) == 12


def test_a_lean_is_the_difference_of_two_log_probabilities(model: BERT) -> None:
    """What the output bias adds to a pronoun, it adds to every lean."""
    tokenizer = load_tokenizer("book_wordpiece")
    before = blank_leans(model, tokenizer, ["nurse", "cook"])
    assert [len(row) for row in before.values()] == [len(TEMPLATES)] * 2
    she = int(tokenizer.encode("she")[0])
    with torch.no_grad():
        model.head.output_bias[she] += 1.5
    after = blank_leans(model, tokenizer, ["nurse", "cook"])
    for word, row in after.items():
        np.testing.assert_allclose(row, np.array(before[word]) + 1.5, atol=1e-4)


def leans_of(values: Tensor) -> dict[str, list[float]]:
    """Name the rows of a table."""
    return {f"w{i}": row for i, row in enumerate(values.tolist())}


def test_a_gap_that_is_there_is_found() -> None:
    """Mean, interval, chance and templates of two separate groups."""
    noise = torch.randn(20, 4, generator=torch.Generator().manual_seed(0))
    noise[:10] += 3.0
    leans, names = leans_of(noise), [f"w{i}" for i in range(20)]
    gap = compare_groups(leans, names[:10], names[10:], seed=0)
    assert gap.low < gap.mean < gap.high
    assert gap.mean == pytest.approx(float(noise[:10].mean() - noise[10:].mean()), abs=1e-5)
    assert gap.chance < 0.001
    assert np.mean(gap.templates) == pytest.approx(gap.mean)
    turned = compare_groups(leans, names[10:], names[:10], seed=0)
    assert turned.mean == pytest.approx(-gap.mean)


def test_nothing_is_found_where_nothing_is() -> None:
    """With equal groups the chance is spread evenly: few of many are small."""
    names = [f"w{i}" for i in range(12)]
    chances = []
    for seed in range(40):
        noise = torch.randn(12, 2, generator=torch.Generator().manual_seed(seed))
        chances.append(compare_groups(leans_of(noise), names[:6], names[6:], seed=0).chance)
    assert sum(chance < 0.05 for chance in chances) <= 6  # 2 expected, 6 beyond 4 sigma
    assert 0.3 < float(np.mean(chances)) < 0.7


def test_a_word_belongs_to_one_group() -> None:
    """Otherwise the shuffle would mean nothing."""
    with pytest.raises(ValueError, match="expected two groups"):
        compare_groups({"a": [1.0]}, ["a"], ["a"], seed=0)
