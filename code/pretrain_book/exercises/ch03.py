# SPDX-License-Identifier: MIT
"""Checkers of chapter 3: merges, a tokeniser, spaces, unknowns, languages, a sum over cuts."""

import re
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np

from pretrain_book.exercises.answer_types import Choice, Function, Number, Numbers, Words
from pretrain_book.exercises.grader import Checker, Part, single_answer
from pretrain_book.exercises.predicates import Mistake, Predicate, acts_like, equals, near

LEDGER = {"tea": 6, "team": 3, "steam": 4, "seat": 2, "quay": 1}
STRANGE = ("Zoë", "naïve", "日本", "😀")
TEN = dict.fromkeys(("s", "t", "e", "a", "m", "ea"), 0.1)
CUTS: tuple[tuple[Any, ...], ...] = (
    ("steam", TEN | {"st": 0.15, "team": 0.25}),
    ("aaaa", {"a": 0.5, "aa": 0.3, "aaa": 0.2}),
    ("ab", {"a": 0.6, "ab": 0.4}),
    ("ba", {"a": 0.6, "ab": 0.4}),
)
"""Words and pieces with their probabilities; the last word has no cut."""
PATTERN = r" ?[A-Za-z]+| ?[^\sA-Za-z]+|\s"
ENCODED: tuple[tuple[Any, ...], ...] = (
    ("a tea", [("e", "a"), ("t", "ea"), (" ", "tea")], [" ", "a", "e", "t", "ea", "tea", " tea"]),
    ("a a", [("a", " ")], [" ", "a", "a "]),
    ("seam", [("e", "a"), ("t", "ea"), ("tea", "m")], [*"aemst", "ea", "tea", "team"]),
    ("steam", [("s", "t"), ("e", "a"), ("t", "ea")], [*"aemst", "st", "ea", "tea"]),
    ("abc", [("b", "c"), ("a", "b")], [*"abc", "bc", "ab"]),
)
"""Texts, merges and vocabularies."""
LANGUAGES = ("English", "German", "Greek")
TOKENS, SPLIT, BYTES = (13, 21, 44), (10, 9, 7), (48, 52, 85)
"""SmolLM2's tokens, words and bytes of the three sentences."""


def merge() -> Checker:
    """Continue the ledger, and begin it anew with a sixth word."""
    merges = _merges({**LEDGER, "seal": 3}, 5)
    tied = Part(
        Words(what="pairs, each written as one string"),
        lambda words: set(words) == {"sea", "eat"},
        (
            Mistake(
                lambda words: bool({"qu", "ua", "ay"} & set(words)),
                "quay was written down once, so its pairs stay below.",
            ),
            Mistake(lambda words: len(set(words)) == 1, "there is a second pair with this count."),
        ),
        "only seat and quay still have pairs. Write the two letters or tokens as one string.",
    )
    count = Part(
        Number("occurrences", whole=True),
        equals(LEDGER["seat"]),
        (
            Mistake(equals(1), "a word's pairs count as often as the word was written down."),
            Mistake(equals(4), "s·team had that count, and is merged already."),
        ),
        "a pair counts once for each time that its word was written down.",
    )
    five = Part(
        Words(5, "merges, each written as one string"),
        equals(merges),
        (
            Mistake(
                equals(("ea", "tea", "team", "steam", "sea")),
                "with seal, s·ea occurs more often than s·team; count again before the fourth.",
            ),
            Mistake(
                equals(("ea", "tea", "team", "sea", "seal")),
                "steam is left out: compare s·team with sea·l.",
            ),
            Mistake(
                equals(("ea", "tea", "sea", "team", "steam")),
                "after two merges tea·m still occurs more often than s·ea.",
            ),
        ),
        "count all pairs again after each merge; the most frequent one wins.",
    )
    return Checker(
        "ex-tok-merge",
        "warm-up",
        {"tied": tied, "count": count, "merges": five},
        "One more word in the text, and the merges come in another order.",
    )


