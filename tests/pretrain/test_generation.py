# SPDX-License-Identifier: MIT
"""Sampling: the cuts, the cache, and never a position that was not trained.

Filling masks over several rounds.

T5 writes: greedy and sampled, with and without cache, each output to its own end.
"""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator, Tensor

from pretrain.bert import BERT
from pretrain.generation import (
    check_sampling,
    decoding_rule,
    filter_probs,
    generate,
    generate_from,
    least,
    unmask,
)
from pretrain.gpt import GPT
from pretrain.t5 import T5

Build = Callable[..., GPT]
PROMPT = torch.tensor([[3, 1, 4], [2, 7, 1]])
LOGITS = st.lists(st.floats(-20, 20), min_size=1, max_size=12).map(
    lambda values: torch.tensor(values, dtype=torch.float64)
)
SHARE = st.floats(0.01, 1.0)
P = torch.tensor([0.5, 0.25, 0.15, 0.1], dtype=torch.float64)


@given(
    LOGITS,
    st.floats(0.01, 100),
    st.none() | st.integers(1, 15),
    st.none() | SHARE,
    st.none() | SHARE,
)
def test_the_result_is_a_distribution_with_the_same_best_token(
    logits: Tensor, temperature: float, top_k: int | None, top_p: float | None, min_p: float | None
) -> None:
    """Whatever the settings: non-negative, sum 1, and the most likely token stays."""
    probs = filter_probs(logits, temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)
    assert probs.shape == logits.shape
    assert probs.ge(0).all()
    assert probs.sum().item() == pytest.approx(1.0)
    flat = (logits / temperature).softmax(dim=-1)
    assert flat[probs.argmax()] == flat.max()


@given(LOGITS, st.floats(0.01, 0.99))
def test_top_p_keeps_the_smallest_sufficient_set(logits: Tensor, top_p: float) -> None:
    """The kept tokens reach p, without the least likely of them they do not; none is skipped."""
    probs = logits.softmax(dim=-1)
    kept = filter_probs(logits, top_p=top_p) > 0
    assert probs[kept].sum() >= top_p - 1e-9
    assert probs[kept].sum() - probs[kept].min() < top_p + 1e-9
    assert kept.all() or probs[kept].min() >= probs[~kept].max()


@given(LOGITS, st.integers(1, 12))
def test_top_k_keeps_the_k_best(logits: Tensor, top_k: int) -> None:
    """As many tokens as asked (more only in a tie for the last place)."""
    probs = logits.softmax(dim=-1)
    kept = filter_probs(logits, top_k=top_k) > 0
    n_kept, n_tied = int(kept.sum()), int((probs == probs[kept].min()).sum())
    assert min(top_k, len(logits)) <= n_kept < top_k + n_tied
    assert kept.all() or probs[kept].min() > probs[~kept].max()


@given(LOGITS, SHARE)
def test_min_p_is_relative_to_the_best(logits: Tensor, min_p: float) -> None:
    """A token stays exactly when it is at least min_p times as likely as the best."""
    probs = logits.softmax(dim=-1)
    kept = filter_probs(logits, min_p=min_p) > 0
    assert torch.equal(kept, probs >= min_p * probs.max())


def test_cuts_by_hand() -> None:
    """On 50, 25, 15 and 10 % the survivors are known."""
    assert filter_probs(P.log()).tolist() == pytest.approx(P.tolist())
    assert filter_probs(P.log(), top_k=2).tolist() == pytest.approx([2 / 3, 1 / 3, 0, 0])
    assert filter_probs(P.log(), top_p=0.6).tolist() == pytest.approx([2 / 3, 1 / 3, 0, 0])
    assert filter_probs(P.log(), min_p=0.25)[3] == 0
    both = filter_probs(P.log(), top_k=3, top_p=0.55)  # 5/9 of what top_k left reaches 0.55
    assert both.tolist() == [1, 0, 0, 0]
    assert filter_probs(P.log(), temperature=0.5)[0].item() == pytest.approx(0.25 / 0.345)
    assert filter_probs(P.log(), top_p=1.0, top_k=9).tolist() == pytest.approx(P.tolist())


