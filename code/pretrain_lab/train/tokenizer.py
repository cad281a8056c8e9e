# SPDX-License-Identifier: MIT
"""The vocabulary of a run of `pretrain_lab.train`, read from a file or learned from its text.

With the ids of the special tokens that span corruption needs, for vocabularies of subwords and of
characters alike.
"""

from collections.abc import Iterable, Iterator

from pretrain_lab.checkpoints import AnyTokenizer
from pretrain_lab.tokenizers.characters import MASK, PAD, CharTokenizer
from pretrain_lab.tokenizers.learning import train_subwords
from pretrain_lab.tokenizers.subwords import SubwordTokenizer, load_tokenizer
from pretrain_lab.train.options import ConfigError, TokenizerOptions

EOS = "</s>"
SENTINEL = "<extra_id_{}>"


def make_tokenizer(
    options: TokenizerOptions, rows: Iterable[str], *, with_sentinels: bool
) -> AnyTokenizer:
    """Read a vocabulary, or learn one from rows of text, the same one in every process.

    Raises:
        ConfigError: No such file, no text, or a size that the text cannot give.
    """
    try:
        if options.kind == "file":
            return load_tokenizer(str(options.path))
        n_sentinels = options.n_sentinels if with_sentinels else 0
        if options.kind == "characters":
            return _character_tokenizer(rows, n_sentinels)
        size = int(options.vocab_size or 0)
        return train_subwords(list(rows), options.kind, size, n_sentinels=n_sentinels)
    except (FileNotFoundError, ValueError) as error:
        raise ConfigError(f"[tokenizer]: {error}") from error


def first_characters(rows: Iterable[str], n_characters: int) -> Iterator[str]:
    """Take whole rows from the start of a stream until they have as many characters."""
    n_taken = 0
    for row in rows:
        yield row
        n_taken += len(row)
        if n_taken >= n_characters:
            return


def _character_tokenizer(rows: Iterable[str], n_sentinels: int) -> CharTokenizer:
    """Take every character of a text; sentinels count down to the end of the special tokens."""
    characters = sorted(set().union(*rows))
    if not characters:
        raise ValueError("expected a text with at least one character, got an empty one")
    names = [SENTINEL.format(n) for n in reversed(range(n_sentinels))]
    return CharTokenizer(characters, (PAD, MASK, *([EOS, *names] if names else [])))


def eos_of(tokenizer: AnyTokenizer) -> int | None:
    """Give the id that ends a text; None when there is none."""
    if isinstance(tokenizer, CharTokenizer):
        return tokenizer.ids.get(EOS)
    try:
        return tokenizer.eos_id
    except ValueError:
        return None


def sentinels_of(tokenizer: AnyTokenizer) -> tuple[int, ...]:
    """List the ids of <extra_id_0>, <extra_id_1>, ..., which count down; there may be none."""
    if isinstance(tokenizer, SubwordTokenizer):
        return tokenizer.sentinel_ids
    names = map(SENTINEL.format, range(len(tokenizer.specials)))
    return tuple(tokenizer.ids[name] for name in names if name in tokenizer.ids)