def total() -> Checker:
    """Sum over all cuts of a word, where Viterbi takes the best one."""
    return single_answer(
        "ex-tok-sum",
        "derivation",
        Function("total(word, probs)", CUTS, Number("probability")),
        acts_like(_total, CUTS, rel=1e-9),
        Mistake(
            acts_like(lambda w, p: _total(w, p, max), CUTS),
            "that is the best cut alone. Where Viterbi takes the larger, add.",
        ),
        Mistake(
            acts_like(lambda w, p: _total(w, dict.fromkeys(p, 1.0)), CUTS),
            "that counts the cuts. Weigh each one by the product of its pieces.",
        ),
        Mistake(
            acts_like(lambda w, p: float(np.prod([p.get(c, 0.0) for c in w])), CUTS),
            "that is the cut into single letters; longer pieces are missing.",
        ),
        Mistake(acts_like(lambda w, p: p.get(w, 0.0), CUTS), "that is the word as one piece."),
        Mistake(
            lambda values: all(value == 0 for value in values),
            "everything is 0. Nothing of the text read yet has probability 1.",
        ),
        default_hint="for each last piece, the total before it times the piece; add these up.",
        explanation="For steam the other cuts add 7 % to the best one.",
    )


def unknown() -> Checker:
    """Predict the number of [UNK] of four texts in five vocabularies."""
    unseen = [sum(not c.isascii() for c in text) for text in STRANGE]
    table = np.array([[1, 1, n, 0, 0] for n in unseen])
    table[STRANGE.index("😀"), 3] = 1  # BERT keeps Latin letters and these two characters
    return single_answer(
        "ex-tok-unknown",
        "experiment",
        Numbers((4, 5), "rows: texts, columns: vocabularies"),
        near(table),
        Mistake(_cell(slice(None), 4, lambda x: x.any()), "every text is made of bytes."),
        Mistake(
            _cell(2, 2, lambda x: x == 1),
            "BPE falls back on characters, and marks each unknown one.",
        ),
        Mistake(
            _cell(2, slice(0, 2), lambda x: (x == 2).any()),
            "a vocabulary of words, or WordPiece, gives up on the whole word at once.",
        ),
        Mistake(
            _cell(slice(0, 2), 3, lambda x: x.any()),
            "BERT (uncased) takes the accents off before it looks.",
        ),
        Mistake(_cell(2, 3, lambda x: x.any()), "BERT has both of these characters."),
        Mistake(_cell(3, 3, lambda x: x == 0), "no word piece of BERT spells this sign."),
        Mistake(
            _cell(slice(None), 0, lambda x: (x == 0).any()),
            "no play has this word, so a vocabulary of their words lacks it.",
        ),
        default_hint="per text: which characters, or whole words, does the vocabulary lack?",
        explanation="One [UNK] may hide a character or a whole word, so their number says little.",
    )


def own() -> Checker:
    """Encode a text with given merges and a given vocabulary."""
    return single_answer(
        "ex-tok-own",
        "experiment",
        Function("encode(text, merges, tokens)", ENCODED, Numbers((None,), "ids")),
        acts_like(_encode, ENCODED),
        Mistake(
            acts_like(lambda t, m, v: _encode(t, m, v, pattern="(?s).+"), ENCODED),
            "the merges cross from one piece to the next. Cut with the pattern first.",
        ),
        Mistake(
            acts_like(lambda text, _, tokens: _encode(text, [], tokens), ENCODED),
            "those are single characters; no merge was applied.",
        ),
        Mistake(
            acts_like(_longest, ENCODED),
            "that takes the longest token from the left. Apply the merges, in their order.",
        ),
        default_hint="cut, then apply the merges to each piece in their order, then look up.",
        explanation="With the list of tokens, the ids give the text back.",
    )


def space() -> Checker:
    """Merge across spaces, and count the tokens of a word with and without one."""
    merges = _merges({"the tea": 6, "the team": 3, "the steam": 4}, 8)
    place = next(i for i, token in enumerate(merges) if " " in token.strip())
    merge_part = Part(
        Number("place of the merge", whole=True),
        equals(place + 1),
        (
            Mistake(equals(place), "the first merge is number 1."),
            Mistake(equals(3), "that token ends with a space; no letter is behind it."),
        ),
        "print all merges with visible, and look for letters on both sides of a space.",
    )
    token_part = Part(
        Words(1, "token, such as ['ea']"),
        equals((merges[place],)),
        tuple(  # a field of a page drops the space
            Mistake(equals((one,)), "its space stands at the end, with no letter behind it.")
            for one in ("the ", "the")
        ),
        "it is what the merge of your first answer makes, spaces included.",
    )
    lengths = Part(
        Numbers((4,), "tokens"),
        near(np.array([2.0, 1.0, 2.0, 2.0])),
        (
            Mistake(near(np.ones(4)), "only the most frequent form is one token."),
            Mistake(
                near(np.array([1.0, 1.0, 2.0, 2.0])),
                "a small letter and no space in front: how often does that come?",
            ),
        ),
        "ask book.split for each of the four.",
    )
    return Checker(
        "ex-tok-space",
        "experiment",
        {"merge": merge_part, "token": token_part, "lengths": lengths},
        "Where a space belongs is a decision, and the vocabulary shows it.",
    )


