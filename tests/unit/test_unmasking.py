# SPDX-License-Identifier: MIT
"""Filling masks over several rounds."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator, Tensor

from pretrain.bert import BERT
from pretrain.generation import filter_probs
from pretrain.unmasking import least, unmask

MASK, V = 1, 11
SPECIAL = (0, 1, 2)


@pytest.fixture
def model(tiny_bert: Callable[..., BERT]) -> BERT:
    """Give a small BERT."""
    return tiny_bert()


def seeded(seed: int = 0) -> Generator:
    """Give a generator."""
    return torch.Generator().manual_seed(seed)


TEXT = torch.tensor([[3, MASK, 4, MASK, MASK, 9, MASK, 5], [MASK, 6, 5, 3, 5, 8, 4, MASK]])
GIVEN = TEXT != MASK


@pytest.mark.parametrize("order", ["confidence", "random"])
@pytest.mark.parametrize("n_rounds", [1, 3, 50])
@pytest.mark.parametrize("greedy", [True, False])
def test_only_masks_change(model: BERT, order: str, n_rounds: int, greedy: bool) -> None:
    """No mask is left, what was given stays, nothing special is written, the input is untouched."""
    before = TEXT.clone()
    out = unmask(
        model, TEXT, n_rounds, mask_id=MASK, special_ids=SPECIAL, order=order, greedy=greedy,
        generator=None if greedy and order == "confidence" else seeded(),
    )  # fmt: skip
    assert torch.equal(TEXT, before)
    assert torch.equal(out[GIVEN], TEXT[GIVEN])
    assert not torch.isin(out[~GIVEN], torch.tensor(SPECIAL)).any()
    assert not out.is_inference()


@torch.no_grad()
def test_one_round_is_the_best_guess_of_each(model: BERT) -> None:
    """In one round no token knows of another."""
    logits = model(TEXT)
    logits[..., list(SPECIAL)] = float("-inf")
    expected = torch.where(GIVEN, TEXT, logits.argmax(dim=-1))
    out = unmask(model, TEXT, 1, mask_id=MASK, special_ids=SPECIAL, greedy=True)
    assert torch.equal(out, expected)


@torch.no_grad()
@pytest.mark.parametrize("seed", range(3))
def test_two_rounds_by_hand(model: BERT, seed: int) -> None:
    """The less sure half of the masks is masked again and filled once more."""
    text = torch.randint(2, V, (1, 12), generator=seeded(seed))
    text[0, torch.randperm(12, generator=seeded(seed))[:8]] = MASK
    logits = model(text)
    logits[..., [MASK]] = float("-inf")
    probs, guess = logits.softmax(dim=-1).max(dim=-1)
    masks = (text[0] == MASK).nonzero().flatten()
    weak = masks[probs[0, masks].argsort()[:4]]
    second = torch.where(text == MASK, guess, text)
    second[0, weak] = MASK
    logits = model(second)
    logits[..., [MASK]] = float("-inf")
    expected = second.clone()
    expected[0, weak] = logits.argmax(dim=-1)[0, weak]
    state = torch.get_rng_state()
    read: list[Tensor] = []
    model.register_forward_pre_hook(lambda _, args: read.append(args[0].clone()))
    assert torch.equal(unmask(model, text, 2, mask_id=MASK, greedy=True), expected)
    assert torch.equal(torch.cat(read), torch.cat([text, second])), "what each pass reads"
    assert torch.equal(torch.get_rng_state(), state), "greedy and by confidence: nothing is drawn"


def shown(model: BERT, seed: int) -> list[list[int]]:
    """List the texts that a pass reads when the order is random and the choice is not."""
    seen: list[list[int]] = []
    hook = model.register_forward_pre_hook(lambda _, args: seen.append(args[0][0].tolist()))
    text = torch.full((1, 12), MASK)
    unmask(model, text, 4, mask_id=MASK, order="random", greedy=True, generator=seeded(seed))
    hook.remove()
    return seen


def test_the_generator_decides_a_random_order(model: BERT) -> None:
    """The same seed opens the same masks first, whatever torch's own generator has drawn."""
    first = shown(model, 0)
    torch.rand(7)
    assert shown(model, 0) == first
    assert shown(model, 1) != first


@torch.no_grad()
@pytest.mark.parametrize(
    "options", [{"temperature": 0.4}, {"top_k": 2}, {"top_p": 0.6}, {"temperature": 2.0}]
)
def test_samples_follow_the_settings(model: BERT, options: dict[str, Any]) -> None:
    """One mask, 4,000 samples: the filtered frequencies, within 4 sigma."""
    text = torch.tensor([[3, MASK, 4, 9]])
    logits = model(text)[0, 1].clone()
    logits[MASK] = float("-inf")
    probs = filter_probs(logits, **options)
    assert not torch.allclose(probs, logits.softmax(dim=-1), atol=0.02)
    n = 4000
    out = unmask(model, text.expand(n, -1), 1, mask_id=MASK, generator=seeded(), **options)
    share = torch.bincount(out[:, 1], minlength=V) / n
    assert ((share - probs).abs() <= 4 * (probs * (1 - probs) / n).sqrt()).all()


def count_passes(model: BERT, text: Tensor, n_rounds: int) -> list[int]:
    """List the number of masks that each pass of the model reads."""
    seen: list[int] = []
    hook = model.register_forward_pre_hook(
        lambda _, args: seen.append(int((args[0] == MASK).sum()))
    )
    unmask(model, text, n_rounds, mask_id=MASK, order="random", greedy=True, generator=seeded())
    hook.remove()
    return seen


