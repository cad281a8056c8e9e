# SPDX-License-Identifier: MIT
"""Checkers of chapter 14: memory, carbon, coarser rounding, a grouping that means nothing."""

from pretrain_book.exercises.answer_types import Choice, Number
from pretrain_book.exercises.grader import Checker, Part
from pretrain_book.exercises.predicates import Mistake, between, equals, near

WEIGHTS, ADDED, BLOCKS, WIDTH, TOKENS = 110e6, 0.3e6, 12, 768, 32 * 128
"""Of the model of the first exercise: weights, LoRA's new ones, shape, tokens of a batch."""
GIGABYTE = 1e9
CHIPS, WATTS, DAYS, PUE, WORLD, FRANCE = 1000, 400, 10, 1.2, 481, 56
OLD_WATTS, OLD_DAYS = 250, 25
"""Of the second exercise; intensities in grams of CO2 per kWh."""
INT8_ERROR, ONE_SCALE = 0.00678, 2.03
"""Measured on the book's BERT: relative error by rows, and the factor of one scale for all."""
GAP, SHARE = 0.0201, 0.851
"""Of the alphabetical grouping, on the same model."""


def memory() -> Checker:
    """Add up what training a BERT keeps."""
    full = Part(
        Number("GB"),
        near(16 * WEIGHTS / GIGABYTE),
        (
            Mistake(near(4 * WEIGHTS / GIGABYTE), "those are the weights alone."),
            Mistake(near(8 * WEIGHTS / GIGABYTE), "Adam remembers two means for each weight."),
            Mistake(near(12 * WEIGHTS / GIGABYTE), "one of four numbers a weight is missing."),
            Mistake(near(16 * WEIGHTS), "those are bytes; a gigabyte is a billion of them."),
        ),
        "weights, gradients and two means, four bytes each.",
    )
    lora = Part(
        Number("GB"),
        near((4 * (WEIGHTS + ADDED) + 12 * ADDED) / GIGABYTE, rel=3e-3),
        (
            Mistake(near(16 * ADDED / GIGABYTE), "the frozen weights must still be held."),
            Mistake(
                near(16 * (WEIGHTS + ADDED) / GIGABYTE),
                "what is frozen has neither gradient nor means.",
            ),
        ),
        "all weights once; gradients and means for the new ones only.",
    )
    per_token = 4 * 16 * WIDTH * BLOCKS
    activations = Part(
        Number("GB"),
        near(per_token * TOKENS / GIGABYTE),
        (
            Mistake(near(per_token * 32 / GIGABYTE), "a text has many tokens; count them all."),
            Mistake(near(per_token * 128 / GIGABYTE), "that is one text of the batch."),
            Mistake(near(per_token * TOKENS / 4 / GIGABYTE), "each number has four bytes."),
            Mistake(near(per_token * TOKENS / BLOCKS / GIGABYTE), "that is one block."),
        ),
        "bytes of a number, 16 numbers of the width, blocks, tokens of the batch.",
    )
    parts = {"full": full, "lora": lora, "activations": activations}
    explanation = (
        "With many tokens the activations rule, and freezing weights does not shrink them."
    )
    return Checker("ex-eff-memory", "warm-up", parts, explanation)


def carbon() -> Checker:
    """Turn chips and days into energy and carbon, on two grids."""
    energy = CHIPS * WATTS * DAYS * 24 * PUE / 1e6
    tonnes = energy * WORLD / 1e3
    older = CHIPS * OLD_WATTS * OLD_DAYS * 24 * PUE / 1e6 * FRANCE / 1e3
    first = Part(
        Number("MWh"),
        near(energy),
        (
            Mistake(near(energy / PUE), "the data centre draws more than the chips; see PUE."),
            Mistake(near(energy / 24), "a day has 24 hours."),
            Mistake(near(energy * 1000), "those are kilowatt-hours."),
            Mistake(near(energy / PUE**2), "PUE multiplies; it does not divide."),
        ),
        "chips, watts, hours and PUE, divided by a million.",
    )
    second = Part(
        Number("t"),
        near(tonnes),
        (
            Mistake(
                near(tonnes * 1000, tonnes / 1000), "watch the units: g per kWh is kg per MWh."
            ),
            Mistake(near(energy * FRANCE / 1e3), "that is the other grid."),
        ),
        "energy times what the grid emits for a unit of it.",
    )
    third = Part(
        Number("t"),
        near(older),
        (
            Mistake(near(energy * FRANCE / 1e3), "the older machines take more days, fewer watts."),
            Mistake(near(older * WORLD / FRANCE), "that is the world's grid."),
            Mistake(near(older / PUE), "this data centre has the same PUE."),
        ),
        "first the energy of the older machines, then the grid.",
    )
    parts = {"energy": first, "carbon": second, "older": third}
    explanation = "More energy can mean less carbon: both numbers belong in a report."
    return Checker("ex-eff-carbon", "derivation", parts, explanation)


