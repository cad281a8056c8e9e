# SPDX-License-Identifier: MIT
"""Bayes' rule on a shortlist."""

from collections.abc import Callable

import pytest
import torch

from pretrain.attention import KVCache
from pretrain.evaluation import left_log_probs
from pretrain.gpt import GPT
from pretrain.t5 import T5
from pretrain_lab.scoring.bayes_rescoring import (
    length_log_likelihoods,
    posterior_on_shortlist,
    repeated,
    rescored_log_probs,
    right_log_likelihoods,
)
from pretrain_lab.scoring.spans import t5_span_log_probs

WINDOWS = torch.tensor([[3, 1, 4, 1, 5, 6], [2, 6, 5, 3, 5, 4]])
PLACE = 2
EVERYTHING = torch.arange(11).expand(2, -1)


@pytest.mark.parametrize("n_right", [None, 0, 2, 9])
def test_the_whole_vocabulary_gives_the_exact_rule(
    tiny_gpt: Callable[..., GPT], n_right: int | None
) -> None:
    """With every token on the list, the answer is that of `rescored_log_probs`."""
    model, places = tiny_gpt(), torch.full((2,), PLACE)
    found = right_log_likelihoods(model, WINDOWS, PLACE, EVERYTHING, n_right=n_right)
    out = posterior_on_shortlist(left_log_probs(model, WINDOWS, places), EVERYTHING, found)
    exact = rescored_log_probs(model, WINDOWS, places, candidates=EVERYTHING[0], n_right=n_right)
    assert torch.allclose(out, exact, rtol=0, atol=1e-12)


def test_rescoring_is_the_joint_probability_of_the_filled_window(
    tiny_gpt: Callable[..., GPT],
) -> None:
    """P(v | both sides) = P(window with v) over its sum; each joint is a product of passes."""
    model, vocab_size = tiny_gpt().eval(), 11
    joint = torch.zeros(vocab_size, dtype=torch.float64)
    for v in range(vocab_size):
        window = WINDOWS[0].clone()
        window[PLACE] = v
        for end in range(1, len(window)):  # one pass for each token, which reads those before it
            logits = model(window[None, :end])[0, -1]
            joint[v] += logits.log_softmax(dim=-1)[window[end]].item()
    found = rescored_log_probs(
        model, WINDOWS[:1], torch.tensor([PLACE]), candidates=torch.arange(vocab_size)
    )
    assert torch.allclose(found[0], joint.log_softmax(dim=-1).to(found.dtype), rtol=0, atol=1e-10)


def test_each_row_has_its_own_list(tiny_gpt: Callable[..., GPT]) -> None:
    """A shortlist is a selection of the columns of the whole list, in its own order."""
    model = tiny_gpt()
    candidates = torch.tensor([[5, 3, 9], [0, 10, 4]])
    every = right_log_likelihoods(model, WINDOWS, PLACE, EVERYTHING)
    some = right_log_likelihoods(model, WINDOWS, PLACE, candidates)
    assert torch.allclose(some, every.gather(1, candidates), rtol=0, atol=1e-12)


def test_a_repeated_cache_is_a_copy(tiny_gpt: Callable[..., GPT]) -> None:
    """What is written to the copy does not reach the cache of the one text."""
    cache = tiny_gpt().make_cache()[0]
    with pytest.raises(ValueError, match="one text"):
        repeated(cache, 3)
    keys, values = torch.randn(1, 2, 4, 3), torch.randn(1, 2, 4, 3)
    cache.append(keys, values)
    copy = repeated(cache, 3)
    assert copy.length == 4
    assert copy.append(torch.ones(3, 2, 1, 3), torch.ones(3, 2, 1, 3))[0].shape == (3, 2, 5, 3)
    assert copy.keys is not None
    assert torch.equal(copy.keys[:, :, :4], keys.expand(3, -1, -1, -1))
    assert cache.length == 4


