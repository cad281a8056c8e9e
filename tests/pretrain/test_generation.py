# SPDX-License-Identifier: MIT
"""Sampling and its cuts; GPT continues, T5 answers, BERT fills masks over several rounds."""

import math
from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator, Tensor

from pretrain.bert import BERT
from pretrain.generation import Sampling, generate, generate_seq2seq, lowest_k, mask_predict
from pretrain.gpt import GPT, GPTConfig
from pretrain.t5 import T5

GREEDY = Sampling(greedy=True)
PROMPT = torch.tensor([[3, 1, 4], [2, 7, 1]])
LOGITS = st.lists(st.floats(-20, 20), min_size=1, max_size=12).map(
    lambda values: torch.tensor(values, dtype=torch.float64)
)
SHARE = st.floats(0.01, 1.0)
P = torch.tensor([0.5, 0.25, 0.15, 0.1], dtype=torch.float64)


def seeded(seed: int = 0) -> Generator:
    """Give a generator."""
    return torch.Generator().manual_seed(seed)


def follows(drawn: Tensor, probs: Tensor) -> bool:
    """Say whether ids, (n,), have the frequencies of a distribution, (V,), within 4 sigma."""
    share = torch.bincount(drawn, minlength=len(probs)) / len(drawn)
    return bool(((share - probs).abs() <= 4 * (probs * (1 - probs) / len(drawn)).sqrt()).all())


@given(
    LOGITS, st.floats(0.01, 100), st.none() | st.integers(1, 15), st.none() | SHARE,
    st.none() | SHARE,
)  # fmt: skip
def test_temperature_first_then_the_cuts_in_their_order(
    logits: Tensor, temperature: float, top_k: int | None, top_p: float | None, min_p: float | None
) -> None:
    """Whatever the settings: one after the other gives the same, and the best token stays."""
    whole = Sampling(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)
    probs = whole.distribution(logits)
    assert probs.ge(0).all()
    assert probs.sum().item() == pytest.approx(1.0)
    steps = (logits / temperature).softmax(dim=-1)
    assert probs[steps.argmax()] > 0
    for cut in ({"top_k": top_k}, {"top_p": top_p}, {"min_p": min_p}):
        steps = Sampling(**cut).distribution(steps.log())  # type: ignore[arg-type]
    assert torch.allclose(probs.sort().values, steps.sort().values, rtol=0, atol=1e-9)


@given(LOGITS, st.floats(0.01, 0.99))
def test_top_p_keeps_the_smallest_sufficient_set(logits: Tensor, top_p: float) -> None:
    """The kept tokens reach p, without the least likely of them they do not; none is skipped."""
    probs = logits.softmax(dim=-1)
    kept = Sampling(top_p=top_p).distribution(logits) > 0
    assert probs[kept].sum() >= top_p - 1e-9
    assert probs[kept].sum() - probs[kept].min() < top_p + 1e-9
    assert kept.all() or probs[kept].min() >= probs[~kept].max()


@given(LOGITS, st.integers(1, 12))
def test_top_k_keeps_the_k_best(logits: Tensor, top_k: int) -> None:
    """As many tokens as asked (more only in a tie for the last place)."""
    probs = logits.softmax(dim=-1)
    kept = Sampling(top_k=top_k).distribution(logits) > 0
    n_kept, n_tied = int(kept.sum()), int((probs == probs[kept].min()).sum())
    assert min(top_k, len(logits)) <= n_kept < top_k + n_tied
    assert kept.all() or probs[kept].min() > probs[~kept].max()


