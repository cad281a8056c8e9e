# SPDX-License-Identifier: MIT
"""Checkers of chapter 12: five orders, passes, a rule that fails, BERT with a decoder, finding."""

from pretrain_book.exercises.answer_types import Choice, Number
from pretrain_book.exercises.grader import Checker, Part
from pretrain_book.exercises.predicates import (
    Mistake,
    between,
    equals,
    near,
    off_by_one,
    percent_for_share,
)

WAYS = ("words", "encoder", "decoder", "encoder-decoder")
READ, WRITTEN = 200, 50
N_QUESTIONS, N_PASSAGES, QUESTION, PASSAGE = 1000, 1000, 20, 100
"""Tokens of a text and of its answer; questions and passages, and their tokens."""
N_SHORT, N_LONG_REVIEWS, SHORT_WORDS = 342, 9, (0.65, 0.90)
"""Texts of the test, reviews above the threshold, and the band of the words' right answers."""
N_STATES, N_BLOCKS, WIDTH = 7, 12, 768
FOUND = {"words": (0.30, 0.50), "encoder": (0.28, 0.50)}
"""Bands for the share of plots among the first ten."""


def orders() -> Checker:
    """Say what is tried first for five orders."""
    parts = {
        "spam": _way(
            "words",
            ("how many bytes do a model's weights take, at four a weight?", *WAYS[1:]),
        ),
        "places": _way(
            "encoder",
            ("a word alone does not say whether it names a place; its neighbours do.", "words"),
            ("50 million pages: writing the names costs a step a token.", *WAYS[2:]),
        ),
        "replies": _way(
            "decoder",
            ("that gives a label or a vector, but a letter is wanted.", "words", "encoder"),
            ("it would have to be tuned on pairs, and there are none.", "encoder-decoder"),
        ),
        "manuals": _way(
            "encoder-decoder",
            ("that gives a label or a vector, but a text is wanted.", "words", "encoder"),
            ("it can, with size; but the task is fixed, and pairs are plenty.", "decoder"),
        ),
        "panel": _way(
            "decoder",
            ("that must be trained, and there are no labels.", "words", "encoder"),
            ("that is tuned for a task, and the task changes daily.", "encoder-decoder"),
        ),
    }
    explanation = "The output and the labels decided each, before any subject did."
    return Checker("ex-cho-orders", "warm-up", parts, explanation)


def _way(right: str, *known: tuple[str, ...]) -> Part:
    """Ask for one of the ways; each known mistake is a hint and the ways it is meant for."""
    mistakes = tuple(Mistake(equals(*ways), hint) for hint, *ways in known)
    return Part(Choice(WAYS), equals(right), mistakes, "go through the diagram from the top.")


def passes() -> Checker:
    """Count what is read, with and without a cache, crossed and apart."""
    cached = (READ + WRITTEN - 1) / READ
    uncached = sum(READ + i for i in range(WRITTEN)) / READ
    cross = N_QUESTIONS * N_PASSAGES * (QUESTION + PASSAGE)
    apart = N_PASSAGES * PASSAGE + N_QUESTIONS * QUESTION
    with_cache = Part(
        Number("encoder passes"),
        near(cached, rel=1e-3),
        (
            Mistake(near((READ + WRITTEN) / READ, rel=1e-3), "nothing follows the last token."),
            Mistake(near(WRITTEN - 1, WRITTEN, rel=0.02), "a step reads one token, not all."),
            Mistake(near((WRITTEN - 1) / READ, WRITTEN / READ), "the text must be read, too."),
        ),
        "count the tokens that are read, each once, and divide by those of the text.",
    )
    without = Part(
        Number("encoder passes"),
        near(uncached, rel=2e-3),
        (
            Mistake(near(WRITTEN, rel=2e-3), "the text grows by a token at each step."),
            Mistake(near(uncached * READ, rel=2e-3), "those are tokens; divide by one pass."),
            Mistake(near(cached, rel=1e-3), "that is with a cache."),
            Mistake(
                near(sum(READ + i for i in range(1, WRITTEN + 1)) / READ, rel=1e-3),
                "the first step reads the text alone.",
            ),
        ),
        "add up the lengths of what is read at each step, and divide by one pass.",
    )
    ratio = Part(
        Number("times"),
        near(cross / apart),
        (
            Mistake(near(apart / cross), "turned around: the larger over the smaller."),
            Mistake(
                near(cross / (N_QUESTIONS * (N_PASSAGES * PASSAGE + QUESTION))),
                "the passages are read once for all questions.",
            ),
            Mistake(near(cross), "that is what the cross-encoder reads; divide."),
        ),
        "tokens of all pairs, over tokens of all passages and all questions.",
    )
    parts = {"cached": with_cache, "uncached": without, "ratio": ratio}
    explanation = "What can be read once and kept makes the price."
    return Checker("ex-cho-passes", "derivation", parts, explanation)


