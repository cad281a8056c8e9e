# SPDX-License-Identifier: MIT
"""Subword tokenisers: vocabularies of pieces between characters and words, learned from texts.

Papers: Sennrich et al. 2016 (arXiv:1508.07909) for byte-pair encoding (BPE); Radford et al. 2019
(GPT-2) for its form on bytes; Schuster and Nakajima 2012 for WordPiece; Kudo 2018
(arXiv:1804.10959) for the unigram model.

Implemented: training by the `tokenizers` library, which does the counting, and a class with the
interface of `pretrain.tokenization.CharTokenizer`, so that objectives, training and checkpoints
take either. Texts keep case and accents unless BERT's lower-casing is asked for. Left out: other
normalisation, sampling of segmentations, and WordPiece's original criterion: the library grows its
vocabulary as BPE does.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)
from torch import Tensor

from pretrain.paths import DATA, data_file, replacing
from pretrain.tokenization import checked_ids

KINDS = ("bpe", "byte-bpe", "wordpiece", "unigram")
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "</s>")
"""Special tokens of the book's vocabularies; they hold the first ids."""
PRINTABLE_ASCII = "\n" + "".join(map(chr, range(32, 127)))
"""Every character that a cleaned text of this book may hold."""
WORD_PATTERN = r" ?\p{L}+| ?\p{N}| ?[^\s\p{L}\p{N}]+|\s"
"""No token crosses these: letters, one digit, or marks, each with at most one blank before it."""
TOKENIZERS = DATA / "tokenizers"
_ROLES = {
    "pad": ("[PAD]",),
    "unk": ("[UNK]",),
    "cls": ("[CLS]",),
    "sep": ("[SEP]",),
    "mask": ("[MASK]",),
    "eos": ("</s>", "<|endoftext|>"),
}
_SENTINEL = "<extra_id_{}>"


