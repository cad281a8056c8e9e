# SPDX-License-Identifier: MIT
"""Turning a model's distributions into text: GPT continues, T5 answers, BERT fills in.

Papers: Holtzman et al. 2020 (arXiv:1904.09751) for top-p; Fan et al. 2018 (arXiv:1805.04833) for
top-k; Nguyen et al. 2024 (arXiv:2407.01082) for min-p; Ghazvininejad et al. 2019
(arXiv:1904.09324), "mask-predict", and Wang and Cho 2019 (arXiv:1902.04094) for writing with BERT.

Left out: beam search; the choice of a gap's length, which BERT's masks give away.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from pretrain.bert import BERT
from pretrain.evaluation import eval_mode
from pretrain.gpt import GPT
from pretrain.t5 import T5


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen: temperature first, then the cuts in this order."""

    generator: Generator | None = None  # needed to draw
    greedy: bool = False  # take the most likely token; then nothing else is set
    temperature: float = 1.0  # divides the logits: below 1 sharpens, above 1 flattens
    top_k: int | None = None  # keep the k most likely tokens, and their equals
    top_p: float | None = None  # the smallest set of most likely ones whose probability reaches p
    min_p: float | None = None  # tokens at least min_p times as likely as the best

    def __post_init__(self) -> None:
        """Refuse settings that describe no distribution, or two at once."""
        if not 0 < self.temperature < math.inf:
            raise ValueError(
                f"expected a finite temperature > 0, got {self.temperature}; for the limit at 0 "
                "pass greedy=True"
            )
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"expected top_k >= 1, got {self.top_k}")
        for name, value in (("top_p", self.top_p), ("min_p", self.min_p)):
            if value is not None and not 0 < value <= 1:
                raise ValueError(f"expected {name} in (0, 1], got {value}")
        settings = (self.temperature, self.top_k, self.top_p, self.min_p)
        if self.greedy and settings != (1.0, None, None, None):
            raise ValueError(f"expected no sampling settings with greedy=True, got {settings}")

    def distribution(self, logits: Tensor) -> Tensor:
        """Turn logits (..., V) into the probabilities (..., V) that are drawn from.

        What the cuts leave is rescaled to sum to 1. The most likely token always stays.

        Source: Holtzman et al. 2020 (arXiv:1904.09751), section 3; Nguyen et al. 2024
            (arXiv:2407.01082).
        """
        smallest = torch.finfo(logits.dtype).tiny
        below = logits - logits.amax(dim=-1, keepdim=True)  # a small temperature cannot overflow
        temperature = min(max(self.temperature, smallest), torch.finfo(logits.dtype).max)
        probs = (below / temperature).softmax(dim=-1)
        if self.top_k is not None and self.top_k < probs.shape[-1]:
            probs = _keep(probs, probs >= probs.topk(self.top_k).values[..., -1:])
        if self.top_p is not None and self.top_p < 1:
            ordered, order = probs.sort(dim=-1, descending=True)
            before = ordered.cumsum(dim=-1) - ordered  # probability of the more likely tokens
            reached = before >= max(self.top_p, smallest)
            kept = torch.zeros_like(probs, dtype=torch.bool).scatter(-1, order, ~reached)
            probs = _keep(probs, kept)
        if self.min_p is not None:
            probs = _keep(probs, probs >= self.min_p * probs.amax(dim=-1, keepdim=True))
        return probs

    def __call__(self, logits: Tensor) -> Tensor:
        """Choose a token for each row: logits (B, V) to ids, int64 (B,)."""
        if self.greedy:
            return logits.argmax(dim=-1)
        if self.generator is None:
            raise ValueError(
                "expected a torch.Generator as generator, such as Generator().manual_seed(1), "
                "(or greedy=True), got None"
            )
        return torch.multinomial(self.distribution(logits), 1, generator=self.generator)[:, 0]