def test_a_set_that_reaches_p_exactly_is_enough() -> None:
    """Of two tokens with a half each, one has the share that is asked for."""
    assert sorted(filter_probs(torch.zeros(2), top_p=0.5).tolist()) == [0.0, 1.0]


def test_temperature_sharpens_and_flattens() -> None:
    """Cold is nearly greedy, hot nearly uniform."""
    assert filter_probs(P.log(), temperature=0.01)[0] > 0.999
    assert torch.allclose(filter_probs(P.log(), temperature=1e6), torch.full_like(P, 0.25))


def test_rows_are_filtered_one_by_one() -> None:
    """A batch gives what its rows give alone."""
    logits = torch.randn(3, 2, 9)
    whole = filter_probs(logits, top_k=5, top_p=0.7, min_p=0.1)
    rows = [filter_probs(row, top_k=5, top_p=0.7, min_p=0.1) for row in logits.flatten(0, 1)]
    assert torch.allclose(whole.flatten(0, 1), torch.stack(rows))
    cold = filter_probs(torch.tensor([[9.0, 8.0], [1.0, 2.0]]), temperature=1e-40)
    assert cold.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    near = filter_probs(torch.tensor([[0.9, 0.1], [0.5, 0.5]]).log(), min_p=0.8)
    assert near.tolist() == [[1.0, 0.0], [0.5, 0.5]]


@pytest.mark.parametrize("cut", [{"top_k": 9}, {"top_k": 10}, {"top_p": 1.0}], ids=str)
def test_a_cut_that_keeps_all_changes_nothing(cut: dict) -> None:
    """Not even the last digit, as rescaling would."""
    logits = 3 * torch.randn(50, 9)
    assert torch.equal(filter_probs(logits, **cut), filter_probs(logits))


def test_the_type_of_the_logits() -> None:
    """Whole numbers are logits, too; double precision knows temperatures that single does not."""
    assert filter_probs(torch.tensor([4, 4])).tolist() == [0.5, 0.5]
    tiny = torch.tensor([1e-100, 0.0], dtype=torch.float64)
    best = filter_probs(tiny, temperature=1e-100)[0].item()
    assert best == pytest.approx(1 / (1 + math.exp(-1)))


@pytest.mark.parametrize("logits", [torch.tensor(0.0), torch.zeros(2, 0)])
def test_no_token_to_choose_from(logits: Tensor) -> None:
    """A single number is no distribution, and an empty row is none."""
    with pytest.raises(ValueError, match=r"expected logits \(\.\.\., V\), V >= 1, got shape"):
        filter_probs(logits)


def test_rules_pick_one_token_of_each_row(generator: Generator) -> None:
    """The best one; or a draw, which has no choice in a vocabulary of one token."""
    best = decoding_rule(greedy=True, generator=None)
    assert best(torch.tensor([[0.0, 2.0, 1.0], [3.0, 2.0, 1.0]])).tolist() == [1, 0]
    draw = decoding_rule(greedy=False, generator=generator)
    assert draw(torch.zeros(3, 1)).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"temperature": 0.0}, r"temperature > 0, got 0.0; for the limit at 0 pass greedy=True"),
        ({"temperature": -1.0}, "temperature > 0, got -1.0"),
        ({"temperature": math.nan}, "temperature > 0, got nan"),
        ({"top_k": 0}, "top_k >= 1, got 0"),
        ({"top_p": 0.0}, r"top_p in \(0, 1\], got 0.0"),
        ({"top_p": 1.1}, r"top_p in \(0, 1\], got 1.1"),
        ({"min_p": 0.0}, r"min_p in \(0, 1\], got 0.0"),
        ({"min_p": -0.5}, r"min_p in \(0, 1\], got -0.5"),
    ],
)
def test_settings_without_a_distribution(
    tiny_gpt: Build, generator: Generator, setting: dict, message: str
) -> None:
    """The check, the filter, the rule and generate refuse them with one message."""
    complete = {"temperature": 1.0, "top_k": None, "top_p": None, "min_p": None, **setting}
    with pytest.raises(ValueError, match=message):
        check_sampling(**complete)
    with pytest.raises(ValueError, match=message):
        filter_probs(P.log(), **setting)
    with pytest.raises(ValueError, match=message):
        decoding_rule(greedy=False, generator=generator, **setting)
    with pytest.raises(ValueError, match=message):
        generate(tiny_gpt(), PROMPT, 2, generator=generator, **setting)


