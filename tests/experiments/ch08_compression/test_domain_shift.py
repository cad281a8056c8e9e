# SPDX-License-Identifier: MIT
"""What the study of plays and reviews trains on, starts from and scores."""

from typing import Any

import pytest
import torch
from torch import Generator

from experiments.ch08_compression.domain_shift import reviews
from pretrain.gpt import GPT, GPTConfig
from pretrain.objectives import CausalLM
from pretrain_lab.corpora.loading import load_reviews


@pytest.fixture(scope="module")
def texts() -> dict[str, Any]:
    """Load the texts of a trial."""
    found: dict[str, Any] = reviews.load_texts(reviews.Plan.quick())
    return found


def test_only_training_films_are_read(texts: dict[str, Any]) -> None:
    """The reviews of the training text are those of the training films, all of them."""
    read = reviews.TOKENIZER.decode(texts["train"]["reviews"]).strip().split("\n")
    assert read == [review.sentence for review in load_reviews("train")]
    assert not set(read) & {review.sentence for review in load_reviews("test")}


def test_scored_stretches_spell_what_they_count(texts: dict[str, Any]) -> None:
    """The number of characters is that of the decoded ids; nothing unknown is in them."""
    for part in ("validation", "curve", "test"):
        for ids, n_chars in texts[part].values():
            assert len(reviews.TOKENIZER.decode(ids)) == n_chars > 2000
            assert not torch.isin(ids, torch.tensor(reviews.TOKENIZER.special_ids)).any()


def test_mixed_batch_is_half_plays() -> None:
    """The mixed loss is the mean of both domains' losses on half a batch each."""
    torch.manual_seed(0)
    model = GPT(GPTConfig(11, d_model=8, n_layers=1, n_heads=2, max_len=64))
    ids = {"plays": torch.randint(5, (400,)), "reviews": 5 + torch.randint(5, (400,))}
    found = reviews.mixed_loss(ids, "mixed", 8)(model, Generator().manual_seed(1))
    generator = Generator().manual_seed(1)
    halves = [
        CausalLM(ids[name], batch_size=4, seq_len=64)(model, generator)
        for name in ("reviews", "plays")
    ]
    assert found.item() == pytest.approx((halves[0] + halves[1]).item() / 2)
    alone = reviews.mixed_loss(ids, "continued", 8)(model, Generator().manual_seed(1))
    whole = CausalLM(ids["reviews"], batch_size=8, seq_len=64)
    assert torch.equal(alone, whole(model, Generator().manual_seed(1)))


def test_where_the_arms_start(texts: dict[str, Any]) -> None:
    """Two arms start from the GPT of plays, one from new weights of its shape, by seed."""
    old, same = reviews.new_start("continued", 0), reviews.new_start("mixed", 1)
    new, other = reviews.new_start("from scratch", 0), reviews.new_start("from scratch", 1)
    assert torch.equal(old.embeddings.token.weight, same.embeddings.token.weight)
    assert not torch.equal(new.embeddings.token.weight, other.embeddings.token.weight)
    assert new.config == old.config
    bits = [reviews.bits_per_character(model, *texts["test"]["plays"]) for model in (old, new)]
    assert bits[0] < 2.6 < 3.5 < bits[1]


def test_differences_by_hand() -> None:
    """Forgetting is what was there subtracted; arms are subtracted seed by seed."""
    ends = {"continued": (3.0, 1.0), "mixed": (2.1, 1.2), "from scratch": (4.0, 2.0)}
    empty: dict[str, list[float]] = {"plays": [], "reviews": []}
    runs = {
        arm: [
            {"test": {"plays": plays + s, "reviews": reviews + s}, "curve": empty}
            for s in (0.0, 0.1, 0.2)
        ]
        for arm, (plays, reviews) in ends.items()
    }
    found = reviews.judge_arms(runs, {"plays": 2.0, "reviews": 3.0})["differences"]
    assert found["plays forgotten, continued"]["mean"] == pytest.approx(1.1)
    assert found["reviews, continued - from scratch"]["values"] == pytest.approx([-1.0] * 3)
    assert found["reviews, mixed - continued"]["mean"] == pytest.approx(0.2)