@given(LOGITS, SHARE)
def test_min_p_is_relative_to_the_best(logits: Tensor, min_p: float) -> None:
    """A token stays exactly when it is at least min_p times as likely as the best."""
    probs = logits.softmax(dim=-1)
    kept = Sampling(min_p=min_p).distribution(logits) > 0
    assert torch.equal(kept, probs >= min_p * probs.max())


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, P.tolist()),
        ({"top_k": 2}, [2 / 3, 1 / 3, 0, 0]),
        ({"top_p": 0.6}, [2 / 3, 1 / 3, 0, 0]),
        ({"min_p": 0.25}, [5 / 9, 2.5 / 9, 1.5 / 9, 0]),
        ({"top_k": 3, "top_p": 0.55}, [1, 0, 0, 0]),  # 5/9 of what top_k left reaches 0.55
        ({"temperature": 0.5}, (P.square() / P.square().sum()).tolist()),
        ({"temperature": 0.5, "top_p": 0.7}, [1, 0, 0, 0]),  # only the sharpened half reaches it
        ({"temperature": 1e6}, [0.25] * 4),
        ({"temperature": 1e-45}, [1, 0, 0, 0]),
    ],
    ids=str,
)
def test_distributions_by_hand(settings: dict[str, Any], expected: list[float]) -> None:
    """On 50, 25, 15 and 10 % the survivors are known."""
    probs = Sampling(**settings).distribution(P.log())
    assert probs.tolist() == pytest.approx(expected, abs=1e-5)
    single = Sampling(**settings).distribution(P.float().log())
    assert single.tolist() == pytest.approx(expected, abs=1e-5)


def test_a_set_that_reaches_p_exactly_is_enough() -> None:
    """Of two tokens with a half each, one has the share that is asked for."""
    assert sorted(Sampling(top_p=0.5).distribution(torch.zeros(2)).tolist()) == [0.0, 1.0]


@pytest.mark.parametrize("cut", [{"top_k": 9}, {"top_k": 10}, {"top_p": 1.0}], ids=str)
def test_a_cut_that_keeps_all_changes_nothing(cut: dict[str, Any]) -> None:
    """Not even the last digit, as rescaling would."""
    logits = 3 * torch.randn(50, 9)
    assert torch.equal(Sampling(**cut).distribution(logits), Sampling().distribution(logits))


def test_rows_are_cut_one_by_one() -> None:
    """A batch gives what its rows give alone; a forbidden token stays so."""
    logits = torch.randn(3, 2, 9)
    logits[..., 4] = -torch.inf
    choose = Sampling(top_k=5, top_p=0.7, min_p=0.1)
    whole = choose.distribution(logits)
    rows = [choose.distribution(row) for row in logits.flatten(0, 1)]
    assert torch.allclose(whole.flatten(0, 1), torch.stack(rows))
    assert whole[..., 4].eq(0).all()


def test_one_token_of_each_row() -> None:
    """The best one, or a draw that follows the distribution; a draw needs a generator."""
    assert GREEDY(torch.tensor([[0.0, 2.0, 1.0], [3.0, 2.0, 1.0]])).tolist() == [1, 0]
    choose = Sampling(seeded(), temperature=0.5, top_k=3)
    assert follows(choose(P.log().expand(20_000, -1)), choose.distribution(P.log()))
    with pytest.raises(ValueError, match=r"a torch\.Generator as generator, .*\(or greedy=True\)"):
        Sampling()(torch.zeros(1, 3))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"temperature": 0.0}, r"temperature > 0, got 0.0; for the limit at 0 pass greedy=True"),
        ({"temperature": -1.0}, "temperature > 0, got -1.0"),
        ({"temperature": math.nan}, "temperature > 0, got nan"),
        ({"temperature": math.inf}, "a finite temperature > 0, got inf"),
        ({"top_k": 0}, "top_k >= 1, got 0"),
        ({"top_p": 0.0}, r"top_p in \(0, 1\], got 0.0"),
        ({"top_p": 1.1}, r"top_p in \(0, 1\], got 1.1"),
        ({"min_p": -0.5}, r"min_p in \(0, 1\], got -0.5"),
        ({"greedy": True, "top_k": 3}, "no sampling settings with greedy=True, got"),
        ({"greedy": True, "temperature": 0.5}, "no sampling settings with greedy=True"),
    ],
)
def test_settings_without_a_distribution(setting: dict[str, Any], message: str) -> None:
    """They are refused before there are any logits, and in one place for all three models."""
    with pytest.raises(ValueError, match=message):
        Sampling(**setting)