def test_the_rule_by_itself(generator: Generator) -> None:
    """It refuses bad settings before any logits, uses each cut, and may have but one token."""
    for setting in ({"temperature": 0.0}, {"top_k": 0}, {"top_p": 2.0}, {"min_p": -0.5}):
        with pytest.raises(ValueError, match=f"{next(iter(setting))}.* got"):
            decoding_rule(greedy=False, generator=generator, **setting)
    logits = torch.zeros(400, 3)
    logits[:, 1] = 1e-3
    for cut in ({"top_k": 1}, {"top_p": 0.1}, {"min_p": 1.0}):
        rule = decoding_rule(greedy=False, generator=generator, **cut)
        assert rule(logits).eq(1).all()
    plain, warm = (
        decoding_rule(greedy=False, generator=Generator().manual_seed(1), **options)
        for options in ({}, {"temperature": 1.0})
    )
    assert torch.equal(plain(P.log().expand(400, -1)), warm(P.log().expand(400, -1)))
    assert decoding_rule(greedy=False, generator=generator)(torch.zeros(2, 1)).tolist() == [0, 0]


def test_greedy_takes_the_best_token_each_time(tiny_gpt: Build) -> None:
    """Each new token is the argmax after the text before it; the prompt is left as it was."""
    model = tiny_gpt()
    prompt = PROMPT.clone()
    text = generate(model, prompt, 6, greedy=True)
    assert torch.equal(prompt, PROMPT)
    assert torch.equal(text[:, :3], PROMPT)
    assert text.shape == (2, 9)
    for end in range(3, 9):
        assert torch.equal(text[:, end], model(text[:, :end])[:, -1].argmax(dim=-1))


@pytest.mark.parametrize(
    "cut", [{"top_k": 1}, {"top_p": 1e-9}, {"min_p": 1.0}, {"temperature": 1e-4}], ids=str
)
def test_one_likely_token_is_greedy(tiny_gpt: Build, generator: Generator, cut: dict) -> None:
    """Sampling among the best one is greedy decoding, whichever setting leaves it alone."""
    model = tiny_gpt()
    greedy = generate(model, PROMPT, 9, greedy=True)
    assert torch.equal(generate(model, PROMPT, 9, generator=generator, **cut), greedy)


def test_samples_follow_the_distribution(tiny_gpt: Build, generator: Generator) -> None:
    """The first new token of 20,000 samples has the filtered frequencies, within 4 sigma."""
    model = tiny_gpt()
    n = 20_000
    drawn = generate(model, PROMPT[:1].expand(n, -1), 1, top_p=0.9, generator=generator)[:, -1]
    with torch.no_grad():
        probs = filter_probs(model(PROMPT[:1])[0, -1], top_p=0.9)
    share = torch.bincount(drawn, minlength=11) / n
    assert ((share - probs).abs() <= 4 * (probs * (1 - probs) / n).sqrt()).all()


def test_the_generator_decides(tiny_gpt: Build) -> None:
    """One seed, one text; torch's global generator plays no part."""
    model = tiny_gpt()
    texts = []
    for seed in (1, 1, 2):
        torch.manual_seed(len(texts))
        texts.append(generate(model, PROMPT, 8, generator=torch.Generator().manual_seed(seed)))
    assert torch.equal(texts[0], texts[1])
    assert not torch.equal(texts[0], texts[2])


@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(0, 12), st.booleans())
def test_the_prompt_stays(seed: int, n_prompt: int, n_new: int, greedy: bool) -> None:
    """New ids are of the vocabulary, as many as asked for, beyond the context too."""
    draw = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    model = GPT(11, d_model=8, n_layers=1, n_heads=2, max_len=8, init_std=0.5).eval()
    prompt = torch.randint(11, (2, n_prompt), generator=draw)
    text = generate(model, prompt, n_new, greedy=greedy, generator=None if greedy else draw)
    assert text.shape == (2, n_prompt + n_new)
    assert torch.equal(text[:, :n_prompt], prompt)
    assert ((text >= 0) & (text < 11)).all()


