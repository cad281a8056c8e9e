# SPDX-License-Identifier: MIT
"""Turning a model's distributions into text.

Papers: Holtzman et al. 2020 (arXiv:1904.09751) for top-p; Fan et al. 2018 (arXiv:1805.04833) for
top-k; Nguyen et al. 2024 (arXiv:2407.01082) for min-p.

Implemented: greedy decoding, temperature and the three cuts, and the loop in which a GPT continues
a text, with key-value cache and stop sequences. T5's loop is in `pretrain.generation`. Left out:
beam search.

T5 writes: one output for each input, token by token.

Paper: Raffel et al. 2020 (arXiv:1910.10683), section 3.1.2 (greedy decoding).

Implemented: greedy decoding and sampling with the cuts of `pretrain.generation`, a key-value cache,
and an end for each sequence by itself. Left out: beam search.

Write with a BERT: start from masks, and fill them in over several rounds.

Papers: Ghazvininejad et al. 2019 (arXiv:1904.09324), "mask-predict"; Wang and Cho 2019
(arXiv:1902.04094) for drawing text from a BERT one place at a time.

Implemented: all masks are filled in each round, and the least sure ones masked again, fewer each
time; or the places are fixed in a random order. Greedy or sampled. Left out: the choice of the
length, which the masks give away, and the training on many masks that the papers add.

Tokens filled in the same round do not know of each other: in one round, each is the best guess by
itself. In as many rounds as there are masks, in random order, every token is drawn given all that
is there, and the text comes from a chain of proper distributions.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Generator, Tensor

from pretrain.bert import BERT
from pretrain.decoding import Decoder
from pretrain.embeddings import check_ids
from pretrain.evaluation import evaluating
from pretrain.gpt import GPT
from pretrain.t5 import T5


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


def generate_from(
    model: T5,
    ids: Tensor,
    n_new_tokens: int,
    *,
    attention_mask: Tensor | None = None,
    eos_id: int | None = None,
    pad_id: int = 0,
    greedy: bool = False,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    generator: Generator | None = None,
    use_cache: bool = True,
) -> Tensor:
    """Read each input once, then write its output.

    Args:
        model: Dropout is switched off meanwhile.
        ids: int64 (B, S), the inputs.
        n_new_tokens: Most tokens to write.
        attention_mask: bool or int (B, S), True = real token of ids; None = all real.
        eos_id: Id that ends an output; None = all outputs have n_new_tokens tokens.
        pad_id: What the decoder starts from, and what fills an output after its end.
        greedy: Take the most likely token; the sampling arguments must then stay at their
            defaults.
        temperature: Divides the logits; > 0.
        top_k: Keep the k most likely tokens.
        top_p: Keep the most likely tokens whose probability reaches p.
        min_p: Keep tokens at least min_p times as likely as the most likely one.
        generator: Source of randomness; required unless greedy.
        use_cache: Whether to keep keys and values; the tokens are the same without, only later.

    Returns:
        int64 (B, T), T <= n_new_tokens: what was written, without the start id, with eos_id,
        padded up to the longest output.

    Raises:
        ValueError: n_new_tokens < 0, wrong inputs, settings out of range, or sampling without a
            generator.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 3.1.2.
    """
    choose = decoding_rule(
        greedy=greedy,
        generator=generator,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
    )
    if n_new_tokens < 0:
        raise ValueError(f"expected n_new_tokens >= 0, got {n_new_tokens}")
    check_ids(ids)
    text = ids.new_full((len(ids), 1 + n_new_tokens), pad_id)  # the start id is in place
    with evaluating(model):
        end = _write(
            model,
            ids,
            attention_mask,
            text,
            choose,
            eos_id=eos_id,
            pad_id=pad_id,
            use_cache=use_cache,
        )
    return text[:, 1:end].clone()


@torch.inference_mode()
def _write(
    model: T5,
    ids: Tensor,
    attention_mask: Tensor | None,
    text: Tensor,
    choose: Callable[[Tensor], Tensor],
    *,
    eos_id: int | None,
    pad_id: int,
    use_cache: bool,
) -> int:
    """Fill text (B, 1 + n) in place behind the start id, and say where the longest row ends."""
    states = model.encode(ids, attention_mask)
    cache = model.make_cache(text.shape[1]) if use_cache else None
    ended = torch.zeros(len(text), dtype=torch.bool, device=text.device)
    for end in range(1, text.shape[1]):
        unread = text[:, :end] if cache is None else text[:, end - 1 : end]
        logits = model.decode(unread, states, attention_mask, cache=cache)[:, -1]
        text[:, end] = choose(logits).masked_fill(ended, pad_id)
        if eos_id is not None:
            ended |= text[:, end] == eos_id
            if ended.all():
                return end + 1
    return text.shape[1]


ORDERS = ("confidence", "random")


def unmask(
    model: BERT,
    ids: Tensor,
    n_rounds: int,
    *,
    mask_id: int,
    special_ids: Sequence[int] = (),
    order: str = "confidence",
    greedy: bool = False,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Fill the masks of each text.

    After round t of k, floor(n (k - t) / k) of a text's n masks are open again: the ones whose
    tokens were the least probable when they were chosen, or the last ones of a random order.

    Args:
        model: Dropout is switched off meanwhile.
        ids: int64 (B, T), texts with masks; left unchanged.
        n_rounds: Number of rounds k; more than there are masks change nothing further.
        mask_id: Id of [MASK].
        special_ids: Ids that are never written; mask_id never is.
        order: "confidence" (mask-predict: a choice may be taken back) or "random" (it may not).
        greedy: Take the most likely token; the sampling arguments must then stay at their
            defaults.
        temperature: Divides the logits; > 0.
        top_k: Keep the k most likely tokens.
        top_p: Keep the most likely tokens whose probability reaches p.
        generator: Source of randomness; required unless greedy and by confidence.

    Returns:
        int64 (B, T): no mask left, and no other token changed.

    Raises:
        ValueError: n_rounds < 1, an unknown order, ids that are not int64 (B, T), ids outside the
            vocabulary, no id that may be written, or settings that `decoding_rule` refuses.

    Source: Ghazvininejad et al. 2019 (arXiv:1904.09324), section 3, with its linear decay.
        differs: with "random", no token is masked again.
    """
    if n_rounds < 1 or order not in ORDERS or ids.dim() != 2 or ids.dtype != torch.int64:
        raise ValueError(
            f"expected n_rounds >= 1, an order from {ORDERS} and ids int64 (B, T), got {n_rounds}, "
            f"{order!r} and {ids.dtype} of shape {tuple(ids.shape)}"
        )
    if order == "random" and generator is None:
        raise ValueError("expected a torch.Generator for a random order, got None")
    choose = decoding_rule(
        greedy=greedy, generator=generator, temperature=temperature, top_k=top_k, top_p=top_p
    )
    vocab_size = model.options["vocab_size"]
    banned = torch.tensor(sorted({mask_id, *special_ids}))
    if not 0 <= banned[0] <= banned[-1] < vocab_size or len(banned) == vocab_size:
        raise ValueError(
            f"expected mask_id and special_ids in 0..{vocab_size - 1}, and others than these, got "
            f"{banned.tolist()}"
        )
    asked = ids == mask_id
    priority = torch.rand(ids.shape, generator=generator) if order == "random" else None
    with evaluating(model):
        filled = _fill(model, ids.clone(), asked, n_rounds, choose, mask_id, banned, priority)
    return filled.clone()  # not a tensor of inference mode


