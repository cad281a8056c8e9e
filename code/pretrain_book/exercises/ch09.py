# SPDX-License-Identifier: MIT
"""Checkers of chapter 9: best words, a fair start, a continuation, two sizes, a probe, tags.

Its exercises run on whatever model answers to a name. They are asked for what holds for all.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pretrain_book.exercises.answer_types import Choice, Function, Number, Numbers, Words
from pretrain_book.exercises.grader import Checker, Part
from pretrain_book.exercises.predicates import (
    Mistake,
    acts_like,
    equals,
    near,
    off_by_factor,
    percent_for_share,
    share_for_percent,
    wrong_sign,
)

SCORES = (([0.3, -1.0, 2.5, 0.9, 1.7, -0.2],), ([-3.0, -9.0, -4.0, -8.0, -5.0, -7.0, -2.5],))
"""Scores of a few tokens at a blank."""
SHOWS, MOVES_IT = {"grammar", "knowledge", "neither"}, {"labels", "probe", "earlier tuning"}
N_TRAIN, BATCH, N_STEPS = 192, 16, 36
SHARE, HALF_WIDTH, Z = 0.7, 0.02, 1.96
"""A share of right answers, and half the width that its 95 % interval is to have."""
PAIRS = ((0.0, 0.0), (-5.0, -4.0), (2.0, -1.5), (-60.0, -58.0))
READINGS = ((110e6, 24e6, 60), (5e6, 1e6, 12), (124e6, 39e6, 1))
"""Scores of two words; weights, those of embeddings, and tokens of a text."""
SHAPES = ((12, 768), (5, 160), (1, 10))
BASE_SHAPE, LARGE_SHAPE, WITH_TABLES = (12, 768), (24, 1024), 335 / 110
"""Layers and widths; BERT-Large's weights by BERT-Base's, embeddings included, rounded."""
PUBLISHED, GAP, GAP_ENDS = (0.935, 0.949), 4.2, (0.7, 7.8)
"""Shares right on SST-2; points between probe and full tuning in the record, and the interval."""
STATES = (
    ([[0, 0], [0, 1], [5, 5], [5, 6]], [0, 0, 1, 1], [[0, 2], [6, 6], [4, 5], [1, 0]]),
    ([[4, 1, 0], [5, 0, 1], [-4, 1, 0], [-5, 0, 1]], [0, 0, 1, 1], [[6, 1, 1], [-3, 0, 0]]),
)
"""Frozen states, their classes, and new states; any linear classifier tells them apart."""
TOKENS = (
    ([None, 0, 1, 1, 2, None], [0, 1, 2]),
    ([None, 0, 0, 0, 1, 2, 2, None], [2, 0, 1]),
)
"""Word of each token; tag of each word."""
N_MARKED, N_NAMES, N_RIGHT = 5, 4, 3
READINGS_OF_A_GAP = ("already readable", "not there", "cannot tell")


def blanks() -> Checker:
    """Find the five best words, and judge three invented ones."""
    best = Part(
        Function("five_best(scores)", SCORES, Numbers((5,), "places in the vocabulary")),
        acts_like(lambda s: np.argsort(s)[::-1][:5], SCORES),
        (
            _as(SCORES, lambda s: np.sort(s)[::-1][:5], "scores they are; return their places."),
            _as(SCORES, lambda s: np.argsort(s)[:5], "those are the worst words."),
            _as(SCORES, lambda s: np.argsort(s)[-5:], "best first: turn the order round."),
            _as(SCORES, lambda s: np.argsort(s)[::-1][:5] + 1, "ids are counted from 0."),
        ),
        "sort the places by their scores, and keep five.",
    )
    shows = Part(
        Words(3, "judgements"),
        equals(("grammar", "knowledge", "neither")),
        (
            Mistake(lambda words: not set(words) <= SHOWS, "use the three names given."),
            Mistake(lambda words: words[0] != "grammar", "them: does it fit, and is it true?"),
            Mistake(lambda words: words[2] != "neither", "the: may an article close a sentence?"),
        ),
        "france: a word of the right kind, or more?",
    )
    explanation = "Grammar comes from any text; a fact must have been in the text that was read."
    return Checker("ex-ftn-blanks", "warm-up", {"best": best, "shows": shows}, explanation)


def imdb() -> Checker:
    """Check the start of two trainings, and size a test."""
    start = Part(
        Numbers((2,), "nats a text, pre-trained and random"),
        near([math.log(2)] * 2, rel=0, abs_=0.3),
        (
            Mistake(lambda x: bool(x.max() > 0.99), "far above a guess: count the head's outputs."),
            Mistake(lambda x: bool(x.min() < 0), "a loss is not negative; watch the sign."),
        ),
        "below a guess already: take the loss of the first batch, before any step.",
    )
    passes = N_STEPS * BATCH / N_TRAIN
    n_passes = Part(
        Number("passes"),
        near(passes),
        (
            Mistake(near(N_TRAIN / BATCH), "those are the batches of one pass."),
            Mistake(near(N_STEPS * BATCH), "those are texts read; how often was each one read?"),
            Mistake(near(1 / passes), "turned around."),
        ),
        "texts read in all, divided by the texts that there are.",
    )
    needed = SHARE * (1 - SHARE) * (Z / HALF_WIDTH) ** 2
    n_texts = Part(
        Number("texts"),
        near(needed, rel=0.03),
        (
            off_by_factor(needed, 1 / 4, "± 2 points means 4 from end to end.", 0.03),
            off_by_factor(needed, 1 / Z**2, "95 % take 1.96 standard errors, not one.", 0.03),
            Mistake(near(0.25 * (Z / HALF_WIDTH) ** 2, rel=0.03), "that is for a share of ½."),
            Mistake(near(120 * 8 / 2, rel=0.03), "the width falls with the root of the number."),
        ),
        "half the width is 1.96 · √(p(1 − p)/n).",
    )
    rival = Part(
        Choice(("ln 2", "larger class", "one half")),
        equals("larger class"),
        (
            Mistake(equals("ln 2"), "that is a rival of losses, not of accuracies."),
            Mistake(equals("one half"), "only if both labels are equally frequent."),
        ),
        "what gets an answer right without reading?",
    )
    parts = {"start": start, "passes": n_passes, "texts": n_texts, "rival": rival}
    explanation = "Both start as a guess does; so few texts separate large differences only."
    return Checker("ex-ftn-imdb", "experiment", parts, explanation)


def continuation() -> Checker:
    """Turn two scores into a share, and count a continuation's work."""

    def share(negative: float, positive: float) -> float:
        """Take a softmax over two words."""
        return 1 / (1 + math.exp(negative - positive))

    of_two = Part(
        Function("positive(s_negative, s_positive)", PAIRS, Number("share")),
        acts_like(share, PAIRS),
        (
            _as(PAIRS, lambda n, p: share(p, n), "that is the share of negative."),
            _as(PAIRS, lambda n, p: math.exp(p - n), "that is the ratio; take the share of both."),
            _as(PAIRS, lambda n, p: p - n, "that is a difference of scores; use exp."),
            _as(PAIRS, lambda n, p: float(p > n), "that is the decision, not the share."),
        ),
        "a softmax over two scores.",
    )
    work = Part(
        Function("operations(n_weights, n_embedding, n_tokens)", READINGS, Number()),
        acts_like(lambda n, e, t: 2 * (n - e) * t, READINGS),
        (
            _as(READINGS, lambda n, e, t: 6 * (n - e) * t, "that is training."),
            _as(READINGS, lambda n, e, t: 2 * n * t, "rows of the embedding are looked up only."),
            _as(READINGS, lambda n, e, t: 2 * (n - e), "that is for one token."),
            _as(READINGS, lambda n, e, t: (n - e) * t, "a weight is multiplied and added."),
        ),
        "two for each weight and token, embeddings aside.",
    )
    used = Part(
        Number("labels", whole=True),
        equals(0),
        (
            Mistake(equals(N_TRAIN), "those are what the tuned head learned from."),
            Mistake(equals(24, 120), "those judge it; how many does it learn from?"),
        ),
        "how many labelled texts does the continuation learn from?",
    )
    depends = Part(
        Choice(("wording", "learning rate", "number of steps")),
        equals("wording"),
        (Mistake(equals("learning rate", "number of steps"), "nothing is trained here."),),
        "what would another user choose differently?",
    )
    parts = {"positive": of_two, "operations": work, "labels": used, "depends": depends}
    explanation = "No label and no training, at the price of a larger reader and a chosen wording."
    return Checker("ex-ftn-generate", "extension", parts, explanation)


