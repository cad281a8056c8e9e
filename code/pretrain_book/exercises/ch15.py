# SPDX-License-Identifier: MIT
"""Checkers of chapter 15: rare words, masked prompts, preferences, copies, ranks, a batch."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pretrain_book.exercises.answer_types import Choice, Function, Number, Numbers
from pretrain_book.exercises.grader import Checker, Part
from pretrain_book.exercises.predicates import Mistake, acts_like, equals, near

RARE, COMMON = math.log(1 + 999.5 / 1.5), math.log(1 + 100.5 / 900.5)
"""The logarithms of the first exercise: a word in 1 and in 900 of 1,000 texts."""
CONVERSATIONS = (
    ([5, 6, 7, 8], ["user", "user", "assistant", "assistant"]),
    ([1, 2, 3, 4, 5, 6], ["system", "user", "assistant", "user", "assistant", "assistant"]),
)
ANSWERS = ((-20.0, -18.0, -23.0, -17.0, 0.1), (-5.0, -9.0, -7.0, -6.0, 0.5))
FIVE, EIGHT = 326, 2
"""Lines of the test plays that share so many words in a row with a training play."""
SCORES = (([0.9, 0.5, 0.4], [0.1, 7.0, 3.0]), ([0.2, 0.8, 0.5, 0.1], [4.0, 1.0, 3.0, 2.0]))
FROZEN, TRAINED, PER_TOKEN = 2.0, 0.64, 2 * (36 + 16) * 2560 + 2 * 4 * 151_936
TEXTS = 7
KINDS = ("rule or counted words", "encoder", "sentence encoder", "decoder")


def rarity() -> Checker:
    """Weigh a rare and a common word."""
    parts = {
        "rare": Part(
            Number(),
            near(RARE),
            (
                Mistake(near(math.log10(1 + 999.5 / 1.5)), "the natural logarithm is meant."),
                Mistake(near(math.log(1000)), "the formula adds halves, and 1 inside."),
                Mistake(near(COMMON), "that is the common word."),
            ),
            "N = 1,000 and n = 1: 999.5 over 1.5, plus 1.",
        ),
        "common": Part(
            Number(),
            near(COMMON),
            (
                Mistake(near(math.log(100.5 / 900.5)), "the 1 inside keeps it above 0."),
                Mistake(near(RARE), "that is the rare word."),
            ),
            "n = 900: 100.5 over 900.5, plus 1.",
        ),
        "once": Part(
            Number(),
            near(RARE),
            (
                Mistake(near(2.2 * RARE), "divide by f + 1.2, which is 2.2 as well."),
                Mistake(near(RARE / 2.2), "the numerator has the factor 2.2, too."),
            ),
            "with f = 1 numerator and denominator are equal.",
        ),
        "twice": Part(
            Number("times"),
            near(1.375),
            (
                Mistake(near(2), "that would be so without the denominator."),
                Mistake(near(1.375 * RARE), "that is the score; how many times that of (b)?"),
            ),
            "2.2 · 2 / (2 + 1.2), over the same with f = 1.",
        ),
    }
    explanation = "A word counts by its rarity, and each repetition counts less."
    return Checker("ex-own-rarity", "warm-up", parts, explanation)


def mask() -> Checker:
    """Put −100 where a conversation is not the assistant's."""

    def labels(ids: Sequence[int], roles: Sequence[str], keep: str = "assistant") -> list[int]:
        """Give the labels."""
        return [i if role == keep else -100 for i, role in zip(ids, roles, strict=True)]

    def last(ids: Sequence[int], roles: Sequence[str]) -> list[int]:
        """Keep the last answer alone."""
        start = max(i for i, role in enumerate(roles) if role != "assistant") + 1
        return [-100] * start + list(ids[start:])

    parts = {
        "labels": Part(
            Function("answer_labels(ids, roles)", CONVERSATIONS, Numbers((None,), "labels")),
            acts_like(labels, CONVERSATIONS),
            (
                Mistake(
                    acts_like(lambda i, r: labels(i, r, "user"), CONVERSATIONS),
                    "turned around: the loss belongs on the assistant's tokens.",
                ),
                Mistake(
                    acts_like(lambda i, r: np.maximum(labels(i, r), 0), CONVERSATIONS),
                    "0 is a token's id; what has no loss gets −100.",
                ),
                Mistake(acts_like(last, CONVERSATIONS), "all answers count, not the last alone."),
            ),
            "the id where the role is assistant, −100 elsewhere.",
        ),
        "share": Part(
            Number("share"),
            near(25 / 37),
            (
                Mistake(near(12 / 37), "that is the answer's share."),
                Mistake(near(25 / 12), "divide by all tokens."),
                Mistake(near(100 * 25 / 37), "that is in per cent."),
            ),
            "prompt tokens over all tokens.",
        ),
        "incomparable": Part(
            Choice(("the learning rate", "the tokens they average over", "the model")),
            equals("the tokens they average over"),
            (
                Mistake(equals("the model"), "before training, it is the same model."),
                Mistake(equals("the learning rate"), "before training, no step was taken."),
            ),
            "which tokens have a loss?",
        ),
    }
    explanation = "Compare losses only over the same tokens."
    return Checker("ex-own-mask", "warm-up", parts, explanation)


