# SPDX-License-Identifier: MIT
"""Two texts in one row, as BERT reads them: [CLS] A [SEP] B [SEP].

Paper: Devlin et al. 2019 (arXiv:1810.04805), figure 2.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from pretrain_lab.pooling import pad
from pretrain_lab.tokenizers.subwords import SubwordTokenizer


class Packed(NamedTuple):
    """A batch as BERT reads it; each (B, T)."""

    ids: Tensor  # int64: [CLS] A [SEP] B [SEP] [PAD] ...
    segment_ids: Tensor  # int64: 0 up to the first [SEP] and on padding, 1 on B and its [SEP]
    attention_mask: Tensor  # bool, True = real token


def segment_ids_of(ids: Tensor, sep_id: int) -> Tensor:
    """Number the segments of rows without padding, int64 (..., T).

    The number is 0 up to the first [SEP], itself included, and 1 behind it.
    """
    closes = (ids == sep_id).long()
    closed_before = closes.cumsum(dim=-1) - closes
    return (closed_before > 0).long()


def truncate_pair(first: Tensor, second: Tensor, n_tokens: int) -> tuple[Tensor, Tensor]:
    """Take tokens from the end of the longer text, one by one, until both fit in n_tokens.

    Of two equally long texts, int64 (length,), the second is cut.

    Raises:
        ValueError: n_tokens < 0.

    Source: Devlin et al. 2019, released code. differs: that cuts at either end, by chance.
    """
    if n_tokens < 0:
        raise ValueError(f"expected n_tokens >= 0, got {n_tokens}")
    n_first, n_second = len(first), len(second)
    while n_first + n_second > n_tokens:
        if n_first > n_second:
            n_first -= 1
        else:
            n_second -= 1
    return first[:n_first], second[:n_second]


def pack_ids(
    pairs: Sequence[tuple[Tensor, Tensor]],
    *,
    cls_id: int,
    sep_id: int,
    pad_id: int,
    max_len: int | None = None,
) -> Packed:
    """Lay out pairs of texts for BERT: [CLS] A [SEP] B [SEP], padded to the longest row.

    Texts are int64 (length,), without special tokens; rows have at most `max_len` tokens, special
    ones included, None = no limit.

    Raises:
        ValueError: No pair, or a max_len that the three special tokens alone exceed.

    Source: Devlin et al. 2019 (arXiv:1810.04805), figure 2.
    """
    if not pairs or (max_len is not None and max_len < 3):
        raise ValueError(
            f"expected a pair and max_len >= 3 or None, got {len(pairs)} pairs and {max_len}"
        )
    if max_len is not None:
        pairs = [truncate_pair(first, second, max_len - 3) for first, second in pairs]
    cls, sep = torch.tensor([cls_id]), torch.tensor([sep_id])
    rows = [torch.cat([cls, first, sep, second, sep]) for first, second in pairs]
    n_left = torch.tensor([len(first) + 2 for first, _ in pairs])[:, None]
    ids, real = pad(rows, pad_id)
    return Packed(ids, ((torch.arange(ids.shape[1]) >= n_left) & real).long(), real)


def pack_pairs(
    pairs: Sequence[Sequence[str]], tokenizer: SubwordTokenizer, *, max_len: int | None = None
) -> Packed:
    """Cut pairs of texts into tokens and lay them out for BERT, see `pack_ids`.

    Raises:
        ValueError: As `pack_ids`, or a vocabulary without [CLS], [SEP] or [PAD].
    """
    encoded = [(tokenizer.encode(first), tokenizer.encode(second)) for first, second in pairs]
    roles = {name: getattr(tokenizer, name) for name in ("cls_id", "sep_id", "pad_id")}
    return pack_ids(encoded, **roles, max_len=max_len)