@torch.no_grad()
@pytest.mark.parametrize("use_cache", [True, False])
def test_greedy_takes_the_best_token_each_time(
    tiny_gpt: Callable[..., GPT], use_cache: bool
) -> None:
    """Each new token is the argmax after the text before it; the prompt is left as it was.

    With a cache, each token is read once.
    """
    model, prompt, lengths = tiny_gpt(), PROMPT.clone(), []
    hook = model.embeddings.register_forward_hook(
        lambda _, args, out: lengths.append(args[0].shape)
    )
    text = generate(model, prompt, 6, GREEDY, use_cache=use_cache)
    hook.remove()
    assert lengths == [(2, n) for n in ([3, 1, 1, 1, 1, 1] if use_cache else range(3, 9))]
    assert torch.equal(prompt, PROMPT)
    assert torch.equal(text[:, :3], PROMPT)
    for end in range(3, 9):
        assert torch.equal(text[:, end], model(text[:, :end])[:, -1].argmax(dim=-1))
    for cut in ({"top_k": 1}, {"top_p": 1e-9}, {"min_p": 1.0}, {"temperature": 1e-4}):
        assert torch.equal(generate(model, PROMPT, 6, Sampling(seeded(), **cut)), text)


def test_the_generator_decides(tiny_gpt: Callable[..., GPT]) -> None:
    """One seed, one text; torch's global generator plays no part."""
    model, texts = tiny_gpt(), []
    for i, seed in enumerate((1, 1, 2)):
        torch.manual_seed(i)
        texts.append(generate(model, PROMPT, 8, Sampling(seeded(seed))))
    assert torch.equal(texts[0], texts[1])
    assert not torch.equal(texts[0], texts[2])


@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(0, 12), st.booleans())
def test_the_prompt_stays(seed: int, n_prompt: int, n_new: int, greedy: bool) -> None:
    """New ids are of the vocabulary, as many as asked for, beyond the context too."""
    draw = seeded(seed)
    torch.manual_seed(seed)
    model = GPT(GPTConfig(11, d_model=8, n_layers=1, n_heads=2, max_len=8, init_std=0.5)).eval()
    prompt = torch.randint(11, (2, n_prompt), generator=draw)
    text = generate(model, prompt, n_new, Sampling(None if greedy else draw, greedy=greedy))
    assert text.shape == (2, n_prompt + n_new)
    assert torch.equal(text[:, :n_prompt], prompt)
    assert ((text >= 0) & (text < 11)).all()


@pytest.mark.parametrize("max_len", [12, 7, 4])
@pytest.mark.parametrize("options", [{}, {"positions": "sinusoidal", "norm": "post"}], ids=str)
def test_cache_changes_nothing(
    tiny_gpt: Callable[..., GPT], options: dict[str, Any], max_len: int
) -> None:
    """The same tokens with and without a cache, greedy and sampled, also past the context."""
    model = tiny_gpt(max_len=max_len, **options)
    for n_new_tokens, greedy in product([0, 1, 9, 40], [True, False]):
        texts = []
        for use_cache in (True, False):
            choose = GREEDY if greedy else Sampling(seeded(4), temperature=1.3, top_p=0.95)
            texts.append(generate(model, PROMPT, n_new_tokens, choose, use_cache=use_cache))
        assert torch.equal(*texts)
        assert texts[0].shape == (2, 3 + n_new_tokens)


def test_a_cache_changes_nothing_in_a_changed_model(tiny_gpt: Callable[..., GPT]) -> None:
    """What a hook adds inside a block is there for every token, with and without a cache."""
    model, push = tiny_gpt(), torch.zeros(tiny_gpt().config.d_model)
    push[0] = 5.0
    model.blocks[0].register_forward_hook(lambda _, args, out: out + push)
    texts = [generate(model, PROMPT, 9, GREEDY, use_cache=use) for use in (True, False)]
    assert torch.equal(*texts)


@torch.no_grad()
@pytest.mark.parametrize("max_len", [1, 2, 3, 12])
def test_past_the_context_the_newer_half_is_read_again(
    tiny_gpt: Callable[..., GPT], max_len: int
) -> None:
    """Every token comes from the last tokens of the text, at least half a context of them."""
    model = tiny_gpt(max_len=max_len)
    text = generate(model, PROMPT[:1, :1], 30, GREEDY)
    start = 0
    for end in range(1, 31):
        if end - start > max_len:
            start = end - (max_len + 1) // 2
        assert text[0, end] == model(text[:, start:end])[0, -1].argmax()


