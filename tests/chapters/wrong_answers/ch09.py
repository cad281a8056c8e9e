# SPDX-License-Identifier: MIT
"""Answers to the exercises of chapter 9."""

import math

from wrong_answers import Planted, but


def five_best(scores):
    """Take the best place five times."""
    left = dict(enumerate(scores))
    found = []
    for _ in range(5):
        found.append(max(left, key=left.get))
        del left[found[-1]]
    return found


def positive(s_negative, s_positive):
    """Divide one exponential by the sum of both."""
    return math.exp(s_positive) / (math.exp(s_negative) + math.exp(s_positive))


def operations(n_weights, n_embedding, n_tokens):
    """Multiply and add, for each token and weight of the body."""
    body = n_weights - n_embedding
    return n_tokens * body + n_tokens * body


def weights(n_layers, width):
    """Add up the parts of a layer, as they stand in the network."""
    attention = 4 * (width + 1) * width
    feed_forward = (width + 1) * 4 * width + (4 * width + 1) * width
    norms = 2 * 2 * width
    return n_layers * (attention + feed_forward + norms)


def probe(states, labels, new_states):
    """Let the nearest of the known states decide."""
    found = []
    for new in new_states:
        far = [sum((a - b) ** 2 for a, b in zip(new, old, strict=True)) for old in states]
        found.append(labels[far.index(min(far))])
    return found


def align(word_ids, tags):
    """Give out each tag once."""
    left = dict(enumerate(tags))
    return [left.pop(word, -100) for word in word_ids]


BLANKS = {"best": five_best, "shows": ["grammar", "knowledge", "neither"]}
IMDB = {"start": [0.70, 0.66], "passes": 3, "texts": 2020, "rival": "larger class"}
GENERATE = {"positive": positive, "operations": operations, "labels": 0, "depends": "wording"}
LARGE = {"weights": weights, "ratio": 3.554, "errors": 14 / 65, "decided": "no"}
TAGS = {"align": align, "f1": 2 / 3}
GAP = {
    "probe": probe,
    "gap": 74.867 - 70.7,
    "zero": "already readable",
    "twenty": "cannot tell",
    "moved by": ["probe", "labels", "earlier tuning"],
}

