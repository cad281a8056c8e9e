# SPDX-License-Identifier: MIT
"""Checkers of chapter 6: shift and spans in code, broken models, buckets, lengths, prefixes."""

import math
from collections.abc import Callable

from pretrain_book.exercises.answer_types import Choice, Function, Number, Numbers
from pretrain_book.exercises.grader import Checker, Part, single_answer
from pretrain_book.exercises.predicates import (
    Mistake,
    acts_like,
    at,
    between,
    both,
    either,
    equals,
    near,
    percent_for_share,
)

DISTANCES = (15, 16, 20, 64, 128, 500)
N_BUCKETS, FAR, N_HEADS = 32, 128, 8
"""T5-Small: buckets of each stack, the distance from which all share one, heads."""
FITS = ((512, 0.15, 3.0), (1024, 0.5, 3.0), (128, 0.15, 1.5), (512, 0.15, 10.0))
"""Encoder length in tokens, share that is cut out, mean length of a span."""
LABELS = (([103, 7, 8, 102], 0), ([103, 7, 102, -100, -100], 0), ([5], 1), ([9, 9, 4, -100], 2))
"""Label ids, padded or not, and the id that a decoder starts from."""
CUTS = (
    ([11, 12, 13, 14, 15, 16], [0, 1, 1, 0, 1, 0]),
    ([11, 12, 13, 14], [1, 0, 0, 1]),
    ([21, 22, 23], [0, 0, 0]),
    ([31, 32, 33, 34, 35], [0, 1, 1, 1, 1]),
)
"""Ids, and which of them are cut out."""
FIRST_SENTINEL = 99
Rounding = Callable[[float], int]


def shift() -> Checker:
    """Write what the decoder reads."""
    return single_answer(
        "ex-t5-shift",
        "warm-up",
        Function("shift(labels, start)", LABELS, Numbers((None,), "ids")),
        acts_like(_shifted, LABELS),
        Mistake(
            acts_like(lambda x, start: [start, *x[:-1]], LABELS),
            "a decoder cannot look up -100; it reads the start in its place.",
        ),
        Mistake(
            acts_like(lambda x, start: [start if i == -100 else i for i in x], LABELS),
            "that is not shifted, so each position reads its own answer.",
        ),
        Mistake(
            acts_like(lambda x, start: [*_shifted(x, start)[1:], start], LABELS),
            "that shifts to the left: each position reads the label after its own.",
        ),
        Mistake(
            lambda rows: all(
                len(row) == len(labels) + 1 for row, (labels, _) in zip(rows, LABELS, strict=True)
            ),
            "one id too many: the last label is read by nobody.",
        ),
        default_hint="the start, then all labels but the last, with the start for each -100.",
        explanation="Position t reads the labels before t, and predicts the label at t.",
    )


def cut() -> Checker:
    """Write span corruption on ids."""
    return single_answer(
        "ex-t5-cut",
        "extension",
        Function("corrupt(ids, noise)", CUTS, Numbers((None,), "ids")),
        acts_like(_corrupted, CUTS),
        Mistake(
            acts_like(lambda ids, noise: _corrupted(ids, noise, final=False), CUTS),
            "one more sentinel ends the target.",
        ),
        Mistake(
            acts_like(lambda ids, noise: _corrupted(ids, noise, each=True), CUTS),
            "a span gets one sentinel, however long it is; yours has one for each token.",
        ),
        Mistake(
            acts_like(lambda ids, noise: _corrupted(ids, noise, step=0), CUTS),
            "the sentinels must differ, or the target cannot name the hole.",
        ),
        Mistake(
            acts_like(lambda ids, noise: _corrupted(ids, noise, step=1), CUTS),
            "the sentinels count down: 99, 98, 97.",
        ),
        Mistake(
            acts_like(lambda ids, noise: _corrupted(ids, [1 - x for x in noise]), CUTS),
            "1 means cut out; you kept those tokens.",
        ),
        default_hint="where noise turns from 0 to 1 a span starts, and both lists get its name.",
        explanation="Input and target together give the text back.",
    )


