# SPDX-License-Identifier: MIT
"""What corruption needs to know of a vocabulary, as the keywords of `pretrain`'s functions."""

from typing import Any


def special_of(tokenizer: Any) -> dict[str, Any]:
    """Return what `corrupt_mlm` needs."""
    return {
        "mask_id": tokenizer.mask_id,
        "vocab_size": tokenizer.vocab_size,
        "special_ids": tokenizer.special_ids,
    }


def sentinels_of(tokenizer: Any) -> dict[str, Any]:
    """Return what span corruption needs."""
    return {
        "first_sentinel_id": tokenizer.sentinel_ids[0],
        "n_sentinels": len(tokenizer.sentinel_ids),
        "eos_id": tokenizer.eos_id,
        "pad_id": tokenizer.pad_id,
    }
