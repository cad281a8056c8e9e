# SPDX-License-Identifier: MIT
"""The vocabulary of a run of `pretrain_lab.train`, read from a file or learned from its text.

With the ids of the special tokens that span corruption needs, for vocabularies of subwords and of
characters alike.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from torch import Tensor

from pretrain_lab.checkpoints import AnyTokenizer
from pretrain_lab.tokenizers.characters import MASK, PAD, CharTokenizer
from pretrain_lab.tokenizers.learning import train_subwords
from pretrain_lab.tokenizers.subwords import SubwordTokenizer, load_tokenizer
from pretrain_lab.train.log import tell
from pretrain_lab.train.options import ConfigError, TokenizerOptions

EOS = "</s>"
SENTINEL = "<extra_id_{}>"
MOST_UNKNOWN = 0.01
"""Share of [UNK] above which a text is refused."""


def make_tokenizer(
    options: TokenizerOptions,
    rows: Iterable[str],
    *,
    with_sentinels: bool,
    held_out: Iterable[str] = (),
) -> AnyTokenizer:
    """Read a vocabulary, or learn one from rows of text, the same one in every process.

    Characters are those of the rows and of the text held out. BPE is learned from the first
    `sample_size` characters, and has fewer ids than asked for where these do not give as many.

    Raises:
        ConfigError: No such file, no text, or a size that is too small.
    """
    try:
        if options.kind == "file":
            return load_tokenizer(str(options.path))
        n_sentinels = options.n_sentinels if with_sentinels else 0
        if options.kind == "characters":
            return _character_tokenizer(itertools.chain(rows, held_out), n_sentinels)
        size, sample = int(options.vocab_size or 0), options.sample_size
        learned_from = list(first_characters(rows, sample))
        n_characters = sum(map(len, learned_from))
        tell(f"learning {size:,} tokens ({options.kind}) from {n_characters:,} characters …")
        tokenizer = train_subwords(
            learned_from, options.kind, size, n_sentinels=n_sentinels, at_most=True
        )
    except (FileNotFoundError, ValueError) as error:
        raise ConfigError(f"[tokenizer]: {error}") from error
    if tokenizer.vocab_size < size:
        tell(f"the text gives {tokenizer.vocab_size:,} tokens, fewer than the {size:,} asked for")
    return tokenizer


def tokenizer_from_dict(state: dict[str, Any]) -> AnyTokenizer:
    """Rebuild a vocabulary of either kind from what its `to_dict` gave."""
    if "characters" in state:
        return CharTokenizer.from_dict(state)
    return SubwordTokenizer.from_dict(state)


def share_of_unknown(ids: Tensor, tokenizer: AnyTokenizer) -> float:
    """Give the share of [UNK] among ids, (L,); 0 for a vocabulary that has none."""
    try:
        unk_id = tokenizer.unk_id if isinstance(tokenizer, SubwordTokenizer) else None
    except ValueError:
        unk_id = None
    return 0.0 if unk_id is None else (ids == unk_id).double().mean().item()


def check_unknown(share: float, options: TokenizerOptions) -> None:
    """Refuse a text that the vocabulary cannot write, and name one that can.

    Raises:
        ConfigError: More than one token in a hundred is [UNK].
    """
    if share > MOST_UNKNOWN:
        what = f'the vocabulary "{options.path}"' if options.path else "the vocabulary"
        raise ConfigError(
            f"[tokenizer]: {100 * share:.1f} % of the tokens of this text are [UNK], for {what} "
            "cannot write it; learn one that can: --set tokenizer.kind=byte-bpe "
            "--set tokenizer.path= --set tokenizer.vocab_size=4096"
        )


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


def pad_of(tokenizer: AnyTokenizer) -> int:
    """Give the id that fills rows up; without [PAD] any will do, for it is ignored."""
    try:
        return tokenizer.pad_id
    except ValueError:
        return 0