def four() -> Checker:
    """Round a matrix more coarsely, and with one scale."""
    int8 = Part(
        Number("relative error"),
        near(INT8_ERROR, rel=0.03),
        (
            Mistake(near(INT8_ERROR**2, rel=0.06), "take the root of the ratio of the means."),
            Mistake(near(100 * INT8_ERROR, rel=0.03), "that is in per cent."),
            Mistake(near(INT8_ERROR * ONE_SCALE, rel=0.03), "each row has its own scale in (a)."),
        ),
        "root of the mean squared difference, over root of the mean squared weight.",
    )
    bits = Part(
        Number("times"),
        near(127 / 7, rel=0.03),
        (
            Mistake(near(2, rel=0.03), "half the bits do not mean twice the error."),
            Mistake(near((127 / 7) ** 2, rel=0.06), "that compares squares; take the roots."),
            Mistake(near(7 / 127, rel=0.05), "turned around: the larger over the smaller."),
            Mistake(near(127 / 15, rel=0.05), "from −7 to 7 the largest weight becomes 7."),
            Mistake(near(INT8_ERROR * 127 / 7, rel=0.03), "divide by the error of int8."),
        ),
        "the scale is the row's largest weight over 7.",
    )
    one = Part(
        Number("times"),
        near(ONE_SCALE, rel=0.03),
        (
            Mistake(near(1, rel=0.01), "one scale for all: the largest weight of the matrix."),
            Mistake(near(1 / ONE_SCALE, rel=0.03), "turned around: (c) over (a)."),
            Mistake(near(INT8_ERROR * ONE_SCALE, rel=0.03), "divide by the error of (a)."),
        ),
        "the scale is the matrix's largest weight over 127.",
    )
    parts = {"int8": int8, "four bits": bits, "one scale": one}
    explanation = "The error follows the step, and the largest weight in reach sets the step."
    return Checker("ex-eff-four", "experiment", parts, explanation)


def probe() -> Checker:
    """Ask the probe about a grouping without a meaning."""
    gap = Part(
        Number("nats"),
        near(GAP, rel=0.05),
        (
            Mistake(near(-GAP, rel=0.05), "first twelve minus last twelve."),
            Mistake(near(0.206, rel=0.03), "that is care against command."),
            Mistake(near(GAP / 0.6931, rel=0.05), "that is in bits."),
        ),
        "sort both lists together, and cut after twelve words.",
    )
    share = Part(
        Number("share"),
        near(SHARE, rel=0.03),
        (
            Mistake(near(1 - SHARE, rel=0.03), "count the regroupings that are at least as large."),
            Mistake(near(SHARE / 2, rel=0.04), "count both directions."),
            Mistake(between(1.01, 100), "a share lies between 0 and 1."),
            Mistake(near(0.0362, rel=0.05), "that is care against command."),
        ),
        "the chance that compare_groups gives, with seed 0.",
    )
    verdict = Part(
        Choice(("lean", "none")),
        equals("none"),
        (Mistake(equals("lean"), "how many random groupings do as well?"),),
        "look at the interval and at the share.",
    )
    parts = {"gap": gap, "share": share, "verdict": verdict}
    explanation = (
        "A probe that stays silent where nothing is may be believed a little more elsewhere."
    )
    return Checker("ex-eff-probe", "extension", parts, explanation)


CHECKERS = {
    "ex-eff-memory": memory,
    "ex-eff-carbon": carbon,
    "ex-eff-four": four,
    "ex-eff-probe": probe,
}
