# SPDX-License-Identifier: MIT
"""Checkers of chapter 11: what shots cost, calibration, a planted answer, summaries on demand."""

import numpy as np

from pretrain_book.exercises.answer_types import Choice, Number, Numbers
from pretrain_book.exercises.grader import Checker, Part
from pretrain_book.exercises.predicates import Mistake, between, equals, near

N_QUESTIONS, QUESTION, N_SHOTS, SHOT = 1000, 40, 8, 36
N_LABELS, N_READINGS, TRAIN_COST = 256, 3, 3
"""A day's questions and their tokens, demonstrations and theirs; the labels, how often they are
read, and what a training step costs in forward passes."""
EMPTY, REVIEW = (0.5, 0.3, 0.2), (0.4, 0.4, 0.2)
"""Probabilities of three labels after a text without content, and after a review."""


def price() -> Checker:
    """Count the tokens of a day, and compare with tuning."""
    prompt = N_SHOTS * SHOT
    without, cached = N_QUESTIONS * (prompt + QUESTION), prompt + N_QUESTIONS * QUESTION
    one_reading = N_LABELS * SHOT
    extra = N_QUESTIONS * prompt
    days = one_reading * N_READINGS * TRAIN_COST / extra
    plain = Part(
        Number("tokens a day", whole=True),
        equals(without),
        (
            Mistake(equals(extra), "those are the demonstrations; each question has tokens too."),
            Mistake(equals(prompt + QUESTION), "that is one question; a day has a thousand."),
            Mistake(equals(cached), "uncached, the demonstrations are read for every question."),
        ),
        "every question is read behind all eight demonstrations.",
    )
    prefix = Part(
        Number("tokens a day", whole=True),
        equals(cached),
        (
            Mistake(
                equals(N_QUESTIONS * QUESTION), "the demonstrations still have to be read once."
            ),
            Mistake(equals(without), "that is without the cache."),
            Mistake(equals(prompt + QUESTION), "that is one question; a day has a thousand."),
        ),
        "the demonstrations once, each question once.",
    )
    until = Part(
        Number("days"),
        near(days, rel=0.02),
        (
            Mistake(
                near(days / 3, days / 9),
                "the labels are read three times, and each reading costs three forward passes.",
            ),
            Mistake(
                near(days * extra / without),
                "the questions are read either way; count what the demonstrations add.",
            ),
            Mistake(near(1 / days), "turned around: divide the tuning by what a day adds."),
            Mistake(near(days * extra, rel=1e-3), "that is the price of tuning, in tokens."),
        ),
        "price of tuning in tokens, divided by what the demonstrations add in a day.",
    )
    parts = {"without": plain, "with": prefix, "days": until}
    return Checker(
        "ex-icl-price", "warm-up", parts, "Many questions of one kind make tuning the cheaper way."
    )


def calibration() -> Checker:
    """Calibrate three probabilities by hand."""
    empty, review = np.array(EMPTY), np.array(REVIEW)
    ratios = review / empty
    raw = Part(
        Choice(("first", "second", "third", "tie")),
        equals("tie"),
        (
            Mistake(
                equals("first", "second"), "before calibration, compare the numbers of the review."
            ),
            Mistake(equals("third"), "the third label is the least likely one."),
        ),
        "which label has the highest probability after the review?",
    )
    scaled = Part(
        Numbers((3,), "probabilities"),
        near(ratios / ratios.sum()),
        (
            Mistake(near(ratios), "those are the ratios; rescale them to sum to 1."),
            Mistake(near(review), "nothing is divided yet."),
            Mistake(
                near(_scaled(review * empty)), "divide by what the empty input gives; you multiply."
            ),
            Mistake(near(_scaled(empty / review)), "turned around: the review stands on top."),
        ),
        "divide label by label, then rescale.",
    )
    harm = Part(
        Choice(("yes", "no")),
        equals("yes"),
        (Mistake(equals("no"), "N/A is a text like any other; look at zero-shot in the study."),),
        "does the empty input always show the bias of real questions?",
    )
    parts = {"raw": raw, "calibrated": scaled, "can harm": harm}
    explanation = "A constant for each label moves the threshold, and nothing else."
    return Checker("ex-icl-calibration", "derivation", parts, explanation)


def leak() -> Checker:
    """Plant the wrong answer in a prompt."""
    enough = Part(
        Choice(("copying", "sentiment", "form")),
        equals("copying"),
        (
            Mistake(equals("sentiment"), "the label's word stands in the question itself."),
            Mistake(equals("form"), "the form tells where to answer, not what."),
        ),
        "what is the least that a model must do to answer this prompt?",
    )
    drop = Part(
        Number("answers of 20", whole=True),
        between(4, 20),
        (
            Mistake(between(-20, -1), "give the fall as a positive number."),
            Mistake(between(0, 3), "plant the opposite label, zero-shot, into all twenty."),
            Mistake(between(21, 100), "only 20 are asked; that looks like a percentage."),
        ),
        "right answers without the planted words, minus right answers with them.",
    )
    explanation = "A planted word pulls the answer, so a right one proves nothing."
    return Checker("ex-icl-leak", "experiment", {"enough": enough, "fall": drop}, explanation)


def summaries() -> Checker:
    """Judge what a decoder writes after TL;DR:."""
    percent = Mistake(between(1.01, 100), "that is a percentage; F1 lies between 0 and 1.")
    model = Part(
        Number("ROUGE-1 F1"),
        between(0, 0.5),
        (percent, Mistake(between(0.5, 1), "compare with the title, not with the plot.")),
        "the mean over six films of F1 against the title.",
    )
    lead = Part(
        Number("ROUGE-1 F1"),
        between(0, 0.5),
        (
            percent,
            Mistake(between(0.5, 1), "the first words come from the plot; judge by the title."),
        ),
        "the mean over six films of F1 of the first twelve words.",
    )
    decided = Part(
        Choice(("yes", "no")),
        equals("no"),
        (Mistake(equals("yes"), "how far would one more film move a mean of six?"),),
        "six films, two means: which difference would you trust?",
    )
    parts = {"model": model, "first words": lead, "decided": decided}
    explanation = "A title is a hard reference: a good summary may share no word with it."
    return Checker("ex-icl-tldr", "extension", parts, explanation)


def _scaled(values: np.ndarray) -> np.ndarray:
    """Rescale to sum to 1."""
    return np.asarray(values / values.sum())


CHECKERS = {
    "ex-icl-price": price,
    "ex-icl-calibration": calibration,
    "ex-icl-leak": leak,
    "ex-icl-tldr": summaries,
}