@torch.inference_mode()
def _fill(
    model: BERT,
    text: Tensor,
    asked: Tensor,
    n_rounds: int,
    choose: Callable[[Tensor], Tensor],
    mask_id: int,
    banned: Tensor,
    priority: Tensor | None,
) -> Tensor:
    """Run the rounds on text (B, T); asked (B, T) says where masks were at the start."""
    if not asked.any():
        return text
    n_asked = asked.sum(dim=1)
    n_each = n_asked.clamp(min=1, max=n_rounds)  # rounds that a text with few masks needs
    sure = torch.zeros(text.shape, dtype=torch.float64)  # of each choice, when it was made
    masked = asked
    for t in range(1, int(n_each.max()) + 1):
        logits = model(text, predict=masked).index_fill(-1, banned, float("-inf"))  # (n, V)
        chosen = choose(logits)
        text[masked] = chosen
        sure[masked] = logits.double().softmax(dim=-1).gather(1, chosen[:, None])[:, 0]
        n_open = n_asked * (n_each - t).clamp(min=0) // n_each
        masked = least(sure if priority is None else priority, asked, n_open)
        if not masked.any():
            break
        text[masked] = mask_id
    return text


def least(values: Tensor, among: Tensor, counts: Tensor) -> Tensor:
    """Mark the smallest values of each row.

    Args:
        values: float (B, T), finite.
        among: bool (B, T), True = may be marked.
        counts: int64 (B,), how many of them.

    Returns:
        bool (B, T); of equal values the one further left comes first.
    """
    ranked = values.masked_fill(~among, float("inf")).argsort(dim=1, stable=True)
    marked = torch.arange(values.shape[1]) < counts[:, None]  # in the order of the ranks
    return torch.zeros_like(among).scatter(1, ranked, marked) & among