def unasked() -> Checker:
    """Train without a loss on the sentinels, and see that none is written."""
    loss = Part(
        Number("nats"),
        between(0.0, 0.1),
        (
            Mistake(between(0.5, 1e9), "that is an early loss; take the last 50 steps."),
            Mistake(between(-1e9, -1e-9), "a mean surprise is not negative."),
        ),
        "train 400 steps, and give the mean of the last 50 losses.",
    )
    count = Part(
        Number("sentinels", whole=True),
        equals(0),
        (
            Mistake(
                equals(300), "that many are in the targets. Count those that this model writes."
            ),
            Mistake(between(1, 299), "are their labels -100, all three of them?"),
        ),
        "let the model write for each unseen input, and count <X>, <Y> and <Z>.",
    )
    explanation = "What a model has to write must be in its loss."
    return Checker("ex-t5-unasked", "experiment", {"loss": loss, "sentinels": count}, explanation)


def positions() -> Checker:
    """Train without positions: the right numbers in the wrong places."""
    right = Part(
        Number("share"),
        between(0.0, 0.4),
        (
            Mistake(between(1.5, 100), "give a share from 0 to 1, not per cent."),
            Mistake(between(0.75, 1.0), "did this model have positions? Use without_positions."),
        ),
        "let it write for the unseen inputs, and compare with the targets as lists.",
    )
    tokens = Part(
        Number("share"),
        between(0.9, 1.0),
        (
            Mistake(between(1.5, 100), "give a share from 0 to 1, not per cent."),
            Mistake(between(0.0, 0.4), "compare after sorting: the order does not count here."),
        ),
        "compare sorted lists, sentinels included.",
    )
    explanation = "A bag of tokens tells what is missing, but not where."
    parts = {"exact": right, "tokens": tokens}
    return Checker("ex-t5-positions", "experiment", parts, explanation)


