# SPDX-License-Identifier: MIT
"""Learn a vocabulary of subwords from texts, by the trainers of the `tokenizers` library.

Papers: Sennrich et al. 2016 (arXiv:1508.07909) for byte-pair encoding (BPE); Radford et al. 2019
(GPT-2) for its form on bytes; Schuster and Nakajima 2012 for WordPiece; Kudo 2018
(arXiv:1804.10959) for the unigram model. Texts keep case and accents unless lower-casing is chosen.
"""

from collections.abc import Sequence
from typing import Any

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

from pretrain_lab.tokenizers.subwords import SENTINEL, SPECIALS, SubwordTokenizer

KINDS = ("bpe", "byte-bpe", "wordpiece", "unigram")
PRINTABLE_ASCII = "\n" + "".join(map(chr, range(32, 127)))
"""Every character that a cleaned text of this book may hold."""
WORD_PATTERN = r" ?\p{L}+| ?\p{N}| ?[^\s\p{L}\p{N}]+|\s"
"""No token crosses these: letters, one digit, or marks, each with at most one blank before it."""


def train_subwords(
    texts: Sequence[str],
    kind: str,
    vocab_size: int,
    *,
    alphabet: str = PRINTABLE_ASCII,
    specials: Sequence[str] = SPECIALS,
    n_sentinels: int = 0,
    lowercase: bool = False,
    at_most: bool = False,
) -> SubwordTokenizer:
    """Learn a vocabulary of subwords.

    The ids are: special tokens, then the pieces, then the sentinels, whose numbers count down from
    the last id, as in T5. "bpe" and "byte-bpe" give the same vocabulary at every run. "wordpiece"
    and "unigram" may differ in a few pieces: the library breaks ties by chance.

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
        at_most: Whether fewer ids will do, where the texts do not give as many.

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
    names = [SENTINEL.format(n) for n in reversed(range(n_sentinels))]
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in names])
    size = tokenizer.get_vocab_size()
    if size > vocab_size or (size < vocab_size and not at_most):
        raise ValueError(
            f"expected a vocab_size that these texts and this alphabet can give, got {vocab_size}: "
            f"the {'smallest' if size > vocab_size else 'largest'} is {size}"
        )
    return SubwordTokenizer(tokenizer)


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