def _keep(probs: Tensor, kept: Tensor) -> Tensor:
    """Drop what is not kept and rescale the rest to sum to 1."""
    probs = probs.masked_fill(~kept, 0.0)
    return probs / probs.sum(dim=-1, keepdim=True)


def generate(
    model: GPT,
    ids: Tensor,
    n_new_tokens: int,
    choose: Sampling,
    *,
    stop_ids: Sequence[int] | None = None,
    use_cache: bool = True,
) -> Tensor:
    """Continue token sequences, one token at a time.

    Once the text outgrows the model's context, the older half of the context is dropped, and the
    rest is read again from position 0.

    Args:
        ids: int64 (B, T), the prompts, all of length 1 <= T <= max_len.
        stop_ids: Stop when the first sequence ends in these ids, of which the prompt may hold the
            first ones (B must be 1).
        use_cache: Whether to keep keys and values; the tokens are the same without, only later.

    Returns:
        int64 (B, T + n), prompts and new tokens; n < n_new_tokens only when stopped.
    """
    limit, n_read = model.config.max_len, ids.shape[-1]
    if ids.dim() != 2 or not 1 <= n_read <= limit or n_new_tokens < 0:
        raise ValueError(
            f"expected prompt ids (B, T) with T in 1..{limit} and n_new_tokens >= 0, got shape "
            f"{tuple(ids.shape)} and {n_new_tokens}; ids[None] makes a row a batch, "
            f"ids[:, -{limit}:] takes the end of a long prompt"
        )
    if stop_ids is not None and (len(ids) != 1 or len(stop_ids) < 1):
        raise ValueError(
            f"expected one sequence and at least one id to stop at, got {len(ids)} and {stop_ids}"
        )
    text = torch.cat([ids, ids.new_empty(len(ids), n_new_tokens)], dim=1)
    start, cache = 0, None  # the context is text[:, start:end]
    with eval_mode(model), torch.inference_mode():
        for end in range(n_read, text.shape[1]):
            if end - start > limit:
                start, cache = end - limit // 2 - limit % 2, None
            unread = text[:, start:end] if cache is None else text[:, end - 1 : end]
            if cache is None and use_cache:
                cache = model.make_cache()
            text[:, end] = choose(model.logits(model.encode(unread, cache=cache)[:, -1]))
            if stop_ids is not None and _ends_in(text[0, : end + 1], stop_ids):
                return text[:, : end + 1]
    return text


def _ends_in(ids: Tensor, stop_ids: Sequence[int]) -> bool:
    """Say whether a sequence, (T,), ends in these ids."""
    return ids[-len(stop_ids) :].tolist() == list(stop_ids)


@torch.no_grad()
def generate_seq2seq(
    model: T5,
    ids: Tensor,
    n_new_tokens: int,
    choose: Sampling,
    *,
    attention_mask: Tensor | None = None,
    eos_id: int | None = None,
    pad_id: int = 0,
    use_cache: bool = True,
) -> Tensor:
    """Read each input once, then write its output.

    Args:
        ids: int64 (B, S), the inputs.
        attention_mask: bool or int (B, S), True = real token of ids; None = all real.
        eos_id: Id that ends an output; None = all outputs have n_new_tokens tokens.
        pad_id: What the decoder starts from, and what fills an output after its end.
        use_cache: Whether to keep keys and values; the tokens are the same without, only later.

    Returns:
        int64 (B, T), T <= n_new_tokens: what was written, without the start id, with eos_id,
        padded up to the longest output.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 3.1.2.
    """
    if n_new_tokens < 0:
        raise ValueError(f"expected n_new_tokens >= 0, got {n_new_tokens}")
    text = ids.new_full((len(ids), 1 + n_new_tokens), pad_id)  # the start id is in place
    ended = torch.zeros(len(text), dtype=torch.bool, device=text.device)
    with eval_mode(model):
        states = model.encode(ids, attention_mask)
        cache = model.make_cache(text.shape[1], ids.shape[1]) if use_cache else None
        for end in range(1, text.shape[1]):
            unread = text[:, :end] if cache is None else text[:, end - 1 : end]
            logits = model.decode(unread, states, attention_mask, cache=cache)[:, -1]
            text[:, end] = choose(logits).masked_fill(ended, pad_id)
            if eos_id is not None:
                ended |= text[:, end] == eos_id
                if ended.all():
                    return text[:, 1 : end + 1]
    return text[:, 1:]