def short() -> Checker:
    """Send short plots to a rule by length."""
    share = 0.5 - N_LONG_REVIEWS / N_SHORT  # no plot is found, and long reviews are errors
    rule = Part(
        Number("share"),
        near(share),
        (
            percent_for_share(share),
            Mistake(between(0.9, 1), "that is on whole plots; cut them first."),
            Mistake(equals(0.5), "not quite: it still errs on long reviews."),
            Mistake(between(0.6, 0.9), "the reviews stay as they are; only plots are cut."),
        ),
        "apply the rule with its old threshold to the cut plots and the whole reviews.",
    )
    always = Part(
        Number("share"),
        near(0.5, rel=1e-6),
        (
            Mistake(equals(0, 1), "count over both kinds of texts."),
            percent_for_share(0.5),
        ),
        "how many of the texts are reviews?",
    )
    words = Part(
        Number("share"),
        between(*SHORT_WORDS),
        (
            Mistake(between(1.01, 100), "that is a percentage; a share lies between 0 and 1."),
            Mistake(
                both_low, "words do not depend on the length alone; use the fitted model's score."
            ),
        ),
        "the fitted model's score on the cut plots and the whole reviews.",
    )
    explanation = "Two methods that look alike on one sample can part on the next."
    parts = {"rule": rule, "always": always, "words": words}
    return Checker("ex-cho-short", "experiment", parts, explanation)


def both_low(value: float) -> bool:
    """Accept a share up to that of a constant answer."""
    return 0 <= value <= 0.51


def bert_decoder() -> Checker:
    """Count what BERT in front of GPT gives, and what it lacks."""
    new = N_BLOCKS * 4 * WIDTH**2
    predictions = Part(
        Number("predictions", whole=True),
        equals(N_STATES),
        (
            off_by_one(N_STATES, "each position that goes in gives one prediction."),
            Mistake(equals(1), "the last position is one of several that predict."),
        ),
        "how many positions does GPT get, and how many predictions does each give?",
    )
    weights = Part(
        Number("weights", whole=True),
        equals(new),
        (
            Mistake(equals(new // N_BLOCKS), "that is one block; there are twelve."),
            Mistake(equals(new // 4), "queries, keys, values and the output: four matrices."),
            Mistake(equals(new * 3 // 4), "the output has a matrix as well."),
            Mistake(equals(4 * WIDTH * N_BLOCKS), "a matrix has width times width weights."),
        ),
        "blocks, times matrices of a block, times weights of a matrix.",
    )
    name = Part(
        Choice(("encoder", "decoder", "encoder-decoder")),
        equals("encoder-decoder"),
        (
            Mistake(equals("encoder"), "something reads the encoder and writes."),
            Mistake(equals("decoder"), "a decoder alone has nothing to cross to."),
        ),
        "which paradigm has the third permission?",
    )
    parts = {"predictions": predictions, "weights": weights, "name": name}
    explanation = "The new matrices know nothing at the start, and only pairs can train them."
    return Checker("ex-cho-bert-decoder", "derivation", parts, explanation)


def find() -> Checker:
    """Find the plot of a film from a sentence of a review."""
    percent = Mistake(between(1.01, 100), "that is a percentage; a share lies between 0 and 1.")
    words = Part(
        Number("share"),
        between(*FOUND["words"]),
        (
            percent,
            Mistake(
                between(0, FOUND["words"][0]), "is the right plot's row compared with the others?"
            ),
        ),
        "of how many questions is the right plot among the first ten?",
    )
    encoder = Part(
        Number("share"),
        between(*FOUND["encoder"]),
        (
            percent,
            Mistake(
                between(0, FOUND["encoder"][0]),
                "scale the vectors to length 1, and leave padding out of the mean.",
            ),
        ),
        "of how many questions is the right plot among the first ten?",
    )
    ahead = Part(
        Choice(("words", "encoder", "undecided")),
        equals("undecided"),
        (
            Mistake(equals("words"), "look at the mean difference and its interval."),
            Mistake(equals("encoder"), "take the differences film by film, and their interval."),
        ),
        "mean difference over films, against its own spread.",
    )
    explanation = (
        "On so many films, counted words are not surely behind a model tuned for likeness."
    )
    parts = {"words": words, "encoder": encoder, "ahead": ahead}
    return Checker("ex-cho-find", "extension", parts, explanation)


CHECKERS = {
    "ex-cho-orders": orders,
    "ex-cho-passes": passes,
    "ex-cho-short": short,
    "ex-cho-bert-decoder": bert_decoder,
    "ex-cho-find": find,
}
