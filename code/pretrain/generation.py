# SPDX-License-Identifier: MIT
"""Turning a model's distributions into text.

Papers: Holtzman et al. 2020 (arXiv:1904.09751) for top-p; Fan et al. 2018 (arXiv:1805.04833) for
top-k; Nguyen et al. 2024 (arXiv:2407.01082) for min-p.

Implemented: greedy decoding, temperature and the three cuts, and the loop in which a GPT continues
a text, with key-value cache and stop sequences. T5's loop is in `pretrain.rewriting`. Left out:
beam search.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Generator, Tensor

from pretrain.decoding import Decoder
from pretrain.evaluation import evaluating
from pretrain.gpt import GPT


def filter_probs(
    logits: Tensor,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
) -> Tensor:
    """Turn logits into the distribution that is sampled from.

    The temperature comes first, then the cuts in the order of the arguments; what is left is
    rescaled to sum to 1. The most likely token always stays.

    Args:
        logits: float (..., V).
        temperature: Divides the logits; > 0. Below 1 sharpens, above 1 flattens.
        top_k: Keep the k most likely tokens, and any that tie with the last of them.
        top_p: Keep the smallest set of most likely tokens whose probability reaches p.
        min_p: Keep tokens at least min_p times as likely as the most likely one.

    Returns:
        Probabilities, float (..., V).

    Raises:
        ValueError: temperature <= 0 or infinite, top_k < 1, top_p or min_p outside (0, 1], or no
            token to choose from.

    Source: Holtzman et al. 2020 (arXiv:1904.09751), section 3; Nguyen et al. 2024
        (arXiv:2407.01082).
    """
    check_sampling(temperature, top_k, top_p, min_p)
    if logits.dim() < 1 or logits.shape[-1] < 1:
        raise ValueError(f"expected logits (..., V), V >= 1, got shape {tuple(logits.shape)}")
    below = logits - logits.amax(dim=-1, keepdim=True)
    # The best logit becomes 0 first, or a small temperature would divide it to infinity; and
    # outside the numbers of the type, the temperature itself would round to 0 or to infinity.
    numbers = torch.finfo(below.dtype if below.is_floating_point() else torch.float32)
    smallest = numbers.tiny
    probs = (below / min(max(temperature, smallest), numbers.max)).softmax(dim=-1)
    if top_k is not None and top_k < probs.shape[-1]:
        probs = _keep(probs, probs >= probs.topk(top_k).values[..., -1:])
    if top_p is not None and top_p < 1.0:
        ordered, order = probs.sort(dim=-1, descending=True)
        before = ordered.cumsum(dim=-1) - ordered  # probability of the more likely tokens
        reached = before >= max(top_p, smallest)
        kept = torch.zeros_like(probs, dtype=torch.bool).scatter(-1, order, ~reached)
        probs = _keep(probs, kept)
    if min_p is not None:
        probs = _keep(probs, probs >= min_p * probs.amax(dim=-1, keepdim=True))
    return probs


def _keep(probs: Tensor, kept: Tensor) -> Tensor:
    """Drop what is not kept and rescale the rest to sum to 1."""
    probs = probs.masked_fill(~kept, 0.0)
    return probs / probs.sum(dim=-1, keepdim=True)


def check_sampling(
    temperature: float, top_k: int | None, top_p: float | None, min_p: float | None
) -> None:
    """Refuse settings that describe no distribution.

    Args:
        temperature: Must be > 0 and finite.
        top_k: Must be >= 1.
        top_p: Must lie in (0, 1].
        min_p: Must lie in (0, 1].

    Raises:
        ValueError: One of them is not; the message says which, and that temperature 0 means
            greedy decoding.
    """
    if not 0 < temperature < math.inf:
        raise ValueError(
            f"expected a finite temperature > 0, got {temperature}; for the limit at 0 pass "
            "greedy=True"
        )
    if top_k is not None and top_k < 1:
        raise ValueError(f"expected top_k >= 1, got {top_k}")
    for name, value in (("top_p", top_p), ("min_p", min_p)):
        if value is not None and not 0 < value <= 1:
            raise ValueError(f"expected {name} in (0, 1], got {value}")


def decoding_rule(
    *,
    greedy: bool,
    generator: Generator | None,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
) -> Callable[[Tensor], Tensor]:
    """Make the function that picks the next token of each sequence.

    Args:
        greedy: Take the most likely token; the sampling arguments must then stay at their
            defaults.
        generator: Source of randomness; required unless greedy.
        temperature: As in `filter_probs`, like the three cuts that follow.
        top_k: Keep the k most likely tokens.
        top_p: Keep the most likely tokens whose probability reaches p.
        min_p: Keep tokens at least min_p times as likely as the most likely one.

    Returns:
        A function from logits, float (B, V), to ids, int64 (B,).

    Raises:
        ValueError: Settings out of range, sampling without a generator, or greedy with settings.
    """
    check_sampling(temperature, top_k, top_p, min_p)
    sampling = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p}
    if greedy and sampling != {"temperature": 1.0, "top_k": None, "top_p": None, "min_p": None}:
        raise ValueError(f"expected no sampling arguments with greedy=True, got {sampling}")
    if greedy:
        return lambda logits: logits.argmax(dim=-1)
    if generator is None:
        raise ValueError("expected a torch.Generator as generator (or greedy=True), got None")

    def sample(logits: Tensor) -> Tensor:
        """Draw one token of each row, (B, V)."""
        probs = filter_probs(logits, temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)
        return torch.multinomial(probs, 1, generator=generator)[:, 0]

    return sample


def generate(
    model: GPT,
    ids: Tensor,
    n_new_tokens: int,
    *,
    greedy: bool = False,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    generator: Generator | None = None,
    stop_ids: Sequence[int] | None = None,
    use_cache: bool = True,
) -> Tensor:
    """Continue token sequences, one token at a time.

    The model never reads at a position that it was not trained on: once the text outgrows the
    longest sequence seen in training, the older half of the context is dropped, and the rest is
    read again from position 0.

    Args:
        model: Dropout is switched off meanwhile.
        ids: int64 (B, T), the prompts, all of length T >= 1.
        n_new_tokens: Tokens to add.
        greedy: Take the most likely token; the sampling arguments must then stay at their
            defaults.
        temperature: Divides the logits; > 0.
        top_k: Keep the k most likely tokens.
        top_p: Keep the most likely tokens whose probability reaches p.
        min_p: Keep tokens at least min_p times as likely as the most likely one.
        generator: Source of randomness; required unless greedy.
        stop_ids: Stop when the first sequence ends in these ids, of which the prompt may hold the
            first ones (B must be 1).
        use_cache: Whether to keep keys and values; the tokens are the same without, only later.

    Returns:
        int64 (B, T + n), prompts and new tokens; n < n_new_tokens only when stopped.

    Raises:
        ValueError: Empty prompt, a prompt longer than the trained context, ids that are no tokens
            of the model, settings out of range, sampling without a generator, stop_ids with more
            than one sequence.
    """
    choose = decoding_rule(
        greedy=greedy,
        generator=generator,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
    )
    limit = model.context_limit
    _check_prompt(ids, n_new_tokens, limit)
    if stop_ids is not None and len(ids) != 1:
        raise ValueError(f"expected one sequence with stop_ids, got {len(ids)}")
    if stop_ids is not None and len(stop_ids) < 1:
        raise ValueError("expected at least one id in stop_ids (None = never stop), got none")
    text = ids.new_empty(len(ids), ids.shape[1] + n_new_tokens)
    text[:, : ids.shape[1]] = ids
    with evaluating(model):  # with dropout, the text would depend on the cache
        end = _extend(
            model,
            text,
            ids.shape[1],
            choose,
            limit=limit,
            stop_ids=None if stop_ids is None else list(stop_ids),
            use_cache=use_cache,
        )
    return text[:, :end].clone()


@torch.inference_mode()
def _extend(
    model: GPT,
    text: Tensor,
    n_read: int,
    choose: Callable[[Tensor], Tensor],
    *,
    limit: int,
    stop_ids: list[int] | None,
    use_cache: bool,
) -> int:
    """Fill text (B, T) in place from position n_read on, and say where it stopped."""
    decoder = Decoder(model)
    start, cache = 0, None  # the context is text[:, start:end]
    for end in range(n_read, text.shape[1]):
        if end - start > limit:
            start, cache = end - limit // 2 - limit % 2, None
        if cache is None:
            cache = model.make_cache() if use_cache else None
            logits = model.score(model.hidden(text[:, start:end], cache=cache)[:, -1])
        else:
            logits = decoder.read(text[:, end - 1], cache)
        text[:, end] = choose(logits)
        if stop_ids is not None:
            n_stop = len(stop_ids)
            if n_stop <= end + 1 and text[0, end + 1 - n_stop : end + 1].tolist() == stop_ids:
                return end + 1
    return text.shape[1]


def _check_prompt(ids: Tensor, n_new_tokens: int, limit: int) -> None:
    """Refuse prompts that are empty, misshapen or longer than the trained context."""
    if ids.dim() != 2 or ids.numel() < 1:
        raise ValueError(f"expected prompt ids (B, T) with B, T >= 1, got shape {tuple(ids.shape)}")
    if n_new_tokens < 0:
        raise ValueError(f"expected n_new_tokens >= 0, got {n_new_tokens}")
    if ids.shape[1] > limit:
        raise ValueError(
            f"expected a prompt of at most {limit} tokens, the longest the model was trained on, "
            f"got {ids.shape[1]}"
        )