def test_rounds_and_masks(model: BERT) -> None:
    """Four masks in k rounds: the masks that are open in each, and no pass for nothing."""
    text = TEXT[:1]
    assert count_passes(model, text, 1) == [4]
    assert count_passes(model, text, 2) == [4, 2]
    assert count_passes(model, text, 3) == [4, 2, 1]
    assert count_passes(model, text, 4) == count_passes(model, text, 99) == [4, 3, 2, 1]
    assert count_passes(model, text.masked_fill(text == MASK, 3), 5) == []


def test_a_text_without_masks_stays_beside_others(model: BERT) -> None:
    """It needs no round, and is no reason to stop."""
    texts = torch.cat([TEXT, TEXT[:1].masked_fill(TEXT[:1] == MASK, 7)])
    out = unmask(model, texts, 3, mask_id=MASK, greedy=True)
    assert torch.equal(out[2], texts[2])
    assert torch.equal(out[:2], unmask(model, TEXT, 3, mask_id=MASK, greedy=True))


def test_a_text_does_not_depend_on_its_neighbours(model: BERT) -> None:
    """Rows with different numbers of masks are filled as if each were alone."""
    together = unmask(model, TEXT, 3, mask_id=MASK, greedy=True)
    for row in range(2):
        alone = unmask(model, TEXT[row : row + 1], 3, mask_id=MASK, greedy=True)
        assert torch.equal(together[row], alone[0])


def test_greedy_repeats_and_samples_follow_the_generator(model: BERT) -> None:
    """Same call, same text; another seed gives another sample."""
    text = torch.full((1, 12), MASK)
    greedy = [unmask(model, text, 4, mask_id=MASK, greedy=True) for _ in range(2)]
    assert torch.equal(*greedy)
    samples = [unmask(model, text, 4, mask_id=MASK, generator=seeded(s)) for s in (0, 0, 1)]
    assert torch.equal(samples[0], samples[1])
    assert not torch.equal(samples[0], samples[2])


@torch.no_grad()
def test_random_order_draws_from_a_proper_chain(model: BERT) -> None:
    """Two masks, two rounds: frequencies follow P(first) P(second | first), both orders mixed."""
    text = torch.tensor([[3, MASK, 4, MASK]])
    banned = [i for i in range(V) if i not in (5, 6)]  # two words, so that there are four texts

    def dist(row: Tensor, place: int) -> Tensor:
        """Give the distribution over the two words at a place."""
        return model(row)[0, place][[5, 6]].softmax(dim=-1)

    expected = torch.zeros(2, 2, dtype=torch.float64)
    for first, second in ((1, 3), (3, 1)):
        for a in range(2):
            shown = text.clone()
            shown[0, first] = 5 + a
            for b in range(2):
                at = (a, b) if first == 1 else (b, a)
                expected[at] += 0.5 * dist(text, first)[a] * dist(shown, second)[b]
    n = 4000
    out = unmask(
        model, text.expand(n, -1), 2, mask_id=MASK, special_ids=banned, order="random",
        generator=seeded(),
    )  # fmt: skip
    for a in range(2):
        for b in range(2):
            share = ((out[:, 1] == 5 + a) & (out[:, 3] == 5 + b)).double().mean().item()
            p = expected[a, b].item()
            assert abs(share - p) < 4 * (p * (1 - p) / n) ** 0.5


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.data())
def test_least_marks_the_smallest(values: list[int], data: st.DataObject) -> None:
    """As many as asked for, among those allowed, and none smaller is left out."""
    among = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    count = data.draw(st.integers(0, sum(among)))
    allowed, row = torch.tensor([among]), torch.tensor([values]).double()
    marked = least(row, allowed, torch.tensor([count]))
    assert int(marked.sum()) == count
    assert not (marked & ~allowed).any()
    if 0 < count < sum(among):
        assert row[marked].max() <= row[allowed & ~marked].min()


def test_of_equal_values_the_left_ones_are_marked() -> None:
    """Also in a row that is long enough for another way of sorting."""
    marked = least(torch.zeros(2, 5000), torch.ones(2, 5000).bool(), torch.tensor([2, 1700]))
    assert torch.equal(marked, torch.arange(5000) < torch.tensor([[2], [1700]]))


def test_refusals(model: BERT) -> None:
    """Calls that mean nothing."""
    with pytest.raises(ValueError, match="expected n_rounds >= 1"):
        unmask(model, TEXT, 0, mask_id=MASK, greedy=True)
    with pytest.raises(ValueError, match="'leftmost'"):
        unmask(model, TEXT, 1, mask_id=MASK, order="leftmost", greedy=True)
    with pytest.raises(ValueError, match=r"shape \(8,\)"):
        unmask(model, TEXT[0], 1, mask_id=MASK, greedy=True)
    with pytest.raises(ValueError, match="for a random order"):
        unmask(model, TEXT, 1, mask_id=MASK, order="random", greedy=True)
    with pytest.raises(ValueError, match=r"expected a torch\.Generator"):
        unmask(model, TEXT, 1, mask_id=MASK)


def test_ids_that_may_not_be_written_belong_to_the_vocabulary(
    tiny_bert: Callable[..., BERT],
) -> None:
    """torch's own error about an index got out; and something must be left to write."""
    ids = torch.ones(1, 2, dtype=torch.int64)
    for special in ((11,), range(11)):
        with pytest.raises(ValueError, match=r"special_ids in 0\.\.10, and others than these"):
            unmask(tiny_bert(), ids, 1, mask_id=1, special_ids=special, greedy=True)
