# SPDX-License-Identifier: MIT
"""Search all attention heads of a model for one that keeps to a stated relation, with a fair null.

Papers: Clark et al. 2019 (arXiv:1906.04341) for heads that follow positions, delimiters and words;
Olsson et al. 2022 (arXiv:2209.11895) for induction heads; Westfall & Young 1993 for the largest of
many statistics under permutation. A head's weights are not its effects on the output.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from pretrain.masks import bidirectional_mask, causal_mask

POSITIONAL = ("previous", "next", "first", "last", "induction")
"""Relations that the place of the query alone decides; the others depend on what is written."""


class Rows(NamedTuple):
    """Token rows of equal length and what is known of each token."""

    ids: Tensor  # int64 (B, T)
    is_mark: Tensor  # bool (B, T), True = a punctuation mark
    is_heading: Tensor  # bool (B, T), True = part of a speaker's heading


class Found(NamedTuple):
    """The best head of a search and how much of its score chance explains."""

    layer: int  # from 1
    head: int  # from 1
    score: float  # mean weight on the relation, on rows that the search did not use
    search_score: float  # the same on the rows of the search, where the head was chosen
    null_high: float  # 95 % of permuted relations give no head a larger score on the fresh rows
    p_value: float  # share of permuted relations whose best head reaches `score`, itself counted


def relation_mask(relation: str, rows: Rows, *, causal: bool) -> Tensor:
    """Say which keys a head that keeps to the relation would read, query by query.

    Args:
        relation: "previous", "next", "first" or "last" token (BERT's [CLS] and [SEP]); "same" token
            elsewhere; "mark" or token of a "heading"; "induction": with rows that repeat their
            first half, the token behind the earlier copy of the query.
        rows: B rows of length T.
        causal: Whether keys behind the query are out of reach.

    Returns:
        bool (B, T, T), [row, query, key]. Never the query itself.

    Raises:
        ValueError: Another relation, or rows without a token.
    """
    n_rows, seq_len = rows.ids.shape
    place = torch.arange(seq_len)
    distance = place[None, :] - place[:, None]  # (T, T): key - query
    positional = {
        "previous": distance == -1,
        "next": distance == 1,
        "first": (place == 0)[None, :].expand(seq_len, -1),
        "last": (place == seq_len - 1)[None, :].expand(seq_len, -1),
        "induction": (distance == 1 - seq_len // 2) & (place >= seq_len // 2)[:, None],
    }
    kinds = {"mark": rows.is_mark, "heading": rows.is_heading}
    if relation in positional:
        mask = positional[relation][None].expand(n_rows, -1, -1)
    elif relation == "same":
        mask = rows.ids[:, :, None] == rows.ids[:, None, :]
    elif relation in kinds:
        kind = kinds[relation]
        mask = kind[:, None, :] & ~kind[:, :, None]  # queries of the kind itself are not asked
    else:
        names = (*positional, "same", *kinds)
        raise ValueError(f"expected a relation from {names}, got {relation!r}")
    return mask & (distance != 0) & reachable(seq_len, causal=causal)


def reachable(seq_len: int, *, causal: bool) -> Tensor:
    """Say which keys each query may read, bool (T, T): with `causal`, none behind it.

    Raises:
        ValueError: seq_len < 1.
    """
    return causal_mask(seq_len) if causal else bidirectional_mask(seq_len)


def head_scores(maps: Tensor, mask: Tensor) -> Tensor:
    """Average over the queries the weight that falls on the relation's keys: float (N, H), in 0..1.

    `maps` are attention weights of N layers, float (N, B, H, T, T); queries without a key in the
    mask, bool (B, T, T), are left out.

    Raises:
        ValueError: No query has a key.
    """
    asked = mask.any(dim=-1)  # (B, T)
    if not asked.any():
        raise ValueError("expected at least one query with a key in the relation, got none")
    weights = mask.to(maps.dtype)
    on_mask = torch.einsum("nbhts,bts->nht", maps, weights)  # sums over rows and keys
    return on_mask.sum(dim=-1) / asked.sum()


def null_scores(
    maps: Tensor, mask: Tensor, *, positional: bool, causal: bool, n_draws: int,
    generator: Generator,
) -> Tensor:  # fmt: skip
    """Permute the relation many times; keep the largest score over all heads, float (n_draws,).

    A positional relation is permuted by giving each query another key, drawn from those that it may
    read. Any other relation is taken from another row: places and numbers of keys stay as they are
    in real text, and only the tie to what this row says is cut. Maps are float (N, B, H, T, T), the
    relation's mask is bool (B, T, T).

    Raises:
        ValueError: No permutation, no query with a key that it may read, or one row alone, which
            no other relation can be taken from.
    """
    n_rows, seq_len = mask.shape[:2]
    allowed = reachable(seq_len, causal=causal)
    if n_draws < 1 or not (mask & allowed).any() or (n_rows < 2 and not positional):
        raise ValueError(
            f"expected n_draws >= 1, keys in the relation and two rows or more, got {n_draws}, "
            f"{int((mask & allowed).sum())} keys and {n_rows} rows"
        )
    if positional:
        others = allowed & ~torch.eye(seq_len, dtype=torch.bool)
        asked = mask.any(dim=-1)  # (B, T)
        best = []
        for _ in range(n_draws):
            chance = torch.rand(n_rows, seq_len, seq_len, generator=generator)
            keys = chance.masked_fill(~others, -1.0).argmax(dim=-1)  # (B, T)
            index = keys[None, :, None, :, None].expand(*maps.shape[:4], 1)
            weights = maps.gather(-1, index)[..., 0].transpose(1, 2)  # (N, H, B, T)
            best.append(weights[:, :, asked].mean(dim=-1).max())
        return torch.stack(best)
    flat = maps.transpose(1, 2).flatten(2).flatten(0, 1)  # (N * H, B * T * T)
    best = []
    for _ in range(n_draws):
        other = mask[_partners(n_rows, generator)] & allowed
        sums = flat @ other.flatten().to(flat.dtype)
        best.append(sums.max() / other.any(dim=-1).sum())
    return torch.stack(best)


def _partners(n_rows: int, generator: Generator) -> Tensor:
    """Draw another row for each row, int64 (n_rows,), never itself."""
    shift = int(torch.randint(1, n_rows, (1,), generator=generator))
    order = torch.randperm(n_rows, generator=generator)
    partner = torch.empty_like(order)
    partner[order] = order.roll(shift)
    return partner


def search_heads(
    relation: str, search: tuple[Rows, Tensor], fresh: tuple[Rows, Tensor], *, causal: bool,
    generator: Generator, n_draws: int = 999,
) -> Found:  # fmt: skip
    """Choose the best head on the rows `search` and judge it, with its null, on other rows.

    Both hold rows and their attention weights (N, B, H, T, T); `fresh` rows are of other texts, and
    relations are those of `relation_mask`. ValueError: as `relation_mask`, `head_scores`,
    `null_scores`.
    """
    scores = head_scores(search[1], relation_mask(relation, search[0], causal=causal))
    layer, head = divmod(int(scores.argmax()), scores.shape[1])
    mask = relation_mask(relation, fresh[0], causal=causal)
    score = float(head_scores(fresh[1], mask)[layer, head])
    null = null_scores(
        fresh[1], mask, positional=relation in POSITIONAL, causal=causal, n_draws=n_draws,
        generator=generator,
    )  # fmt: skip
    p_value = (1 + int((null >= score).sum())) / (1 + n_draws)
    high = float(null.quantile(0.95))
    return Found(layer + 1, head + 1, score, float(scores.max()), high, p_value)


def repeated_rows(
    token_ids: Sequence[int], n_rows: int, half_len: int, *, generator: Generator
) -> Rows:
    """Draw rows whose second half repeats the first: random tokens, so only copying can predict.

    Ids are drawn uniformly; the rows have 2 * half_len tokens and neither marks nor headings.

    Raises:
        ValueError: No id to draw from, or a size below 0.
    """
    if len(token_ids) < 1 or min(n_rows, half_len) < 0:
        raise ValueError(
            f"expected token_ids, and n_rows, half_len >= 0, got {len(token_ids)} ids, {n_rows} "
            f"and {half_len}"
        )
    known = torch.tensor(token_ids)
    half = known[torch.randint(len(known), (n_rows, half_len), generator=generator)]
    ids = torch.cat([half, half], dim=1)
    nothing = torch.zeros_like(ids, dtype=torch.bool)
    return Rows(ids, nothing, nothing)
