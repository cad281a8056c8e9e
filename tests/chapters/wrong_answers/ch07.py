# SPDX-License-Identifier: MIT
"""Answers to the exercises of chapter 7."""

import numpy as np

from wrong_answers import Planted, but

INFORMATION = {"gpt": 2_147.0, "bert": 153.7, "b": "no"}
PERPLEXITY = {"accuracy": [1, 0.75], "perplexity": [2.5, 1.46], "b": "no"}
SPEED = {"bert": 6_667, "t5": 4_267, "nearer": "gpt"}
GENERATE = {"mask": ["cost", "no order"], "training": ["length", "unusual state"]}


def permissions(n_tokens, prefix_len):
    """Draw the mask and count."""
    mask = np.tri(n_tokens, dtype=bool)
    mask[:, :prefix_len] = True
    return mask.sum()


def prefix_mask(n_tokens, prefix_len):
    """Build the mask place by place."""
    return [[int(k <= q or k < prefix_len) for k in range(n_tokens)] for q in range(n_tokens)]


MASKS = {"causal": lambda n: prefix_mask(n, 0), "prefix lm": prefix_mask}
SUMS = {"blue rose": 0.12, "each other": 1.375, "itself": 4, "prefix": 2}
COPY = {"open": "falls to 0", "unshifted": "falls to 0", "writes": list("ggggg")}
TOWN = {"floors": [0.891, 0.814], "nearer": "gpt", "anew": 0}
PREFIX = {"permissions": permissions, "usable": [3, 4, 5], "inside": "rises"}