def test_t5_says_how_likely_one_token_is(tiny_t5: Callable[..., T5]) -> None:
    """The likelihood of a candidate is the end of a span that holds it alone."""
    model = tiny_t5()
    options = {"sentinel_ids": (10, 9), "eos_id": 8, "pad_id": 7}
    found = length_log_likelihoods(model, WINDOWS, PLACE, EVERYTHING, **options)  # type: ignore[arg-type]
    for token in range(11):
        filled = WINDOWS.clone()
        filled[:, PLACE] = token
        spans = t5_span_log_probs(model, filled, PLACE, PLACE + 1, **options)  # type: ignore[arg-type]
        assert torch.allclose(found[:, token], spans[:, 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("outside", "expected"), [("smallest", [8, 8, 1, 1]), ("median", [8, 8, 1, 2])]
)
def test_by_hand(outside: str, expected: list[int]) -> None:
    """Products written out, then divided by their sum; token 3 is not on the list."""
    prior = torch.tensor([[1 / 2, 1 / 4, 1 / 8, 1 / 8]]).log()
    candidates = torch.tensor([[1, 0, 2]])
    likelihoods = torch.tensor([[1 / 2, 1 / 4, 1 / 8]]).log()
    out = posterior_on_shortlist(prior, candidates, likelihoods, outside=outside).exp()
    wanted = torch.tensor([expected], dtype=torch.float64) / sum(expected)
    assert torch.allclose(out, wanted, rtol=0, atol=1e-7)


def test_the_median_spares_the_others() -> None:
    """One hopeless candidate pulls the smallest likelihood down, not the median."""
    prior = torch.full((1, 5), 0.2).log()
    candidates, found = torch.tensor([[0, 1, 2]]), torch.tensor([[-1.0, -2.0, -30.0]])
    smallest = posterior_on_shortlist(prior, candidates, found)[0].exp()
    median = posterior_on_shortlist(prior, candidates, found, outside="median")[0].exp()
    assert smallest[3] == smallest[4] == smallest[2] < 1e-12
    assert median[3] == median[1]
    assert smallest.sum().item() == pytest.approx(1.0)
    assert median.sum().item() == pytest.approx(1.0)


def test_a_likelihood_that_says_nothing_changes_nothing() -> None:
    """Whatever the list, equal likelihoods give the first guess back."""
    prior = torch.randn(3, 7, dtype=torch.float64).log_softmax(dim=-1)
    candidates = torch.tensor([[0, 1], [4, 2], [6, 3]])
    out = posterior_on_shortlist(prior, candidates, torch.full((3, 2), -5.0))
    assert torch.allclose(out, prior, rtol=0, atol=1e-12)


def test_refusals(tiny_gpt: Callable[..., GPT]) -> None:
    """Places and lists that do not fit, and another word for the others."""
    model = tiny_gpt()
    with pytest.raises(ValueError, match="1 <= start"):
        right_log_likelihoods(model, WINDOWS, 0, EVERYTHING)
    with pytest.raises(ValueError, match=r"expected candidates \(2, C\)"):
        right_log_likelihoods(model, WINDOWS, 1, EVERYTHING[0])
    prior = torch.zeros(2, 11)
    with pytest.raises(ValueError, match="expected log_probs"):
        posterior_on_shortlist(prior, EVERYTHING, torch.zeros(2, 3))
    with pytest.raises(ValueError, match="'smallest' or 'median', got 'mean'"):
        posterior_on_shortlist(prior, EVERYTHING, torch.zeros(2, 11), outside="mean")


def test_candidates_outside_the_vocabulary_are_named() -> None:
    """torch's own error about an index got out."""
    with pytest.raises(ValueError, match=r"candidates in 0\.\.2, got \[\[3\]\]"):
        posterior_on_shortlist(torch.zeros(1, 3), torch.tensor([[3]]), torch.zeros(1, 1))


def test_a_cache_is_not_repeated_a_negative_number_of_times() -> None:
    """-1 means "as it is" to torch: one text came back."""
    cache = KVCache(2)
    cache.append(torch.ones(1, 1, 1, 1), torch.ones(1, 1, 1, 1))
    with pytest.raises(ValueError, match="n >= 1, got -1"):
        repeated(cache, -1)