def fair() -> Checker:
    """Compare three languages by tokens and by bytes."""
    right = np.array(TOKENS) / np.array(SPLIT)
    ratios = Part(
        Numbers((3,), "tokens per word"),
        near(right, rel=0.005),
        (
            Mistake(near(1 / right, rel=0.005), "those are words per token."),
            Mistake(near(np.array(TOKENS)), "those are tokens; divide by the words."),
        ),
        "divide the tokens of each sentence by its words.",
    )
    longest = Part(
        Choice(LANGUAGES),
        equals("Greek"),
        (Mistake(equals("German"), "ä takes two bytes, but only ä."),),
        "count bytes, not letters.",
    )
    times = Part(
        Number("times"),
        near(BYTES[2] / BYTES[0], rel=0.01),
        (
            Mistake(near(BYTES[0] / BYTES[2], rel=0.01), "the other way round."),
            Mistake(near(TOKENS[2] / TOKENS[0], rel=0.01), "those are tokens; count bytes."),
        ),
        "divide its bytes by those of the English sentence.",
    )
    return Checker(
        "ex-tok-fair",
        "extension",
        {"tokens per word": ratios, "longest": longest, "times": times},
        "Tokens depend on the training text of a vocabulary, bytes on UTF-8.",
    )


def _merges(counts: dict[str, int], n_merges: int) -> tuple[str, ...]:
    """Learn byte-pair merges; the first of equally frequent pairs wins."""
    spelled, found = {word: list(word) for word in counts}, []
    for _ in range(n_merges):
        pairs = Counter[tuple[str, str]]()
        for word, pieces in spelled.items():
            for pair in pairwise(pieces):
                pairs[pair] += counts[word]
        best = max(pairs, key=pairs.__getitem__)
        found.append("".join(best))
        for word, pieces in spelled.items():
            spelled[word] = _joined(pieces, best)
    return tuple(found)


def _joined(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    """Write each occurrence of a pair as one symbol."""
    merged: list[str] = []
    for symbol in symbols:
        if merged and (merged[-1], symbol) == pair:
            merged[-1] += symbol
        else:
            merged.append(symbol)
    return merged


def _encode(
    text: str, merges: list[tuple[str, str]], tokens: list[str], pattern: str = PATTERN
) -> list[float]:
    """Cut a text, apply the merges in their order, and look up places."""
    ids: list[float] = []
    for piece in re.findall(pattern, text):
        symbols = list(piece)
        for pair in merges:
            symbols = _joined(symbols, pair)
        ids += [tokens.index(symbol) for symbol in symbols]
    return ids


def _longest(text: str, _: object, tokens: list[str]) -> list[float]:
    """Take the longest token from the left."""
    ids: list[float] = []
    while text:
        best = max((token for token in tokens if text.startswith(token)), key=len)
        ids.append(tokens.index(best))
        text = text[len(best) :]
    return ids


def _total(word: str, probs: dict[str, float], choose: Any = sum) -> float:
    """Combine the products of all cuts, by their sum or by their maximum."""
    upto = [1.0]
    for end in range(1, len(word) + 1):
        upto.append(choose([upto[s] * probs.get(word[s:end], 0.0) for s in range(end)]))
    return float(upto[-1])


def _cell(rows: Any, columns: Any, test: Any) -> Predicate:
    """Judge some cells of a table."""
    return lambda table: bool(test(table[rows, columns]))


CHECKERS = {
    "ex-tok-merge": merge,
    "ex-tok-own": own,
    "ex-tok-space": space,
    "ex-tok-unknown": unknown,
    "ex-tok-fair": fair,
    "ex-tok-sum": total,
}