@torch.no_grad()
def mask_predict(
    model: BERT,
    ids: Tensor,
    n_rounds: int,
    choose: Sampling,
    *,
    mask_id: int,
    special_ids: Sequence[int] = (),
    order: str = "confidence",
) -> Tensor:
    """Fill the masks of each text, over several rounds.

    After round t of k, floor(n (k - t) / k) of a text's n masks are open again: the ones whose
    tokens were the least probable when they were chosen, or the last ones of a random order.
    Tokens filled in the same round do not know of each other. In as many rounds as there are masks,
    in random order, every token is drawn given all that is there.

    Args:
        ids: int64 (B, T), texts with masks; left unchanged.
        n_rounds: Number of rounds k; more than there are masks change nothing further.
        choose: How each token is chosen; its generator gives a random order too.
        mask_id: Id of [MASK].
        special_ids: Ids that are never written; mask_id never is.
        order: "confidence" (mask-predict: a choice may be taken back) or "random" (it may not).

    Returns:
        int64 (B, T): no mask left, and no other token changed.

    Source: Ghazvininejad et al. 2019 (arXiv:1904.09324), section 3, with its linear decay.
        differs: with "random", no token is masked again.
    """
    if (
        n_rounds < 1
        or order not in ("confidence", "random")
        or ids.dim() != 2
        or ids.dtype != torch.int64
    ):
        raise ValueError(
            'expected n_rounds >= 1, order "confidence" or "random" and ids int64 (B, T), got '
            f"{n_rounds}, {order!r} and {ids.dtype} of shape {tuple(ids.shape)}"
        )
    if order == "random" and choose.generator is None:
        raise ValueError("expected a torch.Generator for a random order, got None")
    banned = torch.tensor(sorted({mask_id, *special_ids}))
    vocab_size = model.config.vocab_size
    if not 0 <= banned[0] <= banned[-1] < vocab_size or len(banned) == vocab_size:
        raise ValueError(
            f"expected mask_id and special_ids in 0..{vocab_size - 1}, and others than these, got "
            f"{banned.tolist()}"
        )
    asked = masked = ids == mask_id  # (B, T)
    text, n_asked = ids.clone(), asked.sum(dim=1)
    n_each = n_asked.clamp(min=1, max=n_rounds)  # rounds that a text with few masks needs
    sure = torch.zeros(ids.shape, dtype=torch.float64)  # of each choice, when it was made
    last = torch.rand(ids.shape, generator=choose.generator) if order == "random" else sure
    with eval_mode(model):
        for t in range(1, int(n_each.max()) + 1):
            if not masked.any():
                break
            text[masked] = mask_id
            logits = model(text, masked_positions=masked).index_fill(-1, banned, -torch.inf)
            text[masked] = chosen = choose(logits)  # logits (n, V)
            sure[masked] = logits.double().softmax(dim=-1).gather(1, chosen[:, None])[:, 0]
            masked = lowest_k(last, asked, n_asked * (n_each - t).clamp(min=0) // n_each)
    return text


def lowest_k(values: Tensor, among: Tensor, counts: Tensor) -> Tensor:
    """Mark the counts[b] smallest of those values in row b that may be marked, all (B, T).

    Of equal values the one further left comes first.
    """
    ranked = values.masked_fill(~among, torch.inf).argsort(dim=1, stable=True)
    marked = torch.arange(values.shape[1]) < counts[:, None]  # in the order of the ranks
    return torch.zeros_like(among).scatter(1, ranked, marked) & among