class SubwordTokenizer:
    r"""Map texts to ids of subwords and back.

    Names of special tokens in a text are plain text: nobody gets a mask by writing its name.

    Attributes:
        tokens: The V tokens in the order of their ids, as a reader should see them. Bytes that
            are no whole character are written as in Python, such as `\xf0\x9f`.
        sentinel_ids: Ids of <extra_id_0>, <extra_id_1>, ... in this order, which counts down.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Wrap a trained tokeniser of the `tokenizers` library.

        Args:
            tokenizer: Its padding and truncation are switched off.

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

        Args:
            state: The JSON of the `tokenizers` library as a dictionary.

        Raises:
            ValueError: It is no such JSON.
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
    def pad_id(self) -> int:
        """Id of [PAD]; ValueError when the vocabulary lacks it, as for the others below."""
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
        """Turn a text into ids.

        Args:
            text: Any text. Without [UNK], only characters of the vocabulary.

        Returns:
            int64 (T,), one id for each token; no special token is added.

        Raises:
            ValueError: The vocabulary lacks a character, and [UNK] too.
        """
        if not self._bytes and "[UNK]" not in self._ids:
            place = next((i for i, c in enumerate(text) if c not in self._characters), None)
            if place is not None:
                raise ValueError(
                    f"expected characters of the vocabulary ({len(self._characters)} of them), "
                    f"got {text[place]!r} at index {place}"
                )
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids
        return torch.tensor(ids, dtype=torch.int64)

    def decode(self, ids: Tensor | Sequence[int]) -> str:
        """Turn ids back into text; special tokens appear by their names.

        `decode(encode(text)) == text` for "byte-bpe" and every text, and for "bpe" and "unigram"
        when every character is in the vocabulary (in the book's: printable ASCII and line
        breaks). Not for "wordpiece", which forgets blanks and line breaks and here puts one blank
        between words. A list of ids cut from a text may begin or end inside a character of
        several bytes, which then reads as the replacement character.

        Args:
            ids: int64 (T,), or a sequence of ids.

        Returns:
            The text.

        Raises:
            ValueError: Not one-dimensional, or an id outside 0..V-1.
        """
        known = checked_ids(ids, self.vocab_size)
        return self._tokenizer.decode(known, skip_special_tokens=False)

    def split(self, text: str) -> list[str]:
        """Cut a text into its tokens, for reading.

        Args:
            text: As for `encode`.

        Returns:
            The entries of `tokens` that `encode` gives.

        Raises:
            ValueError: As `encode`.
        """
        return [self.tokens[i] for i in self.encode(text).tolist()]

    def save(self, path: str | Path) -> None:
        """Write the vocabulary as JSON of the `tokenizers` library.

        Args:
            path: File name; an existing file is replaced.
        """
        with replacing(Path(path)) as part:
            part.write_text(self._tokenizer.to_str() + "\n", encoding="utf-8")

    def _role(self, role: str) -> int:
        """Look up the special token that plays a role."""
        found = [self._ids[name] for name in _ROLES[role] if name in self._ids]
        if not found:
            raise ValueError(
                f"expected a vocabulary with {' or '.join(_ROLES[role])}, but its special tokens "
                f"are {[self.tokens[i] for i in self._special_ids[:8]]}"
            )
        return found[0]

    def _sentinels(self) -> list[int]:
        """List the ids of <extra_id_0>, <extra_id_1>, ... up to the first that is missing."""
        found: list[int] = []
        while (name := _SENTINEL.format(len(found))) in self._ids:
            found.append(self._ids[name])
        return found


def train_subwords(
    texts: Sequence[str],
    kind: str,
    vocab_size: int,
    *,
    alphabet: str = PRINTABLE_ASCII,
    specials: Sequence[str] = SPECIALS,
    n_sentinels: int = 0,
    lowercase: bool = False,
) -> SubwordTokenizer:
    """Learn a vocabulary of subwords.

    The ids are: special tokens, then the pieces, then the sentinels, whose numbers count down
    from the last id, as in T5. "bpe" and "byte-bpe" give the same vocabulary at every run.
    "wordpiece" and "unigram" may differ in a few pieces: the library breaks ties by chance.

    Args:
        texts: Training texts, not empty.
        kind: "bpe" (on characters), "byte-bpe", "wordpiece" (words apart, ## before a piece
            inside a word, as BERT has it) or "unigram".
        vocab_size: Number of ids V, all included.
        alphabet: Characters that get an id even if no text holds them; those of the texts get
            one in any case. "byte-bpe" takes the 256 bytes instead.
        specials: Special tokens, a selection of SPECIALS.
        n_sentinels: Number of tokens <extra_id_n>.
        lowercase: Whether capitals become small letters and lose their accents, in training and
            in `encode`, as in BERT's uncased models. Texts then come back without them.

    Returns:
        The tokeniser.

    Raises:
        ValueError: Unknown kind or special token, no text, no [UNK] where the kind needs it, or a
            size that the texts cannot give.

    Source: Sennrich et al. 2016, section 3.2; Kudo 2018, section 3.2. differs: the pieces of
        "wordpiece" are chosen as in BPE (the library's trainer), and blanks belong to the word
        behind them as in GPT-2, not to a mark of their own as in SentencePiece.
    """
    _check_training(texts, kind, specials, n_sentinels)
    if lowercase:
        alphabet = "".join(sorted(set(alphabet.lower())))
    _check_size(vocab_size, len(specials) + n_sentinels, texts, kind, alphabet, lowercase)
    tokenizer, trainer = _untrained(kind, vocab_size - n_sentinels, alphabet, specials)
    if lowercase:
        tokenizer.normalizer = _lowercase()
    tokenizer.train_from_iterator(texts, trainer)
    names = [_SENTINEL.format(n) for n in reversed(range(n_sentinels))]
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in names])
    if (size := tokenizer.get_vocab_size()) != vocab_size:
        raise ValueError(
            f"expected a vocab_size that these texts and this alphabet can give, got {vocab_size}: "
            f"the {'smallest' if size > vocab_size else 'largest'} is {size}"
        )
    return SubwordTokenizer(tokenizer)


def load_tokenizer(name: str | Path) -> SubwordTokenizer:
    """Read a stored tokeniser.

    Args:
        name: A name in data/tokenizers ("plays_bpe"), or the path of a .json file.

    Returns:
        The tokeniser.

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


def _check_training(
    texts: Sequence[str], kind: str, specials: Sequence[str], n_sentinels: int
) -> None:
    """Refuse what no tokeniser can be trained from."""
    if isinstance(texts, str) or not any(texts):
        raise ValueError("expected a list of texts with at least one character in it")
    if kind not in KINDS:
        raise ValueError(f"expected a kind from {KINDS}, got {kind!r}")
    if not set(specials) <= set(SPECIALS) or len(set(specials)) < len(specials):
        raise ValueError(f"expected specials from {SPECIALS}, each once, got {tuple(specials)}")
    if kind in ("wordpiece", "unigram") and "[UNK]" not in specials:
        raise ValueError(f"expected [UNK] among the specials of {kind!r}, got {tuple(specials)}")
    if n_sentinels < 0:
        raise ValueError(f"expected n_sentinels >= 0, got {n_sentinels}")


def _check_size(
    vocab_size: int, n_fixed: int, texts: Sequence[str], kind: str, alphabet: str, lowercase: bool
) -> None:
    """Refuse a size without room for what must be in; "unigram" would be trained for ever."""
    n_characters = 1
    if kind == "unigram":  # each character is a piece
        read = _lowercase().normalize_str if lowercase else str
        n_characters = len(set(alphabet).union(*map(read, texts)))
    if vocab_size < n_fixed + n_characters:
        raise ValueError(
            f"expected a vocab_size that these texts and this alphabet can give, got {vocab_size}: "
            f"{n_fixed} special tokens and sentinels and at least {n_characters} pieces"
        )


def _lowercase() -> normalizers.Normalizer:
    """Make BERT's small letters without accents."""
    parts = [normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()]
    return normalizers.Sequence(parts)


def _untrained(
    kind: str, vocab_size: int, alphabet: str, specials: Sequence[str]
) -> tuple[Tokenizer, trainers.Trainer]:
    """Put the library's parts together: what cuts, what counts, what joins."""
    unk = "[UNK]" if "[UNK]" in specials else None
    settings: dict[str, Any] = {"vocab_size": vocab_size, "special_tokens": list(specials)}
    settings |= {"initial_alphabet": list(alphabet), "show_progress": False}
    words = pre_tokenizers.Split(Regex(WORD_PATTERN), "isolated")
    if kind == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece(cleanup=False)
        settings["initial_alphabet"] = [c for c in alphabet if not c.isspace()]
        return tokenizer, trainers.WordPieceTrainer(**settings)
    if kind == "unigram":
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer, tokenizer.decoder = words, decoders.Fuse()
        return tokenizer, trainers.UnigramTrainer(unk_token=unk, **settings)
    tokenizer = Tokenizer(models.BPE(unk_token=unk))
    tokenizer.pre_tokenizer, tokenizer.decoder = words, decoders.Fuse()
    if kind == "byte-bpe":
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([words, byte_level])
        tokenizer.decoder = decoders.ByteLevel()
        settings["initial_alphabet"] = pre_tokenizers.ByteLevel.alphabet()
    return tokenizer, trainers.BpeTrainer(**settings)


def _byte_of_character() -> dict[str, int]:
    """Undo GPT-2's spelling of bytes: printable ones as themselves, the others from U+0100 on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(b): b for b in plain} | {chr(256 + n): b for n, b in enumerate(others)}


_BYTES = _byte_of_character()


def _readable(name: str) -> str:
    """Write a token of bytes as text; a byte that is part of no whole character stays a number."""
    return bytes(_BYTES[c] for c in name).decode("utf-8", errors="backslashreplace")
