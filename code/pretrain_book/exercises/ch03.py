# SPDX-License-Identifier: MIT
"""Checkers of chapter 3: merges, a sum over cuts, unknowns, doubles, sentences that fit."""

import json
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np

from pretrain_book.exercises.answer_types import Choice, Function, Number, Numbers, Words
from pretrain_book.exercises.grader import Checker, Part, single_answer
from pretrain_book.exercises.predicates import Mistake, Predicate, acts_like, equals, near
from pretrain_lab.paths import data_file

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
WINDOW, ENGLISH_TOKENS = 1024, 13
"""GPT-2's window, and the tokens of the English sentence in SmolLM2's vocabulary."""
ENGLISH = "Good morning, I would like a cup of tea, please."
LANGUAGES = ("English", "German", "French", "Turkish", "Greek", "Russian", "Hindi", "Chinese")


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
        "One more word moved a merge forward: a vocabulary is the history of its text.",
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
        explanation="One [UNK] may hide a character or a whole word: counting them says nothing.",
    )


def blank() -> Checker:
    """Count tokens that differ by a leading blank, or by capitals too."""
    content = json.loads(data_file("tokenizers", "plays_bpe.json").read_text(encoding="utf-8"))
    lettered = [token for token in content["model"]["vocab"] if token.strip().isalpha()]
    stems = Counter(token.strip() for token in lettered)
    lower = {token.lower() for token in stems}
    n_blank, n_case = len(lettered) - len(stems), len(lettered) - len(lower)
    members = sum(n for n in stems.values() if n > 1)
    blank_part = Part(
        Number("tokens", whole=True),
        equals(n_blank),
        (
            Mistake(
                equals(members),
                "that counts both of each pair; the first of them repeats nothing.",
            ),
            Mistake(equals(len(stems)), "that is how many different strings are left."),
            Mistake(equals(len(lettered)), "those are all tokens of letters."),
        ),
        "take all tokens of letters, drop the blank, and compare the two numbers.",
    )
    case_part = Part(
        Number("tokens", whole=True),
        equals(n_case),
        (
            Mistake(
                equals(n_case - n_blank),
                "that is what capitals add; count blank and capitals together.",
            ),
            Mistake(equals(len(lower)), "that is how many different strings are left."),
            Mistake(equals(n_blank), "capitals add some more."),
        ),
        "drop the blank first, then the capitals, and compare with all tokens of letters.",
    )
    return Checker(
        "ex-tok-blank",
        "experiment",
        {"blank": blank_part, "blank and case": case_part},
        "A quarter of these tokens are doubles, and each must learn its meaning by itself.",
    )


def fair() -> Checker:
    """Fill a window with sentences, by tokens and by bytes."""
    fit, by_bytes = WINDOW // ENGLISH_TOKENS, WINDOW // len(ENGLISH.encode())
    english = Part(
        Number("sentences", whole=True),
        equals(fit),
        (
            Mistake(equals(fit + 1), "the last of these sentences would be cut off; round down."),
            Mistake(equals(by_bytes), "that is by bytes; count tokens here."),
            Mistake(equals(ENGLISH_TOKENS), "that is the length of one sentence, in tokens."),
        ),
        "divide the window by the tokens of the English sentence.",
    )
    wrong_first = (
        Mistake(equals("English"), "by tokens, yes. By bytes, characters that say much win."),
        Mistake(equals("Hindi"), "its letters take three bytes each. Which end of the list is it?"),
    )
    wrong_last = (
        Mistake(equals("Chinese"), "three bytes a character, but how many characters?"),
        Mistake(equals("Greek", "Russian"), "close: two bytes a letter. One script takes more."),
    )
    first = Part(Choice(LANGUAGES), equals("Chinese"), wrong_first, "count bytes, not letters.")
    last = Part(Choice(LANGUAGES), equals("Hindi"), wrong_last, "which letters take most bytes?")
    return Checker(
        "ex-tok-fair",
        "extension",
        {"English by tokens": english, "first by bytes": first, "last by bytes": last},
        "Neither count is neutral: one was trained, the other decided by UTF-8.",
    )


def _merges(counts: dict[str, int], n_merges: int) -> tuple[str, ...]:
    """Learn byte-pair merges; the first of equally frequent pairs wins."""
    spelled, found = {word: list(word) for word in counts}, []
    for _ in range(n_merges):
        pairs = Counter[tuple[str, str]]()
        for word, pieces in spelled.items():
            for pair in pairwise(pieces):
                pairs[pair] += counts[word]
        left, right = max(pairs, key=pairs.__getitem__)
        found.append(left + right)
        for word, pieces in spelled.items():
            spelled[word] = " ".join(pieces).replace(f"{left} {right}", left + right).split(" ")
    return tuple(found)


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
    "ex-tok-sum": total,
    "ex-tok-unknown": unknown,
    "ex-tok-blank": blank,
    "ex-tok-fair": fair,
}
