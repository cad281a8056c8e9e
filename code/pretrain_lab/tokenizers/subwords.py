# SPDX-License-Identifier: MIT
"""Subword tokenisers: vocabularies of pieces between characters and words.

Objectives, training and checkpoints take these or a
`pretrain_lab.tokenizers.characters.CharTokenizer`; `pretrain_lab.tokenizers.learning` learns one.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders
from torch import Tensor

from pretrain_lab.paths import DATA, data_file
from pretrain_lab.run_state import replacing
from pretrain_lab.tokenizers.characters import id_list

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "</s>")
"""Special tokens of the book's vocabularies; they hold the first ids."""
TOKENIZERS = DATA / "tokenizers"
ROLES = {
    "pad": ("[PAD]", "<pad>"),
    "unk": ("[UNK]", "<unk>"),
    "cls": ("[CLS]",),
    "sep": ("[SEP]",),
    "mask": ("[MASK]", "<mask>"),
    "eos": ("</s>", "<|endoftext|>"),
}
"""What a special token is for -> its names, in our vocabularies and in published ones."""
SENTINEL = "<extra_id_{}>"
"""Name of the n-th sentinel."""


class SubwordTokenizer:
    r"""Map texts to ids of subwords and back.

    Names of special tokens in a text are plain text: nobody gets a mask by writing its name.

    Attributes:
        tokens: The V tokens in the order of their ids, as a reader should see them. Bytes that
            are no whole character are written as in Python, such as `\xf0\x9f`.
        sentinel_ids: Ids of <extra_id_0>, <extra_id_1>, ... in this order, which counts down.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Wrap a trained tokeniser, whose padding and truncation are switched off.

        Raises:
            ValueError: Its ids are not 0..V-1.
        """
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.encode_special_tokens = True  # their names in a text are text
        ids = tokenizer.get_vocab(with_added_tokens=True)
        if sorted(ids.values()) != list(range(len(ids))):
            raise ValueError(f"expected ids 0..{len(ids) - 1}, each once, got others")
        self._tokenizer = tokenizer
        self._ids = ids
        added = tokenizer.get_added_tokens_decoder()
        self._special_ids = tuple(sorted(i for i, token in added.items() if token.special))
        self._bytes = isinstance(tokenizer.decoder, decoders.ByteLevel)
        names = sorted(ids, key=lambda name: ids[name])
        self.tokens = tuple(
            _readable(name) if self._bytes and i not in added else name
            for i, name in enumerate(names)
        )
        self.sentinel_ids = tuple(self._sentinels())
        self._characters = {name for name in names if len(name) == 1}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "SubwordTokenizer":
        """Rebuild a tokeniser from what `to_dict` gave.

        Raises:
            ValueError: It is not JSON of the `tokenizers` library.
        """
        try:
            return cls(Tokenizer.from_str(json.dumps(state)))
        except Exception as error:  # the library raises nothing more precise
            raise ValueError(f"expected the JSON of a tokeniser, but: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        """Give the JSON of the `tokenizers` library as a dictionary."""
        state: dict[str, Any] = json.loads(self._tokenizer.to_str())
        return state

    @property
    def vocab_size(self) -> int:
        """Number of ids V, special tokens included."""
        return len(self.tokens)

    @property
    def special_ids(self) -> tuple[int, ...]:
        """Ids of all special tokens, sentinels included, ascending."""
        return self._special_ids

    @property
    def template_ids(self) -> list[int]:
        """Ids that a published tokeniser puts around a text, as [CLS] and [SEP]; ours puts none."""
        ids: list[int] = self._tokenizer.encode("").ids
        return ids

    @property
    def pad_id(self) -> int:
        """Id of [PAD] or <pad>; ValueError when there is none, as for the others below."""
        return self._role("pad")

    @property
    def unk_id(self) -> int:
        """Id of [UNK], which stands for what the vocabulary cannot write."""
        return self._role("unk")

    @property
    def cls_id(self) -> int:
        """Id of [CLS], BERT's first token."""
        return self._role("cls")

    @property
    def sep_id(self) -> int:
        """Id of [SEP], which closes each of BERT's segments."""
        return self._role("sep")

    @property
    def mask_id(self) -> int:
        """Id of [MASK]."""
        return self._role("mask")

    @property
    def eos_id(self) -> int:
        """Id of </s> or <|endoftext|>, the end of a text."""
        return self._role("eos")

    def encode(self, text: str) -> Tensor:
        """Turn a text into ids, int64 (T,); no special token is added.

        Raises:
            ValueError: The vocabulary lacks a character, and [UNK] too.
        """
        if not self._bytes and self._ids.keys().isdisjoint(ROLES["unk"]):
            place = next((i for i, c in enumerate(text) if c not in self._characters), None)
            if place is not None:
                raise ValueError(
                    f"expected characters of the vocabulary ({len(self._characters)} of them), "
                    f"got {text[place]!r} at index {place}"
                )
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids
        return torch.tensor(ids, dtype=torch.int64)

    def decode(self, ids: Tensor | Sequence[int]) -> str:
        """Turn ids, (T,), back into text; special tokens appear by their names.

        `decode(encode(text)) == text` for "byte-bpe" and every text, and for "bpe" and "unigram"
        when every character is in the vocabulary (in the book's: printable ASCII and line breaks).
        Not for "wordpiece", which forgets blanks and line breaks and here puts one blank between
        words. A list of ids cut from a text may begin or end inside a character of several bytes,
        which then reads as the replacement character.

        Raises:
            ValueError: Not one-dimensional, or an id outside 0..V-1.
        """
        known = id_list(ids, self.vocab_size)
        return self._tokenizer.decode(known, skip_special_tokens=False)

    def split(self, text: str) -> list[str]:
        """Cut a text into the `tokens` that `encode` gives, for reading; ValueError as there."""
        return [self.tokens[i] for i in self.encode(text).tolist()]

    def save(self, path: str | Path) -> None:
        """Write the vocabulary as JSON of the `tokenizers` library, over an existing file."""
        with replacing(Path(path)) as part:
            part.write_text(self._tokenizer.to_str() + "\n", encoding="utf-8")

    def _role(self, role: str) -> int:
        """Look up the special token that plays a role."""
        found = [self._ids[name] for name in ROLES[role] if name in self._ids]
        if not found:
            raise ValueError(
                f"expected a vocabulary with {' or '.join(ROLES[role])}, but its special tokens "
                f"are {[self.tokens[i] for i in self._special_ids[:8]]}"
            )
        return found[0]

    def _sentinels(self) -> list[int]:
        """List the ids of <extra_id_0>, <extra_id_1>, ... up to the first that is missing."""
        found: list[int] = []
        while (name := SENTINEL.format(len(found))) in self._ids:
            found.append(self._ids[name])
        return found


def load_tokenizer(name: str | Path) -> SubwordTokenizer:
    """Read a tokeniser by its name in data/tokenizers ("plays_bpe"), or the path of a .json file.

    Raises:
        FileNotFoundError: No such file; the message lists the names that exist.
        ValueError: The file is not JSON of the `tokenizers` library.
    """
    path = Path(name)
    if path.suffix != ".json":
        path = data_file("tokenizers", f"{name}.json")
    if not path.exists():
        stems = (p.stem for p in TOKENIZERS.glob("*.json"))
        known = sorted(stem for stem in stems if not stem.endswith(".card"))
        raise FileNotFoundError(f"expected one of {known} or a file, got {str(name)!r}")
    try:
        return SubwordTokenizer.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error


def _byte_of_character() -> dict[str, int]:
    """Undo GPT-2's spelling of bytes: printable ones as themselves, the others from U+0100 on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(b): b for b in plain} | {chr(256 + n): b for n, b in enumerate(others)}


_BYTES = _byte_of_character()


def _readable(name: str) -> str:
    """Write a token of bytes as text; a byte that is part of no whole character stays a number."""
    return bytes(_BYTES[c] for c in name).decode("utf-8", errors="backslashreplace")
