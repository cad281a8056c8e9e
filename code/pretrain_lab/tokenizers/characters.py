# SPDX-License-Identifier: MIT
"""A tokeniser of single characters, with the special tokens that the objectives need."""

from collections.abc import Sequence

import torch
from torch import Tensor

PAD = "[PAD]"
MASK = "[MASK]"


class CharTokenizer:
    """Map characters to ids and back. Special tokens hold the first ids."""

    def __init__(self, characters: Sequence[str], specials: Sequence[str] = (PAD, MASK)) -> None:
        """Fix the vocabulary, in the order of the ids; [PAD] and [MASK] must be among the specials.

        Raises:
            ValueError: Not single characters, a token that comes twice, or a missing special.
        """
        wrong = [c for c in characters if len(c) != 1]
        if wrong or len(set(characters)) != len(characters):
            raise ValueError(f"expected distinct single characters, got {wrong or characters!r}")
        if PAD not in specials or MASK not in specials:
            raise ValueError(f"expected specials with {PAD} and {MASK}, got {tuple(specials)}")
        if len({*specials, *characters}) < len(specials) + len(characters):
            raise ValueError(
                f"expected every token once, got specials {tuple(specials)} beside {characters!r}"
            )
        self.specials = tuple(specials)
        self.characters = tuple(characters)
        self.tokens = (*self.specials, *self.characters)
        self.ids = {token: i for i, token in enumerate(self.tokens)}

    @classmethod
    def from_text(cls, text: str) -> "CharTokenizer":
        """Take every character of a text, sorted.

        Raises:
            ValueError: The text is empty.
        """
        if not text:
            raise ValueError("expected a text with at least one character, got an empty one")
        return cls(sorted(set(text)))

    @classmethod
    def from_dict(cls, state: dict[str, list[str]]) -> "CharTokenizer":
        """Rebuild a tokeniser from what `to_dict` gave."""
        return cls(state["characters"], state["specials"])

    def to_dict(self) -> dict[str, list[str]]:
        """Give the vocabulary as plain lists, for JSON."""
        return {"characters": list(self.characters), "specials": list(self.specials)}

    @property
    def vocab_size(self) -> int:
        """Number of ids V, special tokens included."""
        return len(self.tokens)

    @property
    def pad_id(self) -> int:
        """Id of [PAD]."""
        return self.ids[PAD]

    @property
    def mask_id(self) -> int:
        """Id of [MASK]."""
        return self.ids[MASK]

    @property
    def special_ids(self) -> tuple[int, ...]:
        """Ids of all special tokens."""
        return tuple(range(len(self.specials)))

    def encode(self, text: str) -> Tensor:
        """Turn a text into ids, one per character: int64 (T,).

        Raises:
            ValueError: A character is not in the vocabulary; the message names it and its place.
        """
        try:
            return torch.tensor([self.ids[c] for c in text], dtype=torch.int64)
        except KeyError as error:
            place = text.index(error.args[0])
            raise ValueError(
                f"expected characters of the vocabulary ({len(self.characters)} of them), "
                f"got {error.args[0]!r} at index {place}; CharTokenizer.from_text(text) makes one "
                "of all characters of a text"
            ) from None

    def decode(self, ids: Tensor | Sequence[int]) -> str:
        """Turn ids, (T,), back into text; special tokens appear by their names.

        Raises:
            ValueError: Not one-dimensional, or an id outside 0..V-1.
        """
        return "".join(self.tokens[i] for i in id_list(ids, len(self.tokens)))


def id_list(ids: Tensor | Sequence[int], vocab_size: int) -> list[int]:
    """Give ids, (T,), as a list, and refuse those that a vocabulary does not have.

    Raises:
        ValueError: Not one-dimensional, no whole numbers, or an id outside 0..V-1, the first named.
    """
    values = torch.as_tensor(ids)
    if values.is_floating_point() and values.numel():
        raise ValueError(f"expected ids in whole numbers, got {values.dtype}")
    if values.dim() != 1:
        remedy = ": take one row of a batch, ids[0]" if values.dim() == 2 else ""
        raise ValueError(f"expected ids (T,), got shape {tuple(values.shape)}{remedy}")
    wrong = ((values < 0) | (values >= vocab_size)).nonzero().flatten()
    if len(wrong):
        place = int(wrong[0])
        raise ValueError(
            f"expected ids in 0..{vocab_size - 1}, got {int(values[place])} at index {place}"
        )
    return values.long().tolist()