def dpo() -> Checker:
    """Write the loss of a preference, and its slope."""

    def loss(c: float, r: float, rc: float, rr: float, beta: float) -> float:
        """Give minus the log-sigmoid of the margin."""
        return math.log1p(math.exp(-beta * ((c - rc) - (r - rr))))

    def wrong(rule: Callable[..., float]) -> Callable[[Any], bool]:
        """Recognise another rule."""
        return acts_like(rule, ANSWERS)

    sigma = 1 / (1 + math.exp(3))
    parts = {
        "loss": Part(
            Function("dpo_loss(chosen, rejected, …)", ANSWERS, Number("nats")),
            acts_like(loss, ANSWERS),
            (
                Mistake(
                    wrong(lambda c, r, rc, rr, b: loss(c, r, 0, 0, b)), "the reference is missing."
                ),
                Mistake(wrong(lambda c, r, rc, rr, b: loss(c, r, rc, rr, 1)), "β is missing."),
                Mistake(
                    wrong(lambda c, r, rc, rr, b: loss(r, c, rr, rc, b)),
                    "chosen and rejected are exchanged.",
                ),
                Mistake(
                    wrong(lambda c, r, rc, rr, b: b * ((c - rc) - (r - rr))),
                    "that is the margin; the loss is minus the logarithm of its sigmoid.",
                ),
            ),
            "on paper: with margin 0.4 the loss is 0.513.",
        ),
        "at 0": Part(
            Number(),
            near(-0.5),
            (
                Mistake(near(0.5), "a larger margin lowers the loss: the slope is negative."),
                Mistake(near(-0.25, 0.25), "that is σ'; divide by σ."),
                Mistake(near(math.log(2)), "that is the loss at 0."),
            ),
            "−σ′/σ at 0.",
        ),
        "at 3": Part(
            Number(),
            near(-sigma),
            (
                Mistake(near(sigma), "a larger margin lowers the loss: the slope is negative."),
                Mistake(near(sigma - 1, 1 - sigma), "1 − σ(3), not σ(3)."),
                Mistake(near(math.log1p(math.exp(-3))), "that is the loss at 3."),
            ),
            "−(1 − σ(3)).",
        ),
        "large": Part(
            Choice(("it dominates the step", "it hardly counts", "it is pushed back")),
            equals("it hardly counts"),
            (
                Mistake(equals("it dominates the step"), "compare the two slopes."),
                Mistake(equals("it is pushed back"), "the slope keeps its sign."),
            ),
            "the slope goes to 0.",
        ),
    }
    explanation = "Pairs that are ordered well already leave the step to the others."
    return Checker("ex-own-dpo", "derivation", parts, explanation)


def copies() -> Checker:
    """Count shared runs of words of two lengths."""
    parts = {
        "five": Part(
            Number("lines", whole=True),
            near(FIVE, rel=0.01),
            (
                Mistake(near(EIGHT, rel=0.01), "that is the count for eight words."),
                Mistake(near(0), "were the texts put into lower case on both sides?"),
            ),
            "grams(line, 5) & grams(training_text, 5), for each line of test.",
        ),
        "eight": Part(
            Number("lines", whole=True),
            near(EIGHT, rel=0.01),
            (
                Mistake(near(FIVE, rel=0.01), "that is the count for five words."),
                Mistake(near(0), "were the texts put into lower case on both sides?"),
            ),
            "grams(line, 8) & grams(training_text, 8), for each line of test.",
        ),
        "report": Part(
            Choice(("five", "eight", "both")),
            equals("eight"),
            (
                Mistake(equals("five"), "look at ten of them: are they copies?"),
                Mistake(equals("both"), "one of the two is mostly phrases of the language."),
            ),
            "which of the two finds copies and not phrases?",
        ),
    }
    explanation = "A short run finds phrases, a long one copies; look before you report."
    return Checker("ex-own-copies", "experiment", parts, explanation)