def sizes() -> Checker:
    """Derive the weights of an encoder's layers, and weigh a gain against its price."""

    def weights(n_layers: int, width: int) -> int:
        """Four square maps, two of four times the width, their biases, two norms."""
        return n_layers * (12 * width**2 + 13 * width)

    ratio = weights(*LARGE_SHAPE) / weights(*BASE_SHAPE)
    base, large = PUBLISHED
    count = Part(
        Function("weights(n_layers, width)", SHAPES, Number("weights", whole=True)),
        acts_like(weights, SHAPES),
        (
            _as(SHAPES, lambda n, w: 12 * n * w**2, "right matrices, but no biases and norms."),
            _as(SHAPES, lambda n, w: n * (12 * w**2 + 9 * w), "norms have a scale and a shift."),
            _as(SHAPES, lambda n, w: n * (12 * w**2 + 4 * w), "the linear maps have biases, too."),
            _as(SHAPES, lambda n, w: 12 * w**2 + 13 * w, "that is for one layer."),
        ),
        "queries, keys, values, output; two maps of the feed-forward part; biases; two norms.",
    )
    dearer = Part(
        Number("times"),
        near(ratio, rel=0.015),
        (
            Mistake(near(LARGE_SHAPE[0] / BASE_SHAPE[0]), "those are the layers; they are wider."),
            Mistake(near((LARGE_SHAPE[1] / BASE_SHAPE[1]) ** 2), "there are more layers as well."),
            Mistake(near(WITH_TABLES, rel=0.02), "leave the embeddings out."),
            Mistake(near(1 / ratio, rel=0.015), "turned around."),
        ),
        "divide your two counts of weights.",
    )
    removed = Part(
        Number("share of Base's errors"),
        near((large - base) / (1 - base), rel=0.01),
        (
            Mistake(near(large - base), "that is a share of the sentences, not of the errors."),
            Mistake(near(large / base - 1), "compare errors, not right answers."),
            Mistake(near((large - base) / (1 - large)), "a share of Base's errors, not Large's."),
            percent_for_share((large - base) / (1 - base), rel=0.01),
        ),
        "the errors that go, divided by Base's errors.",
    )
    decided = Part(
        Choice(("yes", "no")),
        equals("no"),
        (Mistake(equals("yes"), "how wide is the interval of a hundred answers?"),),
        "compare the interval of a hundred answers with the difference.",
    )
    parts = {"weights": count, "ratio": dearer, "errors": removed, "decided": decided}
    explanation = "Over three times the operations for about a fifth of the errors."
    return Checker("ex-ftn-large", "derivation", parts, explanation)


