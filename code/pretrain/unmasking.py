# SPDX-License-Identifier: MIT
"""Write with a BERT: start from masks, and fill them in over several rounds.

Papers: Ghazvininejad et al. 2019 (arXiv:1904.09324), "mask-predict"; Wang and Cho 2019
(arXiv:1902.04094) for drawing text from a BERT one place at a time.

Implemented: all masks are filled in each round, and the least sure ones masked again, fewer each
time; or the places are fixed in a random order. Greedy or sampled. Left out: the choice of the
length, which the masks give away, and the training on many masks that the papers add.

Tokens filled in the same round do not know of each other: in one round, each is the best guess by
itself. In as many rounds as there are masks, in random order, every token is drawn given all that
is there, and the text comes from a chain of proper distributions.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Generator, Tensor

from pretrain.bert import BERT
from pretrain.evaluation import evaluating
from pretrain.generation import decoding_rule

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