def test_stop_ids_end_the_text(tiny_gpt: Callable[..., GPT]) -> None:
    """The text ends right after the stop sequence, which may begin in the prompt."""
    model = tiny_gpt()
    text = generate(model, PROMPT[:1], 9, GREEDY)[0].tolist()
    for length in (1, 2, 4):
        stop = text[6 - length : 6]
        first = next(end for end in range(4, 13) if text[end - length : end] == stop)
        out = generate(model, PROMPT[:1], 9, GREEDY, stop_ids=stop)
        assert out[0].tolist() == text[:first]
    assert generate(model, PROMPT[:1], 9, GREEDY, stop_ids=[99])[0].tolist() == text


@pytest.mark.parametrize("kind", ["GPT", "T5", "BERT"])
def test_texts_and_models_can_be_trained_on(
    tiny_gpt: Callable[..., GPT], tiny_t5: Callable[..., T5], tiny_bert: Callable[..., BERT],
    kind: str,
) -> None:  # fmt: skip
    """A model in training mode writes what it writes without dropout, and stays in that mode.

    The text is an ordinary tensor: it may be changed, and read with gradients.
    """
    model = {"GPT": tiny_gpt, "T5": tiny_t5, "BERT": tiny_bert}[kind](dropout=0.3)
    write: Callable[[], Tensor] = {
        "GPT": lambda: generate(model, PROMPT, 9, GREEDY),
        "T5": lambda: generate_seq2seq(model, PROMPT, 9, GREEDY),
        "BERT": lambda: mask_predict(model, PROMPT, 2, GREEDY, mask_id=1),
    }[kind]
    expected = write()
    model.train()
    text = write()
    assert torch.equal(text, expected)
    assert model.training
    text[0, 0] = 5
    logits = model(PROMPT, text) if kind == "T5" else model(text)
    logits.sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_bad_calls_are_named(tiny_gpt: Callable[..., GPT], tiny_t5: Callable[..., T5]) -> None:
    """Prompts, counts and stops that mean nothing."""
    cases: list[tuple[Tensor, int, dict[str, Any], str]] = [
        (PROMPT[0], 2, {}, r"prompt ids \(B, T\) with T in 1\.\.12 .* got shape \(3,\) and 2"),
        (PROMPT[:, :0], 2, {}, r"got shape \(2, 0\)"),
        (PROMPT.repeat(1, 5), 2, {}, r"T in 1\.\.12 .* got shape \(2, 15\)"),
        (PROMPT, -1, {}, r"n_new_tokens >= 0, got shape \(2, 3\) and -1"),
        (PROMPT, 2, {"stop_ids": [1]}, "expected one sequence and at least one id to stop at"),
        (PROMPT[:1], 2, {"stop_ids": []}, "expected one sequence and at least one id to stop at"),
    ]
    for ids, n_new_tokens, options, message in cases:
        with pytest.raises(ValueError, match=message):
            generate(tiny_gpt(), ids, n_new_tokens, GREEDY, **options)
    with pytest.raises(ValueError, match="n_new_tokens >= 0, got -1"):
        generate_seq2seq(tiny_t5(), PROMPT, -1, GREEDY)


IDS = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8], [7, 7, 2, 1, 0, 4]])
REAL = torch.tensor([[1] * 4 + [0] * 2, [1] * 6, [1] * 5 + [0]]).bool()


@torch.no_grad()
def by_hand(model: T5, n_new_tokens: int, pad_id: int = 0) -> Tensor:
    """Write greedily with whole passes of the model, from the start id on."""
    text = torch.full((3, 1), pad_id)
    for _ in range(n_new_tokens):
        best = model(IDS, text, REAL)[:, -1].argmax(dim=-1)
        text = torch.cat([text, best[:, None]], dim=1)
    return text[:, 1:]


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("pad_id", [0, 5])
def test_t5_takes_the_best_token_each_time(
    tiny_t5: Callable[..., T5], use_cache: bool, pad_id: int
) -> None:
    """Each token is the argmax after those before it; the start id is the padding's, and left out.

    By the cache, each token is read once.
    """
    model, lengths = tiny_t5(), []
    expected = by_hand(model, 7, pad_id)
    model.decoder.register_forward_hook(lambda _, args, out: lengths.append(args[0].shape[1]))
    options: dict[str, Any] = {"attention_mask": REAL, "pad_id": pad_id, "use_cache": use_cache}
    assert torch.equal(generate_seq2seq(model, IDS, 7, GREEDY, **options), expected)
    assert lengths == ([1] * 7 if use_cache else list(range(1, 8)))
    assert generate_seq2seq(model, IDS, 0, GREEDY, **options).shape == (3, 0)