def gap() -> Checker:
    """Check a linear probe, and read the gap between one and full tuning."""

    def nearest(states: Any, labels: Any, new: Any) -> Any:
        """Give the class whose mean state is nearer, which is linear."""
        x, y, z = (np.asarray(value, dtype=float) for value in (states, labels, new))
        far = [((z - x[y == label].mean(axis=0)) ** 2).sum(axis=1) for label in (0, 1)]
        return (far[1] < far[0]).astype(float)

    probe = Part(
        Function("probe(states, labels, new_states)", STATES, Numbers((None,), "classes")),
        acts_like(nearest, STATES),
        (
            _as(STATES, lambda x, y, z: 1 - nearest(x, y, z), "the two classes are turned round."),
            _as(STATES, lambda x, y, z: np.zeros(len(z)), "one class for all: fit on the states."),
            _as(STATES, lambda x, y, z: nearest(x, y, x), "predict the new states, not the old."),
        ),
        "fit a linear classifier on states and labels, then predict the new states.",
    )
    measured = Part(
        Number("points"),
        near(GAP, rel=0, abs_=0.06),
        (
            wrong_sign(GAP, "full tuning is ahead: subtract the probe from it.", 0.015),
            share_for_percent(GAP, 0.015),
            Mistake(near(*GAP_ENDS, rel=0.02), "that is an end of the interval."),
        ),
        "the column minus everything, in the row of the head alone.",
    )
    none = Part(
        Choice(READINGS_OF_A_GAP),
        equals("already readable"),
        (Mistake(equals("not there"), "then full tuning would have to fail as well."),),
        "a linear layer does as well: what does it read?",
    )
    wide = Part(
        Choice(READINGS_OF_A_GAP),
        equals("cannot tell"),
        (Mistake(equals("already readable"), "then the probe would do as well."),),
        "it may be there, in a form that no line separates, or not at all.",
    )
    moves = Part(
        Words(3, "names"),
        lambda words: set(words) == MOVES_IT,
        (
            Mistake(lambda words: "order of the films" in words, "an average has no order."),
            Mistake(lambda words: len(set(words)) < 3, "name three different ones."),
        ),
        "use the names given.",
    )
    parts = {"probe": probe, "gap": measured, "zero": none, "twenty": wide, "moved by": moves}
    explanation = "The gap belongs to backbone, probe and labels together."
    return Checker("ex-ftn-gap", "extension", parts, explanation)


