# SPDX-License-Identifier: MIT
"""Byte-pair encoding in plain Python: the vocabulary of chapter 3 without a library.

Paper: Sennrich et al. 2016 (arXiv:1508.07909), section 3.2.

Implemented: what `pretrain.subword_training.train_subwords` learns with kind "bpe" from a text of
printable ASCII; a test holds them together. Left out: every other character, bytes, other kinds.
"""

import heapq
import re
from collections import Counter, defaultdict
from itertools import pairwise

import torch
from torch import Tensor

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "</s>")
ALPHABET = "\n" + "".join(map(chr, range(32, 127)))
WORD = re.compile(r" ?[A-Za-z]+| ?\d| ?[^\sA-Za-z\d]+|\s")
Pair = tuple[int, int]


class Subwords:
    """Map a text to ids of subwords and back: special tokens, pieces, then sentinels."""

    def __init__(self, text: str, vocab_size: int = 3000, n_sentinels: int = 64) -> None:
        """Learn the pieces from a text.

        Args:
            text: Printable ASCII and line breaks.
            vocab_size: Number of ids V, all included.
            n_sentinels: Number of tokens <extra_id_n>, which count down from the last id.

        Raises:
            ValueError: The text holds another character, or is too short for so many pieces.
        """
        if unknown := sorted(set(text) - set(ALPHABET)):
            raise ValueError(f"expected printable ASCII and line breaks, got {unknown[:8]}")
        self.tokens = [*SPECIALS, *ALPHABET]
        self.ids = {token: i for i, token in enumerate(self.tokens)}
        self.ranks: dict[Pair, int] = {}
        self._cache: dict[str, list[int]] = {}
        self._learn(Counter(WORD.findall(text)), vocab_size - n_sentinels)
        self.sentinel_ids = [vocab_size - 1 - n for n in range(n_sentinels)]
        self.tokens += [f"<extra_id_{n}>" for n in reversed(range(n_sentinels))]

    def _learn(self, words: Counter[str], n_pieces: int) -> None:
        """Join the most frequent pair of neighbours, again and again; ties go to the lower ids."""
        spelled = [[self.ids[c] for c in word] for word in words]
        often = list(words.values())
        counts: Counter[Pair] = Counter()
        places: defaultdict[Pair, set[int]] = defaultdict(set)
        for n, word in enumerate(spelled):
            for pair in pairwise(word):
                counts[pair] += often[n]
                places[pair].add(n)
        heap = [(-count, pair) for pair, count in counts.items()]
        heapq.heapify(heap)
        while len(self.tokens) < n_pieces:
            if not heap:
                raise ValueError(f"expected a longer text, got no pair for id {len(self.tokens)}")
            count, pair = heapq.heappop(heap)
            if -count != counts[pair] or not counts[pair]:
                continue  # an old entry; the pair was pushed again when its count changed
            self.ranks[pair] = self._new_piece(pair)
            changed: set[Pair] = set()
            for n in places.pop(pair):
                before = Counter(pairwise(spelled[n]))
                spelled[n] = join(spelled[n], pair, self.ranks[pair])
                after = Counter(pairwise(spelled[n]))
                for other in before.keys() | after.keys():
                    if after[other] != before[other]:
                        counts[other] += often[n] * (after[other] - before[other])
                        changed.add(other)
                    if after[other]:
                        places[other].add(n)
            for other in changed:
                if counts[other] > 0:
                    heapq.heappush(heap, (-counts[other], other))

    def _new_piece(self, pair: Pair) -> int:
        """Give the id of two joined tokens, a new one unless the piece is known."""
        piece = self.tokens[pair[0]] + self.tokens[pair[1]]
        if piece not in self.ids:
            self.ids[piece] = len(self.tokens)
            self.tokens.append(piece)
        return self.ids[piece]

    def encode(self, text: str) -> Tensor:
        """Turn a text into ids: in each word, join the pair that was learned first.

        Args:
            text: Printable ASCII and line breaks.

        Returns:
            int64 (T,).

        Raises:
            ValueError: The text holds another character.
        """
        if unknown := sorted(set(text) - set(ALPHABET)):
            raise ValueError(f"expected printable ASCII and line breaks, got {unknown[:8]}")
        return torch.tensor([i for word in WORD.findall(text) for i in self._word(word)])

    def _word(self, word: str) -> list[int]:
        """Cut one word, each word only once."""
        if word not in self._cache:
            ids = [self.ids[c] for c in word]
            while known := [p for p in pairwise(ids) if p in self.ranks]:
                best = min(known, key=self.ranks.__getitem__)
                ids = join(ids, best, self.ranks[best])
            self._cache[word] = ids
        return self._cache[word]

    def decode(self, ids: Tensor) -> str:
        """Turn ids back into text; special tokens appear by their names.

        Args:
            ids: int64 (T,).

        Returns:
            The text.
        """
        return "".join(self.tokens[i] for i in ids.tolist())


def join(word: list[int], pair: Pair, piece: int) -> list[int]:
    """Replace each occurrence of a pair by its piece, from the left.

    Args:
        word: Ids.
        pair: The two neighbours.
        piece: Their id together.

    Returns:
        Ids.
    """
    joined: list[int] = []
    i = 0
    while i < len(word):
        if i + 1 < len(word) and (word[i], word[i + 1]) == pair:
            joined.append(piece)
            i += 2
        else:
            joined.append(word[i])
            i += 1
    return joined
