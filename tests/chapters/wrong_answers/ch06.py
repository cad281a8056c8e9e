# SPDX-License-Identifier: MIT
"""Answers to the exercises of chapter 6."""

from wrong_answers import Planted, but

BUCKETS = {"a": [15, 16, 17, 26, 31, 31], "b": [99, 112], "c": [7, 512]}
PREFIX = {"prefix": 16.5, "spans": 9, "winner": "prefix"}
SUMMARY = {"precision": 0.5, "recall": 2 / 3, "f1": 4 / 7, "winner": "the"}
UNASKED = {"loss": 0.01, "sentinels": 0}
POSITIONS = {"exact": 0.08, "tokens": 1.0}
ORDER = {"a": "no", "b": 4.0, "c": 0.97, "d": "name"}


def longest_text(length, share, mean_span):
    """Search for the text whose input is as long as the encoder."""
    low, high = 0.0, 100.0 * length
    for _ in range(200):
        text = (low + high) / 2
        kept, n_spans = text * (1 - share), text * share / mean_span
        low, high = (text, high) if kept + n_spans + 1 < length else (low, text)
    return low


def shift_right(labels, start):
    """Walk through the labels and hand each to the next position."""
    read, late = [], start
    for label in labels:
        read.append(late)
        late = start if label == -100 else label
    return read


def corrupt(ids, noise, first=99, step=-1, final=True, each=False):
    """Group the text in runs, and name each run that is cut out."""
    inputs, target, name, last = [], [], first, None
    for token, is_cut in zip(ids, noise, strict=True):
        if is_cut and (each or last != is_cut):
            inputs, target, name = [*inputs, name], [*target, name], name + step
        if is_cut:
            target = [*target, token]
        else:
            inputs = [*inputs, token]
        last = is_cut
    return inputs + target + ([name] if final else [])