def tags() -> Checker:
    """Check the alignment of tags with tokens, and an F1 of names."""

    def first(word_ids: Any, tags: Any, rest: int = -100, last: bool = False) -> list[int]:
        """Give a word's tag to its first token, or to its last, and `rest` to the others."""
        beside = [*word_ids[1:], None] if last else [None, *word_ids[:-1]]
        pairs = zip(word_ids, beside, strict=True)
        return [rest if word is None or word == other else tags[word] for word, other in pairs]

    def every(word_ids: Any, tags: Any) -> list[int]:
        """Give a word's tag to all of its tokens."""
        return [-100 if word is None else tags[word] for word in word_ids]

    aligned = Part(
        Function("align(word_ids, tags)", TOKENS, Numbers((None,), "labels")),
        acts_like(first, TOKENS),
        (
            _as(TOKENS, every, "only a word's first token gets its tag."),
            _as(TOKENS, lambda w, t: first(w, t, 0), "0 is a tag; what the loss skips is −100."),
            _as(TOKENS, lambda w, t: first(w, t, last=True), "that is a word's last token."),
            _as(
                TOKENS,
                lambda w, t: [*t, *[-100] * (len(w) - len(t))],
                "labels belong to words; where does each word begin?",
            ),
        ),
        "a label for each token: compare its word with that of the token before.",
    )
    right = 2 * N_RIGHT / (N_MARKED + N_NAMES)
    score = Part(
        Number("F1"),
        near(right, rel=0.002),
        (
            Mistake(near(N_RIGHT / N_MARKED), "that is the precision."),
            Mistake(near(N_RIGHT / N_NAMES), "that is the recall."),
            Mistake(near(2 * 4 / 9, rel=0.005), "half a name counts as a wrong one."),
            percent_for_share(right, rel=0.01),
        ),
        "2 · right / (marked + names).",
    )
    explanation = "Labels belong to words, tokens carry them, and whole names are counted."
    return Checker("ex-ftn-tags", "experiment", {"align": aligned, "f1": score}, explanation)


def _as(cases: tuple[Any, ...], function: Callable[..., Any], hint: str) -> Mistake:
    """Recognise a function that does the same as this wrong one."""
    return Mistake(acts_like(function, cases), hint)


CHECKERS = {
    "ex-ftn-blanks": blanks,
    "ex-ftn-imdb": imdb,
    "ex-ftn-generate": continuation,
    "ex-ftn-large": sizes,
    "ex-ftn-gap": gap,
    "ex-ftn-tags": tags,
}