@pytest.mark.parametrize("n_new_tokens", [0, 1, 5, 9, 10, 40])
@pytest.mark.parametrize("max_len", [12, 7, 4])
def test_cache_changes_nothing(tiny_gpt: Build, n_new_tokens: int, max_len: int) -> None:
    """The same tokens with and without a cache, greedy and sampled, also past the context."""
    for options in ({}, {"positions": "sinusoidal", "norm": "post"}):
        model = tiny_gpt(max_len=max_len, **options)
        for use in ({"greedy": True}, {"temperature": 1.3, "top_p": 0.95}):
            texts = []
            for use_cache in (True, False):
                if "greedy" not in use:
                    use = {**use, "generator": torch.Generator().manual_seed(4)}
                texts.append(generate(model, PROMPT, n_new_tokens, use_cache=use_cache, **use))
            assert torch.equal(*texts)
            assert texts[0].shape == (2, 3 + n_new_tokens)


@pytest.mark.parametrize(
    ("options", "n_read"), [({}, [3, 1, 1, 1]), ({"use_cache": False}, [3, 4, 5, 6])]
)
def test_each_token_is_read_once(tiny_gpt: Build, options: dict, n_read: list[int]) -> None:
    """Unless the cache is refused: then the whole text is read for each new token."""
    model = tiny_gpt()
    lengths: list[int] = []
    model.embeddings.register_forward_hook(lambda _, args, out: lengths.append(args[0].shape[1]))
    generate(model, PROMPT, 4, greedy=True, **options)
    assert lengths == n_read


@pytest.mark.parametrize("max_len", [1, 2, 3, 12])
def test_past_the_context_the_newer_half_is_read_again(tiny_gpt: Build, max_len: int) -> None:
    """Every token comes from the last tokens of the text, at least half a context of them."""
    model = tiny_gpt(max_len=max_len)
    text = generate(model, PROMPT[:1, :1], 30, greedy=True)
    start = 0
    for end in range(1, 31):
        if end - start > max_len:
            start = end - (max_len + 1) // 2
        assert text[0, end] == model(text[:, start:end])[0, -1].argmax()


@pytest.mark.parametrize("use_cache", [True, False])
def test_no_untrained_position_is_ever_read(use_cache: bool) -> None:
    """Trained on 16 of 32 positions, the others may hold anything, even NaN."""
    model = GPT(11, d_model=8, n_layers=1, n_heads=2, max_len=32)
    model.train()(torch.zeros(1, 16, dtype=torch.int64))
    model.eval()
    assert model.context_limit == 16
    read: list[int] = []
    model.embeddings.register_forward_hook(
        lambda _, args, kwargs, out: read.append(kwargs.get("n_past", 0) + args[0].shape[1]),
        with_kwargs=True,
    )
    clean = generate(model, PROMPT, 60, greedy=True, use_cache=use_cache)
    assert max(read) == 16
    with torch.no_grad():
        model.embeddings.position.weight[16:] = math.nan
    assert torch.equal(generate(model, PROMPT, 60, greedy=True, use_cache=use_cache), clean)


def test_generation_does_not_count_as_training() -> None:
    """Even a model left in training mode keeps its trained length."""
    model = GPT(11, d_model=8, n_layers=1, n_heads=2, max_len=32).train()
    assert model.context_limit == 32
    generate(model, PROMPT, 20, greedy=True)
    assert model.context_limit == 32
    model(torch.zeros(1, 16, dtype=torch.int64))
    generate(model, PROMPT, 20, greedy=True)
    assert model.context_limit == 16


def test_the_text_may_be_trained_on(tiny_gpt: Build, generator: Generator) -> None:
    """What comes back is an ordinary tensor: it may be changed, and read with gradients."""
    model = tiny_gpt()
    text = generate(model, PROMPT, 4, generator=generator)
    text[0, 0] = 5
    model(text).sum().backward()
    assert model.embeddings.token.weight.grad is not None