@pytest.mark.parametrize("use_cache", [True, False])
def test_each_output_ends_by_itself(tiny_t5: Callable[..., T5], use_cache: bool) -> None:
    """After its end id a row holds padding; the text is as long as the longest row."""
    n_uneven = 0
    for model in [tiny_t5() for _ in range(3)]:
        free = by_hand(model, 20).tolist()
        for eos_id in range(11):
            out = generate_seq2seq(
                model, IDS, 20, GREEDY, attention_mask=REAL, eos_id=eos_id, use_cache=use_cache
            )
            ends = [t.index(eos_id) + 1 if eos_id in t else 20 for t in free]
            assert out.shape[1] == max(ends)
            for row, text, end in zip(out.tolist(), free, ends, strict=True):
                assert row == text[:end] + [0] * (out.shape[1] - end)
            n_uneven += len(set(ends)) > 1
    assert n_uneven > 5


def test_t5_samples_the_same_with_and_without_a_cache(tiny_t5: Callable[..., T5]) -> None:
    """Each draw is made from the same distribution."""
    model, texts = tiny_t5(activation="gelu_tanh", gated=True, tie_head=False), []
    for use_cache in (True, False):
        options: dict[str, Any] = {"attention_mask": REAL, "eos_id": 4, "use_cache": use_cache}
        choose = Sampling(seeded(4), temperature=1.3, top_p=0.95)
        texts.append(generate_seq2seq(model, IDS, 12, choose, **options))
    assert torch.equal(*texts)


MASK, SPECIAL = 1, (0, 1, 2)
TEXT = torch.tensor([[3, MASK, 4, MASK, MASK, 9, MASK, 5], [MASK, 6, 5, 3, 5, 8, 4, MASK]])


@pytest.fixture
def model(tiny_bert: Callable[..., BERT]) -> BERT:
    """Give a small BERT."""
    return tiny_bert()


@pytest.mark.parametrize("order", ["confidence", "random"])
@pytest.mark.parametrize("n_rounds", [1, 3, 50])
@pytest.mark.parametrize("greedy", [True, False])
def test_only_masks_change(model: BERT, order: str, n_rounds: int, greedy: bool) -> None:
    """No mask is left, what was given stays, nothing special is written, the input is untouched."""
    before, given_ids = TEXT.clone(), TEXT != MASK
    choose, options = Sampling(seeded(), greedy=greedy), {"special_ids": SPECIAL, "order": order}
    out = mask_predict(model, TEXT, n_rounds, choose, mask_id=MASK, **options)
    assert torch.equal(TEXT, before)
    assert torch.equal(out[given_ids], TEXT[given_ids])
    assert not torch.isin(out[~given_ids], torch.tensor(SPECIAL)).any()


@torch.no_grad()
@pytest.mark.parametrize("seed", range(3))
def test_one_and_two_rounds_by_hand(model: BERT, seed: int) -> None:
    """One round is the best guess of each. Then the less sure half is masked and filled again."""
    text = torch.randint(2, 11, (1, 12), generator=seeded(seed))
    text[0, torch.randperm(12, generator=seeded(seed))[:8]] = MASK
    logits = model(text).index_fill(-1, torch.tensor([MASK]), -torch.inf)
    probs, guess = logits.softmax(dim=-1).max(dim=-1)
    first = torch.where(text == MASK, guess, text)
    assert torch.equal(mask_predict(model, text, 1, GREEDY, mask_id=MASK), first)
    masks = (text[0] == MASK).nonzero().flatten()
    weak = masks[probs[0, masks].argsort()[:4]]
    second = first.clone()
    second[0, weak] = MASK
    logits = model(second).index_fill(-1, torch.tensor([MASK]), -torch.inf)
    second[0, weak] = logits.argmax(dim=-1)[0, weak]
    assert torch.equal(mask_predict(model, text, 2, GREEDY, mask_id=MASK), second)


def masks_read(model: BERT, text: Tensor, n_rounds: int, seed: int = 0) -> list[Tensor]:
    """List the masks that each pass reads when the order is random and the choice is not."""
    seen: list[Tensor] = []
    hook = model.register_forward_pre_hook(lambda _, args: seen.append(args[0] == MASK))
    choose = Sampling(seeded(seed), greedy=True)
    mask_predict(model, text, n_rounds, choose, mask_id=MASK, order="random")
    hook.remove()
    return seen


