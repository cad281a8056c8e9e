# SPDX-License-Identifier: MIT
"""T5 writes: one output for each input, token by token.

Paper: Raffel et al. 2020 (arXiv:1910.10683), section 3.1.2 (greedy decoding).

Implemented: greedy decoding and sampling with the cuts of `pretrain.generation`, a key-value cache,
and an end for each sequence by itself. Left out: beam search.
"""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from pretrain.embeddings import check_ids
from pretrain.evaluation import evaluating
from pretrain.generation import decoding_rule
from pretrain.t5 import T5


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