def test_stop_ids_end_the_text(tiny_gpt: Build) -> None:
    """The text ends right after the stop sequence, which may begin in the prompt."""
    model = tiny_gpt()
    text = generate(model, PROMPT[:1], 9, greedy=True)[0].tolist()
    for length in (1, 2, 4):
        stop = text[6 - length : 6]
        first = next(end for end in range(4, 13) if text[end - length : end] == stop)
        out = generate(model, PROMPT[:1], 9, greedy=True, stop_ids=stop)
        assert out[0].tolist() == text[:first]
    never = generate(model, PROMPT[:1], 9, greedy=True, stop_ids=[99])
    assert never[0].tolist() == text


def test_bad_calls_are_named(tiny_gpt: Build, generator: Generator) -> None:
    """Prompts, counts and contradictory arguments."""
    model = tiny_gpt()
    cases: list[tuple[Tensor, int, dict, str]] = [
        (PROMPT[0], 2, {}, r"prompt ids \(B, T\) with B, T >= 1, got shape \(3,\)"),
        (PROMPT[:, :0], 2, {}, r"prompt ids \(B, T\) with B, T >= 1, got shape \(2, 0\)"),
        (PROMPT, -1, {}, "n_new_tokens >= 0, got -1"),
        (PROMPT.repeat(1, 5), 2, {}, "at most 12 tokens, the longest .* trained on, got 15"),
        (PROMPT, 2, {"generator": None}, r"a torch.Generator as generator \(or greedy=True\)"),
        (PROMPT, 2, {"greedy": True, "top_k": 3}, "no sampling arguments with greedy=True, got"),
        (PROMPT, 2, {"greedy": True, "temperature": 0.5}, "no sampling arguments with greedy"),
        (PROMPT, 2, {"stop_ids": [1]}, "expected one sequence with stop_ids, got 2"),
    ]
    for ids, n_new_tokens, options, message in cases:
        with pytest.raises(ValueError, match=message):
            generate(model, ids, n_new_tokens, **{"generator": generator, **options})


def test_a_prompt_longer_than_the_training_is_refused() -> None:
    """The limit is what was trained, not what there is room for."""
    model = GPT(11, d_model=8, n_layers=1, n_heads=2, max_len=32)
    model.train()(torch.zeros(1, 16, dtype=torch.int64))
    generate(model.eval(), torch.zeros(1, 16, dtype=torch.int64), 1, greedy=True)
    with pytest.raises(ValueError, match=r"a prompt of at most 16 tokens, .* got 17"):
        generate(model, torch.zeros(1, 17, dtype=torch.int64), 1, greedy=True)


def test_training_mode_changes_no_text(tiny_gpt: Build) -> None:
    """Dropout is off while writing, with and without a cache, and on again afterwards."""
    model = tiny_gpt(dropout_prob=0.3)
    expected = generate(model, PROMPT, 20, greedy=True)
    model.train()
    for use_cache in (True, False):
        assert torch.equal(generate(model, PROMPT, 20, greedy=True, use_cache=use_cache), expected)
    assert model.training


@pytest.mark.parametrize("temperature", [1e-45, 1e-39, 1e-10])
def test_tiny_temperatures_are_greedy(temperature: float) -> None:
    """Dividing by almost nothing gives the best token and no NaN."""
    logits = torch.tensor([1.0, 3.0, 2.0])
    assert filter_probs(logits, temperature=temperature).tolist() == [0.0, 1.0, 0.0]


def test_a_temperature_below_32_bits_divides_64_bits() -> None:
    """Logits of 64 bits may lie closer together than 32 bits can say."""
    logits = torch.tensor([0.0, 1e-40], dtype=torch.float64)
    second = filter_probs(logits, temperature=1e-40)[1].item()
    assert second == pytest.approx(1 / (1 + math.exp(-1)))


def test_an_empty_stop_is_refused(tiny_gpt: Build) -> None:
    """It would otherwise be ignored in silence."""
    with pytest.raises(ValueError, match="expected at least one id in stop_ids"):
        generate(tiny_gpt(), PROMPT[:1], 3, greedy=True, stop_ids=[])