def test_rounds_and_masks(model: BERT) -> None:
    """Four masks in k rounds: so many are open in each, none again, and no pass for nothing."""
    text = TEXT[:1]
    for n_rounds, counts in ((1, [4]), (2, [4, 2]), (3, [4, 2, 1]), (4, [4, 3, 2, 1])):
        read = masks_read(model, text, n_rounds)
        assert [int(mask.sum()) for mask in read] == counts
        assert all((later <= earlier).all() for earlier, later in pairwise(read))
    assert len(masks_read(model, text, 99)) == 4
    assert masks_read(model, text.masked_fill(text == MASK, 3), 5) == []
    orders = [torch.cat(masks_read(model, torch.full((1, 12), MASK), 4, s)) for s in (0, 0, 1)]
    assert torch.equal(orders[0], orders[1])
    assert not torch.equal(orders[0], orders[2])


def test_a_text_does_not_depend_on_its_neighbours(model: BERT) -> None:
    """Rows with different numbers of masks, or none, are filled as if each were alone."""
    texts = torch.cat([TEXT, TEXT[:1].masked_fill(TEXT[:1] == MASK, 7)])
    together = mask_predict(model, texts, 3, GREEDY, mask_id=MASK)
    for row in range(3):
        alone = mask_predict(model, texts[row : row + 1], 3, GREEDY, mask_id=MASK)
        assert torch.equal(together[row], alone[0])


@torch.no_grad()
def test_random_order_draws_from_a_proper_chain(model: BERT) -> None:
    """Two masks, two rounds: frequencies follow P(first) P(second | first), both orders mixed."""
    text = torch.tensor([[3, MASK, 4, MASK]])
    others = [i for i in range(11) if i not in (5, 6)]  # two words, so that there are four texts

    def distribution(row: Tensor, place: int) -> Tensor:
        """Give the distribution over the two words at a place."""
        return model(row)[0, place][[5, 6]].softmax(dim=-1)

    expected = torch.zeros(2, 2, dtype=torch.float64)
    for (first, second), a, b in product(((1, 3), (3, 1)), range(2), range(2)):
        shown = text.clone()
        shown[0, first] = 5 + a
        at = (a, b) if first == 1 else (b, a)
        expected[at] += 0.5 * distribution(text, first)[a] * distribution(shown, second)[b]
    out = mask_predict(
        model, text.expand(4000, -1), 2, Sampling(seeded()), mask_id=MASK, special_ids=others,
        order="random",
    )  # fmt: skip
    assert follows(2 * (out[:, 1] - 5) + out[:, 3] - 5, expected.flatten())


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.data())
def test_lowest_k_marks_the_smallest(values: list[int], data: st.DataObject) -> None:
    """As many as asked for, among those allowed; of equal ones those on the left."""
    among = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    count = data.draw(st.integers(0, sum(among)))
    marked = lowest_k(torch.tensor([values]).double(), torch.tensor([among]), torch.tensor([count]))
    ranked = sorted((value, i) for i, value in enumerate(values) if among[i])
    assert marked[0].nonzero().flatten().tolist() == sorted(i for _, i in ranked[:count])


@pytest.mark.parametrize(
    ("ids", "n_rounds", "options", "message"),
    [
        (TEXT, 0, {}, "expected n_rounds >= 1, .* got 0"),
        (TEXT, 1, {"order": "leftmost"}, "'leftmost'"),
        (TEXT[0], 1, {}, r"shape \(8,\)"),
        (TEXT.float(), 1, {}, "got 1, 'confidence' and torch.float32"),
        (TEXT, 1, {"order": "random"}, "a torch.Generator for a random order, got None"),
        (TEXT, 1, {"special_ids": (11,)}, r"special_ids in 0\.\.10, and others than these"),
        (TEXT, 1, {"special_ids": range(11)}, r"special_ids in 0\.\.10, and others than these"),
    ],
)
def test_bad_fillings_are_named(
    model: BERT, ids: Tensor, n_rounds: int, options: dict[str, Any], message: str
) -> None:
    """Calls that mean nothing, and nothing that may be written."""
    with pytest.raises(ValueError, match=message):
        mask_predict(model, ids, n_rounds, GREEDY, mask_id=MASK, **options)