def fusion() -> Checker:
    """Join two rankings."""

    def ranks(scores: Sequence[float], sign: int = -1) -> Any:
        """Give the places, from 1."""
        return np.argsort(np.argsort(sign * np.array(scores))) + 1

    def fuse(a: Sequence[float], b: Sequence[float], sign: int = -1, shift: int = 0) -> Any:
        """Give the sums."""
        return 1 / (60 + ranks(a, sign) - shift) + 1 / (60 + ranks(b, sign) - shift)

    def wrong(rule: Callable[..., Any]) -> Callable[[Any], bool]:
        """Recognise another rule."""
        return acts_like(rule, SCORES)

    parts = {
        "fuse": Part(
            Function("fuse(first, second)", SCORES, Numbers((None,), "scores")),
            acts_like(fuse, SCORES),
            (
                Mistake(
                    wrong(lambda a, b: fuse(a, b, sign=1)), "rank 1 belongs to the highest score."
                ),
                Mistake(wrong(lambda a, b: fuse(a, b, shift=1)), "ranks begin with 1, not 0."),
                Mistake(
                    wrong(lambda a, b: np.array(a) + np.array(b)), "add ranks, not the scores."
                ),
                Mistake(
                    wrong(lambda a, b: 1 / (60 + np.argsort(-np.array(a)) + 1)
                          + 1 / (60 + np.argsort(-np.array(b)) + 1)),
                    "one argsort gives the order; a second one gives the ranks.",
                ),
            ),
            "1/(60 + rank) of both searches, added.",
        ),
        "first": Part(
            Number("text", whole=True),
            equals(1),
            (
                Mistake(equals(0), "its ranks are 1 and 3; compare with 2 and 1."),
                Mistake(equals(2), "its ranks are 3 and 2."),
            ),
            "write the ranks of the three texts down.",
        ),
        "why": Part(
            Choice(
                ("they are faster", "the scores have different scales", "ranks are never wrong")
            ),
            equals("the scores have different scales"),
            (
                Mistake(equals("they are faster"), "ranks take a sort more."),
                Mistake(equals("ranks are never wrong"), "a bad search ranks badly."),
            ),
            "how large can a cosine be, and how large a BM25 score?",
        ),
    }  # fmt: skip
    explanation = "Ranks can be added whatever the scores measure."
    return Checker("ex-own-fusion", "extension", parts, explanation)


def fit() -> Checker:
    """Count what a batch needs on a small card."""
    parts = {
        "frozen": Part(
            Number("GB"),
            near(FROZEN),
            (
                Mistake(near(8), "that is 16 bits a weight; QLoRA holds 4."),
                Mistake(near(16), "four bits are half a byte."),
            ),
            "4 billion weights, half a byte each.",
        ),
        "trained": Part(
            Number("GB"),
            near(TRAINED),
            (
                Mistake(near(64), "only one weight in a hundred is trained."),
                Mistake(near(0.16), "weight, gradient and two means: 16 bytes."),
            ),
            "40 million weights, 16 bytes each.",
        ),
        "per token": Part(
            Number("bytes"),
            near(PER_TOKEN),
            (
                Mistake(near(2 * 52 * 2560), "the logits are missing."),
                Mistake(near(2 * 4 * 151_936), "the activations are missing."),
                Mistake(
                    near(2 * 16 * 36 * 2560 + 2 * 4 * 151_936),
                    "with checkpointing, a block keeps its input alone.",
                ),
            ),
            "2 · (36 + 16) · 2,560 for the states, 2 · 4 · 151,936 for the logits.",
        ),
        "texts": Part(
            Number("texts", whole=True),
            equals(TEXTS),
            (
                Mistake(equals(TEXTS + 1), "leave a tenth of the card free."),
                Mistake(equals(TEXTS * 1024), "those are tokens, or nearly."),
            ),
            "what is left after the weights, over 1,024 tokens' bytes, rounded down.",
        ),
    }
    explanation = "A large vocabulary costs memory by the token, however small the model."
    return Checker("ex-own-fit", "derivation", parts, explanation)


def clients() -> Checker:
    """Choose a kind of model for three clients."""
    parts = {
        "museum": Part(
            Choice(KINDS),
            equals("sentence encoder"),
            (
                Mistake(equals("decoder"), "texts are to be found, not written."),
                Mistake(equals("encoder"), "which kind gives one vector for a whole text?"),
                Mistake(
                    equals("rule or counted words"),
                    "a visitor's words are in another language than the description's.",
                ),
            ),
            "what must come out?",
        ),
        "town hall": Part(
            Choice(KINDS),
            equals("rule or counted words"),
            (
                Mistake(equals("encoder", "decoder", "sentence encoder"), "would a list do?"),
            ),
            "read the second half of the sentence again.",
        ),
        "publisher": Part(
            Choice(KINDS),
            equals("decoder"),
            (
                Mistake(equals("encoder", "sentence encoder"), "it cannot write."),
                Mistake(equals("rule or counted words"), "no rule writes a blurb."),
            ),
            "free text must come out.",
        ),
    }  # fmt: skip
    explanation = "The output decides the kind; the cheapest thing that does it comes first."
    return Checker("ex-own-clients", "experiment", parts, explanation)


CHECKERS = {
    "ex-own-rarity": rarity,
    "ex-own-mask": mask,
    "ex-own-dpo": dpo,
    "ex-own-copies": copies,
    "ex-own-fusion": fusion,
    "ex-own-fit": fit,
    "ex-own-clients": clients,
}