def test_caches_must_be_one_a_block(tiny_gpt: Build) -> None:
    """An empty list is not read as "no cache", nor a spare cache ignored."""
    model = tiny_gpt()
    for caches in ([], [*model.make_cache(), *model.make_cache()]):
        with pytest.raises(ValueError, match=f"expected 2 caches, one a block, got {len(caches)}"):
            model(PROMPT, cache=caches)


def test_a_temperature_beyond_the_type_leaves_the_forbidden_out() -> None:
    """It rounded to infinity in 32 bits: NaN for a token that minus infinity forbids."""
    probs = filter_probs(torch.tensor([float("-inf"), 1.0, 1.0]), temperature=1e300)
    assert probs.tolist() == [0.0, 0.5, 0.5]


@pytest.mark.parametrize("cut", [{"temperature": 1e-50}, {"top_p": 1e-50}])
def test_settings_too_small_for_the_type_keep_the_best_token(cut: dict[str, float]) -> None:
    """They rounded to 0 in 32 bits: a division of 0 by 0, and a set without any token."""
    probs = filter_probs(torch.tensor([0.0, 2.0, 1.0]), **cut)  # type: ignore[arg-type]
    assert probs.tolist() == [0.0, 1.0, 0.0]


def test_an_infinite_temperature_is_refused() -> None:
    """It made NaN of tokens that are forbidden by minus infinity."""
    with pytest.raises(ValueError, match="finite temperature > 0, got inf"):
        filter_probs(torch.tensor([0.0, float("-inf")]), temperature=float("inf"))


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


rewriting_Build = Callable[..., T5]
IDS = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8], [7, 7, 2, 1, 0, 4]])
REAL = torch.tensor([[1] * 4 + [0] * 2, [1] * 6, [1] * 5 + [0]]).bool()


def by_hand(model: T5, n_new_tokens: int) -> Tensor:
    """Write greedily with whole passes of the model, from the start id on."""
    text = torch.zeros(3, 1, dtype=torch.int64)
    for _ in range(n_new_tokens):
        best = model(IDS, text, REAL)[:, -1].argmax(dim=-1)
        text = torch.cat([text, best[:, None]], dim=1)
    return text[:, 1:]


@pytest.mark.parametrize("use_cache", [True, False])
def test_rewriting_greedy_takes_the_best_token_each_time(
    tiny_t5: rewriting_Build, use_cache: bool
) -> None:
    """Each token is the argmax after those before it; the start id is not returned."""
    model = tiny_t5()
    options: dict[str, Any] = {"attention_mask": REAL, "greedy": True, "use_cache": use_cache}
    assert torch.equal(generate_from(model, IDS, 7, **options), by_hand(model, 7))
    assert generate_from(model, IDS, 0, **options).shape == (3, 0)


@pytest.mark.parametrize("use_cache", [True, False])
def test_each_output_ends_by_itself(tiny_t5: rewriting_Build, use_cache: bool) -> None:
    """After its end id a row holds padding; the text is as long as the longest row."""
    n_uneven = 0
    for model, eos_id in product([tiny_t5() for _ in range(3)], range(11)):
        free = by_hand(model, 30).tolist()
        out = generate_from(
            model,
            IDS,
            30,
            attention_mask=REAL,
            greedy=True,
            eos_id=eos_id,
            use_cache=use_cache,
        )
        ends = [t.index(eos_id) + 1 if eos_id in t else 30 for t in free]
        assert out.shape[1] == max(ends)
        for row, text, end in zip(out.tolist(), free, ends, strict=True):
            assert row == text[:end] + [0] * (out.shape[1] - end)
        n_uneven += len(set(ends)) > 1
    assert n_uneven > 5


def test_padding_id_is_the_start(tiny_t5: rewriting_Build) -> None:
    """Another padding id gives another start, hence another text."""
    model = tiny_t5()
    states = model.encode(IDS)
    for pad_id in (0, 5):
        first = generate_from(model, IDS, 1, greedy=True, pad_id=pad_id)
        start = torch.full((3, 1), pad_id)
        assert torch.equal(first, model.decode(start, states)[:, -1:].argmax(dim=-1))