PLANTED = {
    "ex-ftn-blanks": Planted(
        BLANKS,
        (
            (but(BLANKS, best=lambda s: sorted(s)[::-1][:5]), "return their places"),
            (but(BLANKS, best=lambda s: sorted(range(len(s)), key=s.__getitem__)[:5]), "worst"),
            (but(BLANKS, best=lambda s: five_best(s)[::-1]), "best first"),
            (but(BLANKS, best=lambda s: [i + 1 for i in five_best(s)]), "from 0"),
            (but(BLANKS, best=lambda s: [0, 1, 2, 3, 4]), "keep five"),
            (but(BLANKS, best=lambda s: five_best(s)[:3]), "expected a list of 5 numbers"),
            (but(BLANKS, shows=["yes", "yes", "no"]), "names given"),
            (but(BLANKS, shows=["knowledge", "knowledge", "neither"]), "is it true"),
            (but(BLANKS, shows=["grammar", "knowledge", "grammar"]), "article"),
            (but(BLANKS, shows=["grammar", "grammar", "neither"]), "or more"),
        ),
    ),
    "ex-ftn-imdb": Planted(
        IMDB,
        (
            (but(IMDB, start=[0.70, 5.2]), "outputs"),
            (but(IMDB, start=[-0.70, -0.66]), "not negative"),
            (but(IMDB, start=[0.21, 0.30]), "before any step"),
            (but(IMDB, passes=12), "batches of one pass"),
            (but(IMDB, passes=576), "texts read"),
            (but(IMDB, passes=1 / 3), "turned around"),
            (but(IMDB, passes=36), "texts that there are"),
            (but(IMDB, texts=504), "from end to end"),
            (but(IMDB, texts=525), "standard errors"),
            (but(IMDB, texts=2401), "share of"),
            (but(IMDB, texts=480), "root of the number"),
            (but(IMDB, texts=120), "half the width"),
            (but(IMDB, rival="ln 2"), "of losses"),
            (but(IMDB, rival="one half"), "equally frequent"),
        ),
        (but(IMDB, start=(math.log(2), 0.9), texts=2017),),
    ),
    "ex-ftn-generate": Planted(
        GENERATE,
        (
            (but(GENERATE, positive=lambda n, p: 1 - positive(n, p)), "share of negative"),
            (but(GENERATE, positive=lambda n, p: math.exp(p) / math.exp(n)), "ratio"),
            (but(GENERATE, positive=lambda n, p: p - n), "use exp"),
            (but(GENERATE, positive=lambda n, p: int(p > n)), "decision"),
            (but(GENERATE, positive=lambda n, p: 0.5), "a softmax over two"),
            (but(GENERATE, operations=lambda n, e, t: 3 * operations(n, e, t)), "training"),
            (but(GENERATE, operations=lambda n, e, t: 2 * n * t), "looked up"),
            (but(GENERATE, operations=lambda n, e, t: 2 * (n - e)), "one token"),
            (but(GENERATE, operations=lambda n, e, t: t * (n - e)), "and added"),
            (but(GENERATE, operations=lambda n, e, t: t**2), "embeddings aside"),
            (but(GENERATE, labels=192), "tuned head"),
            (but(GENERATE, labels=24), "judge it"),
            (but(GENERATE, labels=7), "learn from"),
            (but(GENERATE, depends="learning rate"), "nothing is trained"),
        ),
    ),
    "ex-ftn-large": Planted(
        LARGE,
        (
            (but(LARGE, weights=lambda n, w: n * 12 * w * w), "biases and norms"),
            (but(LARGE, weights=lambda n, w: weights(n, w) - 4 * n * w), "scale and a shift"),
            (but(LARGE, weights=lambda n, w: weights(n, w) - 9 * n * w), "have biases"),
            (but(LARGE, weights=lambda n, w: weights(1, w)), "one layer"),
            (but(LARGE, weights=lambda n, w: 4 * n * w * w), "feed-forward part"),
            (but(LARGE, ratio=2), "wider"),
            (but(LARGE, ratio=1.778), "more layers"),
            (but(LARGE, ratio=3.05), "embeddings out"),
            (but(LARGE, ratio=0.2814), "turned around"),
            (but(LARGE, ratio=12), "two counts"),
            (but(LARGE, errors=0.014), "not of the errors"),
            (but(LARGE, errors=0.014 / 0.935), "not right answers"),
            (but(LARGE, errors=14 / 51), "not Large's"),
            (but(LARGE, errors=21.54), "percentage"),
            (but(LARGE, errors=0.5), "errors that go"),
            (but(LARGE, decided="yes"), "hundred answers"),
        ),
        (but(LARGE, ratio=3.55, errors=0.215),),
    ),
    "ex-ftn-gap": Planted(
        GAP,
        (
            (but(GAP, probe=lambda x, y, z: [1 - c for c in probe(x, y, z)]), "turned round"),
            (but(GAP, probe=lambda x, y, z: [0] * len(z)), "one class for all"),
            (but(GAP, probe=lambda x, y, z: probe(x, y, x)), "not the old"),
            (but(GAP, probe=lambda x, y, z: [0.5] * len(z)), "fit a linear classifier"),
            (but(GAP, gap=-4.17), "subtract the probe"),
            (but(GAP, gap=0.0417), "multiply it by 100"),
            (but(GAP, gap=7.8), "end of the interval"),
            (but(GAP, gap=70.7), "head alone"),
            (but(GAP, zero="not there"), "fail as well"),
            (but(GAP, zero="cannot tell"), "what does it read"),
            (but(GAP, twenty="not there"), "no line separates"),
            (but(GAP, twenty="already readable"), "as well"),
            (but(GAP, moved_by=["probe", "labels", "order of the films"]), "an average"),
            (but(GAP, moved_by=["probe", "labels", "labels"]), "three different"),
            (but(GAP, moved_by=["probe", "labels", "weather"]), "names given"),
        ),
        (but(GAP, gap=4.2),),
    ),
    "ex-ftn-tags": Planted(
        TAGS,
        (
            (
                but(TAGS, align=lambda w, t: [-100 if i is None else t[i] for i in w]),
                "only a word's first",
            ),
            (but(TAGS, align=lambda w, t: [max(x, 0) for x in align(w, t)]), "0 is a tag"),
            (but(TAGS, align=lambda w, t: align(w[::-1], t)[::-1]), "last token"),
            (but(TAGS, align=lambda w, t: [*t, *[-100] * (len(w) - len(t))]), "belong to words"),
            (but(TAGS, align=lambda w, t: [-100] * len(w)), "a label for each token"),
            (but(TAGS, f1=0.6), "precision"),
            (but(TAGS, f1=0.75), "recall"),
            (but(TAGS, f1=8 / 9), "half a name"),
            (but(TAGS, f1=66.7), "percentage"),
            (but(TAGS, f1=0.5), "marked + names"),
        ),
        (but(TAGS, f1=0.667),),
    ),
}