PLANTED = {
    "ex-t5-shift": Planted(
        shift_right,
        (
            (lambda labels, start: [start, *labels[:-1]], "cannot look up"),
            (
                lambda labels, start: [start if i == -100 else i for i in labels],
                "its own answer",
            ),
            (lambda labels, start: [start for _ in labels], "all labels but the last"),
            (lambda labels, start: [*shift_right(labels, start)[1:], start], "to the left"),
            (lambda labels, start: [start, *labels], "one id too many"),
            (lambda labels: labels, "stopped with TypeError"),
            (3, "expected a function shift(labels, start), got 3"),
        ),
    ),
    "ex-t5-cut": Planted(
        corrupt,
        (
            (lambda ids, noise: corrupt(ids, noise, final=False), "ends the target"),
            (lambda ids, noise: corrupt(ids, noise, each=True), "one for each token"),
            (lambda ids, noise: corrupt(ids, noise, step=0), "must differ"),
            (lambda ids, noise: corrupt(ids, noise, step=1), "count down"),
            (lambda ids, noise: corrupt(ids, [1 - x for x in noise]), "1 means cut out"),
            (lambda ids, noise: [*ids, 99], "both lists get its name"),
            (lambda ids: ids, "stopped with TypeError"),
        ),
    ),
    "ex-t5-unasked": Planted(
        UNASKED,
        (
            (but(UNASKED, loss=2.0), "early loss"),
            (but(UNASKED, loss=-0.1), "not negative"),
            (but(UNASKED, loss=0.3), "train 400 steps"),
            (but(UNASKED, sentinels=300), "in the targets"),
            (but(UNASKED, sentinels=100), "all three"),
            (but(UNASKED, sentinels=400), "each unseen input"),
        ),
    ),
    "ex-t5-positions": Planted(
        POSITIONS,
        (
            (but(POSITIONS, exact=8), "not per cent"),
            (but(POSITIONS, exact=0.92), "have positions"),
            (but(POSITIONS, exact=0.5), "as lists"),
            (but(POSITIONS, tokens=100), "not per cent"),
            (but(POSITIONS, tokens=0.08), "after sorting"),
            (but(POSITIONS, tokens=0.6), "sentinels included"),
        ),
    ),
    "ex-t5-buckets": Planted(
        BUCKETS,
        (
            (but(BUCKETS, a=[15, 16, 17, 26, 32, 42]), "beyond the last one"),
            (but(BUCKETS, a=[15, 16, 17, 26, 32, 32]), "numbered from 0"),
            (but(BUCKETS, a=[15, 16, 18, 27, 31, 31]), "round down"),
            (but(BUCKETS, a=[15, 16, 20, 31, 31, 31]), "several distances"),
            (but(BUCKETS, a=[15, 0, 1, 10, 16, 26]), "still added"),
            (but(BUCKETS, a=[14, 15, 16, 25, 30, 30]), "below 16"),
            (but(BUCKETS, b=[100, 112]), "smaller distance"),
            (but(BUCKETS, b=[99, 113]), "one too far"),
            (but(BUCKETS, b=[99, 127]), "begins before"),
            (but(BUCKETS, b=[98, 112]), "down and up"),
            (but(BUCKETS, c=[15, 512]), "decoder is exact"),
            (but(BUCKETS, c=[8, 512]), "distance 0"),
            (but(BUCKETS, c=[7, 256]), "one of the two stacks"),
            (but(BUCKETS, c=[7, 64]), "its own numbers"),
            (but(BUCKETS, c=[7, 3_072]), "share the numbers"),
            (but(BUCKETS, c=[31, 500]), "half of one side"),
        ),
        (but(BUCKETS, b=(99.0, 112.0)),),
    ),
    "ex-t5-fit": Planted(
        longest_text,
        (
            (lambda n, r, m: longest_text(n + 1, r, m), "end token"),
            (lambda n, r, m: (n - 1) / (1 - r), "leaves a sentinel"),
            (lambda n, r, m: n - 1, "saves nothing"),
            (lambda n, r, m: (n - 1) * (1 - r + r / m), "from text to input"),
            (lambda n, r, m: (n - 1) / (r + r / m), "fills the decoder"),
            (lambda n, r, m: n * m, "Solve for T"),
            (lambda n, r: n, "stopped with TypeError"),
            (568, "expected a function longest_text(length, share, mean_span), got 568"),
        ),
    ),
    "ex-t5-prefix": Planted(
        PREFIX,
        (
            (but(PREFIX, prefix=16), "between two whole numbers"),
            (but(PREFIX, prefix=32), "longest"),
            (but(PREFIX, prefix=4), "equally often"),
            (but(PREFIX, spans=5), "text alone"),
            (but(PREFIX, spans=7), "closes"),
            (but(PREFIX, spans=8), "the end"),
            (but(PREFIX, spans=32), "in two spans"),
            (but(PREFIX, winner="spans"), "it is the other"),
        ),
    ),
    "ex-t5-summary": Planted(
        SUMMARY,
        (
            (but(SUMMARY, precision=0.667), "that is recall"),
            (but(SUMMARY, precision=0.75), "two words"),
            (but(SUMMARY, precision=50), "percentage"),
            (but(SUMMARY, precision=0.25), "the model wrote"),
            (but(SUMMARY, recall=0.5), "that is precision"),
            (but(SUMMARY, recall=1), "two words"),
            (but(SUMMARY, recall=66.7), "percentage"),
            (but(SUMMARY, recall=0.33), "words of the title"),
            (but(SUMMARY, f1=0.583), "arithmetic"),
            (but(SUMMARY, f1=0.577), "geometric"),
            (but(SUMMARY, f1=57.1), "percentage"),
            (but(SUMMARY, f1=0.33), "twice the product"),
            (but(SUMMARY, winner="model"), "not seen"),
            (but(SUMMARY, winner="first words"), "simpler rival"),
        ),
        (but(SUMMARY, recall=0.67, f1=0.57),),
    ),
    "ex-t5-order": Planted(
        ORDER,
        (
            (but(ORDER, a="yes"), "random vector"),
            (but(ORDER, b=-4.0), "positive number"),
            (but(ORDER, b=0.01), "after training"),
            (but(ORDER, b=1.2), "subtract the usual"),
            (but(ORDER, c=97), "between 0 and 1"),
            (but(ORDER, c=0.001), "every target"),
            (but(ORDER, c=0.5), "halves"),
            (but(ORDER, c=0.7), "read off"),
            (but(ORDER, d="place"), "a nat higher"),
        ),
    ),
}