PLANTED = {
    "ex-wld-masks": Planted(
        MASKS,
        (
            (but(MASKS, causal=lambda n: np.tri(n).T), "comes after"),
            (but(MASKS, causal=lambda n: np.tri(n, k=-1)), "reads itself"),
            (but(MASKS, causal=lambda n: np.ones((n, n))), "open mask"),
            (but(MASKS, causal=lambda n: 1 - np.tri(n)), "upside down"),
            (but(MASKS, causal=np.eye), "not later"),
            (but(MASKS, prefix_lm=lambda n, p: np.tri(n)), "causal mask alone"),
            (but(MASKS, prefix_lm=lambda n, p: prefix_mask(n, p + 1)), "one token too long"),
            (
                but(
                    MASKS,
                    prefix_lm=lambda n, p: [
                        [1] * n if q < p else np.tri(n)[q].tolist() for q in range(n)
                    ],
                ),
                "open to all queries",
            ),
            (
                but(
                    MASKS, prefix_lm=lambda n, p: [[int(k < p) for k in range(n)] for _ in range(n)]
                ),
                "still reads",
            ),
            (but(MASKS, prefix_lm=lambda n, p: np.zeros((n, n))), "lies in the prefix"),
        ),
        (but(MASKS, causal=lambda n: np.tri(n, dtype=bool)),),
    ),
    "ex-wld-sums": Planted(
        SUMS,
        (
            (but(SUMS, blue_rose=0), "do not know of each other"),
            (but(SUMS, blue_rose=0.25), "in this language"),
            (but(SUMS, blue_rose=0.08), "all of it"),
            (but(SUMS, blue_rose=0.5), "multiply the probability"),
            (but(SUMS, each_other=1), "would be a likelihood"),
            (but(SUMS, each_other=1.36), "lesson's language"),
            (but(SUMS, each_other=2), "before you add"),
            (but(SUMS, each_other=0.7), "for each text"),
            (but(SUMS, itself=1), "every answer is copied"),
            (but(SUMS, itself=3), "as well as the others"),
            (but(SUMS, itself=2), "gets probability 1"),
            (but(SUMS, prefix=1), "two first words"),
            (but(SUMS, prefix=4), "not in view"),
            (but(SUMS, prefix=0.5), "sum to 1"),
        ),
    ),
    "ex-wld-copy": Planted(
        COPY,
        (
            (but(COPY, open="rises"), "*trained* model"),
            (but(COPY, open="stays as high"), "one place to the right"),
            (but(COPY, unshifted="rises"), "easiest of all"),
            (but(COPY, unshifted="stays as high"), "the token itself"),
            (but(COPY, writes=list("kings")), "not the whole text"),
            (but(COPY, writes=list("gofth")), "just read"),
            (but(COPY, writes=list("eeeee")), "what does a model write"),
            (but(COPY, writes="g"), "expected a list of 5 characters"),
        ),
    ),
    "ex-wld-town": Planted(
        TOWN,
        (
            (but(TOWN, floors=[0.814, 0.891]), "comes first"),
            (but(TOWN, floors=[0.6175, 0.564]), "nats"),
            (but(TOWN, floors=[0.80, 0.70]), "town of the lesson"),
            (but(TOWN, floors=[0.827, 0.692]), "that is for *wet*"),
            (but(TOWN, floors=[0.891, 0.697]), "between two umbrellas"),
            (but(TOWN, floors=[0.531, 0.3]), "both outcomes"),
            (but(TOWN, floors=[0.5, 0.5]), "entropy of the umbrella"),
            (but(TOWN, nearer="bert"), "so is its floor"),
            (but(TOWN, nearer="equal"), "own floor"),
            (but(TOWN, anew=0.0773), "difference of (a)"),
            (but(TOWN, anew=1), "the floor itself"),
            (but(TOWN, anew=0.5), "drawn anew"),
        ),
        (but(TOWN, floors=[0.89, 0.81]),),
    ),
    "ex-wld-information": Planted(
        INFORMATION,
        (
            (but(INFORMATION, gpt=1_488.2), "in nats"),
            (but(INFORMATION, gpt=2_151.2), "first token"),
            (but(INFORMATION, gpt=9_402), "do not add up"),
            (but(INFORMATION, gpt=4.2), "one token"),
            (but(INFORMATION, gpt=322), "each token that is predicted"),
            (but(INFORMATION, bert=106.5), "in nats"),
            (but(INFORMATION, bert=1_022), "15 %"),
            (but(INFORMATION, bert=307), "do not add up"),
            (but(INFORMATION, bert=2), "each hidden token"),
            (but(INFORMATION, b="yes"), "fair coin"),
        ),
        (but(INFORMATION, gpt=2_147, bert=154),),
    ),
    "ex-wld-perplexity": Planted(
        PERPLEXITY,
        (
            (but(PERPLEXITY, accuracy=[100, 75]), "percentages"),
            (but(PERPLEXITY, accuracy=[0.4, 0.75]), "comes first"),
            (but(PERPLEXITY, accuracy=[1, 1]), "prefers another"),
            (but(PERPLEXITY, accuracy=[0.5, 0.5]), "at how many"),
            (but(PERPLEXITY, perplexity=[1.32, 0.548]), "those are bits"),
            (but(PERPLEXITY, perplexity=[2.5, 1.667]), "average the logarithms"),
            (but(PERPLEXITY, perplexity=[2.5, 1.333]), "not probabilities"),
            (but(PERPLEXITY, perplexity=[1.46, 2.5]), "swapped"),
            (but(PERPLEXITY, perplexity=[0.4, 0.75]), "mean number of bits"),
            (but(PERPLEXITY, b="yes"), "in the table"),
        ),
        (but(PERPLEXITY, perplexity=(2.5, 1.462), b=" No "),),
    ),
    "ex-wld-prefix": Planted(
        PREFIX,
        (
            (but(PREFIX, permissions=lambda t, p: t * (t + 1) / 2), "triangle alone"),
            (but(PREFIX, permissions=lambda t, p: t * (t + 1) / 2 + p * p), "already"),
            (but(PREFIX, permissions=lambda t, p: t * (t + 1) / 2 + p * (t - p)), "comes after"),
            (but(PREFIX, permissions=lambda t, p: permissions(t, p) - t + p), "diagonal"),
            (but(PREFIX, permissions=lambda t, p: t * t), "open mask"),
            (but(PREFIX, permissions=lambda t, p: t + p), "count the triangle"),
            (but(PREFIX, usable=[2, 3, 4, 5]), "in view"),
            (but(PREFIX, usable=[4, 5]), "last token predicts"),
            (but(PREFIX, usable=[1, 2]), "which is given"),
            (but(PREFIX, usable=[5]), "cannot read them"),
            (but(PREFIX, inside="falls"), "never learned to look"),
            (but(PREFIX, inside="stays"), "never read"),
        ),
    ),
    "ex-wld-speed": Planted(
        SPEED,
        (
            (but(SPEED, bert=150), "needs more"),
            (but(SPEED, bert=1_176), "85 % are not"),
            (but(SPEED, bert=6.67), "the factor"),
            (but(SPEED, bert=15_000), "divide by the share"),
            (but(SPEED, t5=6_400), "text alone"),
            (but(SPEED, t5=4_571), "one more sentinel"),
            (but(SPEED, t5=6_667), "BERT's number"),
            (but(SPEED, t5=4.27), "the factor"),
            (but(SPEED, t5=1_000), "count the labels"),
            (but(SPEED, nearer="equal"), "all that counts"),
            (but(SPEED, nearer="bert"), "GPT's curve"),
        ),
        (but(SPEED, bert=6_700, t5=4_300),),
    ),
    "ex-wld-generate": Planted(
        GENERATE,
        (
            (but(GENERATE, mask=["no order", "unusual state"]), "training showed none"),
            (but(GENERATE, mask=["no order", "length"]), "end token"),
            (but(GENERATE, mask=["cost", "cost"]), "two different"),
            (but(GENERATE, mask=["cost", "data"]), "use the four names"),
            (but(GENERATE, mask="cost"), "expected a list of 2 reasons, got text 'cost'"),
            (but(GENERATE, training=["length", "cost"]), "changes all states"),
            (but(GENERATE, training=["length", "no order"]), "no order of writing"),
            (but(GENERATE, training=["length", "size"]), "use the four names"),
        ),
    ),
}