@pytest.mark.parametrize("eos_id", [None, 4])
def test_rewriting_cache_changes_nothing(tiny_t5: rewriting_Build, eos_id: int | None) -> None:
    """The same tokens with and without a cache, sampled."""
    for options in ({}, {"activation": "gelu_tanh", "gated": True, "tie_head": False}):
        model = tiny_t5(**options)
        texts = [
            generate_from(
                model, IDS, 12, attention_mask=REAL, eos_id=eos_id, use_cache=use_cache,
                temperature=1.3, top_p=0.95, generator=torch.Generator().manual_seed(4),
            )
            for use_cache in (True, False)
        ]  # fmt: skip
        assert torch.equal(*texts)


@pytest.mark.parametrize("use_cache", [None, True, False])
def test_a_cache_reads_each_token_once(
    tiny_t5: rewriting_Build, monkeypatch: pytest.MonkeyPatch, use_cache: bool | None
) -> None:
    """By default each pass reads one new token; without a cache, all tokens so far."""
    model = tiny_t5()
    lengths: list[int] = []
    decode = model.decode

    def counted(ids: Tensor, *rest: Any, **options: Any) -> Tensor:
        lengths.append(ids.shape[1])
        return decode(ids, *rest, **options)

    monkeypatch.setattr(model, "decode", counted)
    options = {} if use_cache is None else {"use_cache": use_cache}
    generate_from(model, IDS, 4, greedy=True, **options)
    assert lengths == ([1, 2, 3, 4] if use_cache is False else [1, 1, 1, 1])


@pytest.mark.parametrize(
    "options", [{"top_p": 0.9}, {"top_k": 3}, {"min_p": 0.5}, {"temperature": 0.5}]
)
def test_rewriting_samples_follow_the_distribution(
    tiny_t5: rewriting_Build, generator: Generator, options: dict[str, Any]
) -> None:
    """The first token of 20,000 samples has the filtered frequencies, within 4 sigma."""
    model = tiny_t5()
    n = 20_000
    drawn = generate_from(model, IDS[:1].expand(n, -1), 1, **options, generator=generator)[:, 0]
    with torch.no_grad():
        logits = model(IDS[:1], torch.zeros(1, 1).long())[0, -1]
        probs = filter_probs(logits, **options)
    assert not torch.allclose(probs, logits.softmax(dim=-1), atol=0.02)
    share = torch.bincount(drawn, minlength=11) / n
    assert ((share - probs).abs() <= 4 * (probs * (1 - probs) / n).sqrt()).all()


def test_rewriting_the_text_may_be_trained_on(
    tiny_t5: rewriting_Build, generator: Generator
) -> None:
    """What comes back is an ordinary tensor, and the inputs are as they were."""
    model = tiny_t5()
    before = IDS.clone()
    text = generate_from(model, IDS, 4, generator=generator)
    assert torch.equal(IDS, before)
    text[0, 0] = 5
    model(IDS, text).sum().backward()
    assert model.token.weight.grad is not None


def test_rewriting_bad_calls_are_named(tiny_t5: rewriting_Build, generator: Generator) -> None:
    """Inputs, counts and contradictory arguments."""
    model = tiny_t5()
    cases: list[tuple[Tensor, int, dict, str]] = [
        (IDS[0], 2, {}, r"integer ids of shape \(B, T\) with T >= 1, got .* shape \(6,\)"),
        (IDS, -1, {}, "n_new_tokens >= 0, got -1"),
        (IDS, 2, {"attention_mask": REAL[:, :2]}, r"attention_mask of shape \(3, 6\)"),
        (IDS, 2, {"generator": None}, r"a torch.Generator as generator \(or greedy=True\)"),
        (IDS, 2, {"greedy": True, "top_k": 3}, "no sampling arguments with greedy=True, got"),
        (IDS, 2, {"temperature": 0.0}, "temperature > 0, got 0.0"),
    ]
    for ids, n_new_tokens, options, message in cases:
        with pytest.raises(ValueError, match=message):
            generate_from(model, ids, n_new_tokens, **{"generator": generator, **options})