def buckets() -> Checker:
    """Put distances into buckets by hand."""
    right = [_bucket(n) for n in DISTANCES]
    shared = [n for n in range(FAR) if _bucket(n) == _bucket(100)]
    each = Part(
        Numbers((6,), "buckets"),
        near(right, rel=0),
        (
            Mistake(
                near([_bucket(n, cap=99) for n in DISTANCES], rel=0),
                "there is no bucket beyond the last one; larger results are held there.",
            ),
            Mistake(at(4, near(32, rel=0)), "32 buckets are numbered from 0."),
            Mistake(near([_bucket(n, math.ceil) for n in DISTANCES], rel=0), "round down, not up."),
            Mistake(
                near([min(n, 31) for n in DISTANCES], rel=0),
                "from 16 on a bucket holds several distances; use the logarithm.",
            ),
            Mistake(at(1, near(0, rel=0)), "the logarithm of 1 is 0, and 16 is still added to it."),
        ),
        "below 16 the distance itself; from there on the formula, rounded down.",
    )
    ends = Part(
        Numbers((2,), "first and last distance"),
        near([shared[0], shared[-1]], rel=0),
        (
            Mistake(at(0, near(100, rel=0)), "a smaller distance shares it too."),
            Mistake(at(1, near(shared[-1] + 1, rel=0)), "your last distance is one too far."),
            Mistake(
                at(1, near(FAR - 1, FAR, rel=0)), "the last bucket begins before the limit of 128."
            ),
        ),
        "go down and up from 100 until the bucket changes.",
    )
    encoder = Part(
        Numbers((2,), "distance, number of parameters"),
        near([N_BUCKETS // 4 - 1, 2 * N_BUCKETS * N_HEADS], rel=0),
        (
            Mistake(
                at(0, near(N_BUCKETS // 2 - 1, rel=0)),
                "so far the decoder is exact. The encoder has half the buckets on each side.",
            ),
            Mistake(at(0, near(N_BUCKETS // 4, rel=0)), "distance 0 takes one bucket as well."),
            Mistake(at(1, near(N_BUCKETS * N_HEADS, rel=0)), "that is one of the two stacks."),
            Mistake(at(1, near(2 * N_BUCKETS, rel=0)), "each head has its own numbers."),
            Mistake(
                at(1, near(2 * N_BUCKETS * N_HEADS * 6, rel=0)),
                "all layers of a stack share the numbers of its first one.",
            ),
        ),
        "half of one side's buckets are exact; each stack has buckets × heads numbers.",
    )
    explanation = "So far away, one number has to do for all distances."
    return Checker("ex-t5-buckets", "warm-up", {"a": each, "b": ends, "c": encoder}, explanation)


def fit() -> Checker:
    """Derive how many tokens of text fill an encoder."""
    return single_answer(
        "ex-t5-fit",
        "derivation",
        Function("longest_text(length, share, mean_span)", FITS, Number("tokens of text")),
        either(
            acts_like(lambda n, r, m: (n - 1) / (1 - r + r / m), FITS),
            acts_like(lambda n, r, m: int((n - 1) / (1 - r + r / m)), FITS),
        ),
        Mistake(
            acts_like(lambda n, r, m: n / (1 - r + r / m), FITS), "the end token takes a place too."
        ),
        Mistake(
            acts_like(lambda n, r, m: (n - 1) / (1 - r), FITS),
            "every span leaves a sentinel behind.",
        ),
        Mistake(
            acts_like(lambda n, r, m: n - 1.0, FITS),
            "one sentinel for each missing token saves nothing; a span has one for all.",
        ),
        Mistake(
            acts_like(lambda n, r, m: (n - 1) * (1 - r + r / m), FITS),
            "the text is longer than the input; you went from text to input.",
        ),
        Mistake(
            acts_like(lambda n, r, m: (n - 1) / (r + r / m), FITS),
            "that fills the decoder; cut tokens are not in the input.",
        ),
        default_hint="for T tokens the input holds kept ones, sentinels, the end. Solve for T.",
        explanation="With the published setting, 568 tokens of text fill 512 places.",
    )


def prefix() -> Checker:
    """Compare a prefix language model with span corruption."""
    of_prefix = Part(
        Number("labels a window, on average"),
        near(sum(range(1, 33)) / 32, rel=1e-3),
        (
            Mistake(near(16, rel=1e-3), "the mean of 1, 2 … 32 lies between two whole numbers."),
            Mistake(near(32, 33, rel=1e-3), "that is the longest continuation, not the mean."),
        ),
        "the decoder writes 1 to 32 tokens, each number equally often.",
    )
    of_spans = Part(
        Number("labels a window", whole=True),
        equals(5 + 2 + 1 + 1),
        (
            Mistake(equals(5), "those are the tokens of text alone."),
            Mistake(equals(7), "a sentinel that closes and the end are labels too."),
            Mistake(equals(8), "one label is missing: after the last sentinel comes the end."),
        ),
        "15 % of 32 tokens in two spans, their sentinels, the closing one and the end.",
    )
    winner = Part(
        Choice(("prefix", "spans")),
        equals("prefix"),
        (
            Mistake(
                equals("spans"),
                "on this question it is the other; it was trained on more ends of text.",
            ),
        ),
        "give both models the same 29 tokens and the same last three.",
    )
    return Checker(
        "ex-t5-prefix",
        "experiment",
        {"prefix": of_prefix, "spans": of_spans, "winner": winner},
        "At equal steps it made three times as many predictions of text, at a higher price.",
    )


def summary() -> Checker:
    """Compute ROUGE-1 by hand, and find the best way to title an unseen film."""
    precision, recall = 2 / 4, 2 / 3
    f1 = 2 * precision * recall / (precision + recall)
    alike = "night and knight sound alike, and are two words."
    written = Part(
        Number("share"),
        near(precision),
        (
            Mistake(near(recall), "that is recall: precision divides by the words written."),
            Mistake(near(3 / 4), alike),
            percent_for_share(precision),
        ),
        "shared words, divided by the words that the model wrote.",
    )
    wanted = Part(
        Number("share"),
        near(recall),
        (
            Mistake(near(precision), "that is precision: recall divides by the words wanted."),
            Mistake(near(1.0), alike),
            percent_for_share(recall),
        ),
        "shared words, divided by the words of the title.",
    )
    harmonic = Part(
        Number("share"),
        near(f1),
        (
            Mistake(near((precision + recall) / 2), "that is the arithmetic mean of the two."),
            Mistake(near(math.sqrt(precision * recall)), "that is the geometric mean of the two."),
            percent_for_share(f1),
        ),
        "the harmonic mean: twice the product over the sum.",
    )
    winner = Part(
        Choice(("model", "first words", "the")),
        equals("the"),
        (
            Mistake(equals("model"), "did you judge it on films that it has not seen?"),
            Mistake(equals("first words"), "close; an even simpler rival is ahead on these films."),
        ),
        "judge all three on the test films.",
    )
    parts = {"precision": written, "recall": wanted, "f1": harmonic, "winner": winner}
    explanation = "A score that one word reaches for every film says little about summaries."
    return Checker("ex-t5-summary", "extension", parts, explanation)


def order() -> Checker:
    """Ask whether a trained T5 reads sentinels by name or by place."""
    matters = Part(
        Choice(("yes", "no")),
        equals("no"),
        (Mistake(equals("yes"), "before training, what tells one random vector from another?"),),
        "think of a model that is trained and used with one convention.",
    )
    worse = Part(
        Number("nats"),
        between(2, 15),
        (
            Mistake(between(-15, -1), "the loss rises; give the rise as a positive number."),
            Mistake(between(-1, 0.5), "exchange them in input and target, after training."),
        ),
        "subtract the usual loss from the loss with both sentinels exchanged.",
    )
    start = Part(
        Number("probability"),
        between(0.9, 1),
        (
            Mistake(both(between(1, 100), lambda x: x > 50), "a probability lies between 0 and 1."),
            Mistake(between(0, 0.1), "what did every target in training begin with?"),
            Mistake(near(0.5, rel=0.1), "names do not decide here by halves; ask the model."),
        ),
        "read off the first position of the target, with the names exchanged.",
    )
    filled = Part(
        Choice(("name", "place")),
        equals("name"),
        (Mistake(equals("place"), "by place the loss is more than a nat higher in the record."),),
        "compare the losses by name and by place.",
    )
    parts = {"a": matters, "b": worse, "c": start, "d": filled}
    explanation = "Sentinels are read as names; the order of writing is a habit."
    return Checker("ex-t5-order", "experiment", parts, explanation)


def _shifted(labels: list[int], start: int) -> list[int]:
    """Put the start in front, drop the last label, and read the start for what is padding."""
    return [start if i == -100 else i for i in [start, *labels[:-1]]]


def _corrupted(
    ids: list[int], noise: list[int], *, final: bool = True, each: bool = False, step: int = -1
) -> list[int]:
    """Write input and target of a text; the options make the common mistakes."""
    inputs: list[int] = []
    target: list[int] = []
    sentinel, before = FIRST_SENTINEL, 0
    for token, is_cut in zip(ids, noise, strict=True):
        if is_cut and (each or not before):
            inputs.append(sentinel)
            target.append(sentinel)
            sentinel += step
        (target if is_cut else inputs).append(token)
        before = is_cut
    return inputs + target + [sentinel] * final


def _bucket(n: int, rounding: Rounding = math.floor, cap: int = N_BUCKETS - 1) -> int:
    """Put a distance into the decoder's buckets."""
    half = N_BUCKETS // 2
    if n < half:
        return n
    return min(half + rounding(half * math.log(n / half) / math.log(FAR / half)), cap)


CHECKERS = {
    "ex-t5-shift": shift,
    "ex-t5-cut": cut,
    "ex-t5-unasked": unasked,
    "ex-t5-positions": positions,
    "ex-t5-buckets": buckets,
    "ex-t5-fit": fit,
    "ex-t5-prefix": prefix,
    "ex-t5-summary": summary,
    "ex-t5-order": order,
}
