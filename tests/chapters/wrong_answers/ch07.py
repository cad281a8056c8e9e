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


PREFIX = {"permissions": permissions, "usable": [3, 4, 5], "inside": "rises"}

PLANTED = {
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
