# SPDX-License-Identifier: MIT
"""Checkers of chapter 7: masks and sums, leaks, floors, bits, prefixes, equal predictions."""

import math

import numpy as np
from numpy.typing import NDArray

from pretrain_book.exercises.answer_types import Choice, Function, Number, Numbers, Words
from pretrain_book.exercises.grader import Checker, Part
from pretrain_book.exercises.predicates import Mistake, acts_like, at, equals, near

LENGTH, ASKED = 512, 0.15
PERPLEXITY = {"gpt": 18.4, "bert": 3.99}
"""A text's tokens, BERT's share of them, and the perplexities of GPT-1 and BERT-Base."""
MODEL_B = (0.9, 0.9, 0.9, 0.3)
"""Probability of the true token at four blanks."""
PREFIXES = ((5, 2), (8, 1), (6, 6), (9, 4), (7, 0))
"""Tokens, and how many of them are the prefix."""
WINDOWS, T5_WINDOW, T5_CUT, T5_SPANS = 1000, 64, 10, 3


def masks() -> Checker:
    """Write the causal mask and the prefix mask."""
    sizes = ((4,), (6,))
    causal = Part(
        Function("causal(n_tokens)", sizes, Numbers((None, None))),
        acts_like(np.tri, sizes),
        (
            Mistake(
                acts_like(lambda n: np.tri(n).T, sizes),
                "yours reads what comes after. Rows are queries, columns are keys.",
            ),
            Mistake(
                acts_like(lambda n: np.tri(n, k=-1), sizes),
                "a token reads itself, too: compare with `<=`.",
            ),
            Mistake(acts_like(lambda n: np.ones((n, n)), sizes), "that is the open mask."),
            Mistake(
                acts_like(lambda n: 1 - np.tri(n), sizes), "1 means may read; yours is upside down."
            ),
        ),
        "which keys are not later than the query?",
    )
    cases = ((5, 2), (6, 0), (4, 4), (7, 3))
    prefix_lm = Part(
        Function("prefix_lm(n_tokens, prefix_len)", cases, Numbers((None, None))),
        acts_like(_prefix_mask, cases),
        (
            Mistake(acts_like(lambda n, p: np.tri(n), cases), "that is the causal mask alone."),
            Mistake(
                acts_like(lambda n, p: _prefix_mask(n, min(p + 1, n)), cases),
                "yours is one token too long: the prefix holds the places below `prefix_len`.",
            ),
            Mistake(
                acts_like(lambda n, p: np.maximum(np.tri(n), np.arange(n)[:, None] < p), cases),
                "the *keys* of the prefix are open to all queries, not its queries to all keys.",
            ),
            Mistake(
                acts_like(lambda n, p: _prefix_mask(n, p) * (np.arange(n) < p), cases),
                "behind the prefix, a token still reads what came before.",
            ),
        ),
        "the causal mask, or a key that lies in the prefix.",
    )
    explanation = "With prefix 0 the second mask is GPT's, with the whole text it is BERT's."
    parts = {"causal": causal, "prefix lm": prefix_lm}
    return Checker("ex-wld-masks", "warm-up", parts, explanation)


def _prefix_mask(n_tokens: int, prefix_len: int) -> NDArray[np.float64]:
    """Open the columns of the prefix in a lower triangle."""
    mask: NDArray[np.float64] = np.tri(n_tokens)
    mask[:, :prefix_len] = 1
    return mask


def sums() -> Checker:
    """Sum the products of four ways to ask in a language of four texts."""
    blue_rose = Part(
        Number("probability"),
        near(0.2 * 0.6),
        (
            Mistake(near(0.0, abs_=1e-9), "the guesses do not know of each other."),
            Mistake(near(0.25), "each word is as likely as it is in this language."),
            Mistake(near(0.2 * 0.4), "*rose* has 0.6, all of it after *red*."),
        ),
        "multiply the probability of *blue* by that of *rose*.",
    )
    each_other = Part(
        Number("sum"),
        near(1.375),
        (
            Mistake(near(1.0), "that would be a likelihood; here each word reads the other."),
            Mistake(near(1.36), "that is the sum of the lesson's language."),
            Mistake(near(2.0), "multiply the two answers of a text before you add."),
        ),
        "for each text, P(first | second) times P(second | first).",
    )
    itself = Part(
        Number("sum"),
        near(4.0),
        (
            Mistake(near(1.0), "every answer is copied; what is the product for each text?"),
            Mistake(near(3.0), "*blue rose* is copied as well as the others."),
        ),
        "a copied answer gets probability 1.",
    )
    prefix_sum = Part(
        Number("sum"),
        near(2.0),
        (
            Mistake(near(1.0), "that is for one prefix; there are two first words."),
            Mistake(near(4.0), "the second word is not in view of the row that is asked for it."),
        ),
        "the answers after each prefix sum to 1.",
    )
    parts = {"blue rose": blue_rose, "each other": each_other, "itself": itself}
    explanation = "A prefix language model has one distribution for each prefix."
    return Checker("ex-wld-sums", "derivation", {**parts, "prefix": prefix_sum}, explanation)


def copy() -> Checker:
    """Say what a leak does to the training loss and to what is written."""
    fates = ("falls to 0", "stays as high", "rises")

    def fate(rises: str, stays: str) -> Part:
        """Judge what the loss does."""
        return Part(
            Choice(fates),
            equals("falls to 0"),
            (Mistake(equals("rises"), rises), Mistake(equals("stays as high"), stays)),
            "run it, and look at the loss.",
        )

    opened = fate(
        "that happens when a *trained* model gets another mask; this one is trained with it.",
        "each position can read the answer, one place to the right.",
    )
    unshifted = fate(
        "the task is the easiest of all.",
        "each position reads its own answer: it is the token itself.",
    )
    writes = Part(
        Words(5, "characters"),
        equals(("g",) * 5),
        (
            Mistake(lambda found: found[0] == "k", "it copies the last token, not the whole text."),
            Mistake(lambda found: len(set(found)) > 1, "it repeats what it has just read."),
        ),
        "what does a model write that was asked for the token that it reads?",
    )
    explanation = "A loss near 0 on text says that the answer was in view."
    parts = {"open": opened, "unshifted": unshifted, "writes": writes}
    return Checker("ex-wld-copy", "experiment", parts, explanation)


def town() -> Checker:
    """Compute two floors of one source, and compare distances."""
    wet = 0.9 * 0.8 + 0.1 * 0.2
    both_wet = wet**2 / (wet**2 + (1 - wet) ** 2)
    agree = wet**2 + (1 - wet) ** 2  # the share of days whose neighbours agree; else 1 bit
    right = [_floor(wet), agree * _floor(both_wet) + 1 - agree]
    floors = Part(
        Numbers((2,), "bits, left side and both"),
        near(right, rel=0.01),
        (
            Mistake(near(right[::-1], rel=0.01), "the left side comes first."),
            Mistake(near([x * math.log(2) for x in right], rel=0.01), "those are nats."),
            Mistake(near([0.80, 0.70], rel=0.01), "that is the town of the lesson; 0.8 here."),
            Mistake(
                near([_floor(wet), _floor(both_wet)], rel=0.01),
                "that is for a day between two umbrellas; average over all days.",
            ),
            Mistake(
                near([_entropy(wet), agree * _entropy(both_wet) + 1 - agree], rel=0.01),
                "that is for *wet*; the umbrella is asked, which is seen in 0.9 or 0.1.",
            ),
            Mistake(
                near([-math.log2(_umbrella(x)) for x in (wet, both_wet)], rel=0.01),
                "that is for a day with umbrella; average over both outcomes.",
            ),
        ),
        "wet from the left, then from both sides; then the entropy of the umbrella.",
    )
    nearer = Part(
        Choice(("gpt", "bert", "equal")),
        equals("gpt"),
        (
            Mistake(equals("bert"), "its loss is lower, but so is its floor."),
            Mistake(equals("equal"), "subtract each one's own floor."),
        ),
        "subtract the floors.",
    )
    anew = Part(
        Number("bits"),
        near(0.0, abs_=1e-6),
        (
            Mistake(near(right[0] - right[1], rel=0.02), "that is the difference of (a)."),
            Mistake(near(1.0), "that is the floor itself; by how much do the two differ?"),
        ),
        "what does tomorrow say about today, if every day is drawn anew?",
    )
    explanation = "A second side lowers the floor only if it says something."
    parts = {"floors": floors, "nearer": nearer, "anew": anew}
    return Checker("ex-wld-town", "warm-up", parts, explanation)


def _umbrella(wet: float) -> float:
    """Give the probability of an umbrella, given that of a wet day."""
    return wet * 0.9 + (1 - wet) * 0.1


def _entropy(p: float) -> float:
    """Give the entropy of a coin in bits."""
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p)


def _floor(wet: float) -> float:
    """Give the best possible loss for the umbrella, in bits."""
    return _entropy(_umbrella(wet))


def information() -> Checker:
    """Count the bits of loss that a text gives to two models."""
    gpt, bert = math.log2(PERPLEXITY["gpt"]), math.log2(PERPLEXITY["bert"])
    n_gpt, n_bert = LENGTH - 1, round(ASKED * LENGTH)
    of_gpt = Part(
        Number("bits"),
        near(n_gpt * gpt, rel=5e-4),
        (
            Mistake(near(n_gpt * gpt * math.log(2), rel=5e-4), "that is in nats; use base 2."),
            Mistake(near(LENGTH * gpt, rel=5e-4), "the first token has nothing before it."),
            Mistake(
                near(n_gpt * PERPLEXITY["gpt"]),
                "perplexities do not add up; their logarithms do.",
            ),
            Mistake(near(gpt), "that is for one token."),
        ),
        "one logarithm of the perplexity for each token that is predicted.",
    )
    of_bert = Part(
        Number("bits"),
        near(n_bert * bert, ASKED * LENGTH * bert, rel=2e-3),
        (
            Mistake(near(n_bert * bert * math.log(2)), "that is in nats; use base 2."),
            Mistake(near(LENGTH * bert, n_gpt * bert), "BERT predicts 15 % of the tokens."),
            Mistake(
                near(n_bert * PERPLEXITY["bert"]),
                "perplexities do not add up; their logarithms do.",
            ),
        ),
        "one logarithm of the perplexity for each hidden token.",
    )
    learn = Part(
        Choice(("yes", "no")),
        equals("no"),
        (Mistake(equals("yes"), "a fair coin costs a bit each time, and teaches nothing."),),
        "what of a loss can never be learned away?",
    )
    explanation = "What is left at the optimum teaches nothing, however many bits it is."
    return Checker(
        "ex-wld-information", "warm-up", {"gpt": of_gpt, "bert": of_bert, "b": learn}, explanation
    )


def perplexity() -> Checker:
    """Compute accuracy and perplexity of two models that disagree."""
    b_bits = sum(-math.log2(p) for p in MODEL_B) / 4
    right = [1 / 0.4, 2**b_bits]
    accuracy = Part(
        Numbers((2,), "share of model A, of model B"),
        near([1.0, 3 / 4]),
        (
            Mistake(near([100, 75]), "those are percentages; a share lies between 0 and 1."),
            Mistake(
                at(0, near(0.4)), "0.4 is enough when every other token has less: it comes first."
            ),
            Mistake(at(1, near(1.0)), "at the last blank B prefers another token."),
        ),
        "at how many of four blanks does the true token come first?",
    )
    perplexities = Part(
        Numbers((2,), "perplexity of model A, of model B"),
        near(right),
        (
            Mistake(near([math.log2(right[0]), b_bits]), "those are bits; raise 2 to their power."),
            Mistake(
                at(1, near(sum(1 / p for p in MODEL_B) / 4)),
                "average the logarithms first, then take the power.",
            ),
            Mistake(
                at(1, near(4 / sum(MODEL_B))), "the mean is over logarithms, not probabilities."
            ),
            Mistake(near(right[::-1]), "A and B are swapped."),
        ),
        "2 to the mean number of bits of the true tokens.",
    )
    same = Part(
        Choice(("yes", "no")),
        equals("no"),
        (Mistake(equals("yes"), "compare BERT and GPT by Bayes' rule in the table."),),
        "sort the models of the study by both.",
    )
    parts = {"accuracy": accuracy, "perplexity": perplexities, "b": same}
    explanation = "The more accurate model has the higher perplexity."
    return Checker("ex-wld-perplexity", "warm-up", parts, explanation)


def prefix() -> Checker:
    """Count the permissions under a prefix mask, and judge a model that never saw one."""
    count = Part(
        Function("permissions(n_tokens, prefix_len)", PREFIXES, Number(whole=True)),
        acts_like(lambda t, p: t * (t + 1) // 2 + p * (p - 1) // 2, PREFIXES),
        (
            Mistake(
                acts_like(lambda t, p: t * (t + 1) // 2, PREFIXES), "that is the triangle alone."
            ),
            Mistake(
                acts_like(lambda t, p: t * (t + 1) // 2 + p * p, PREFIXES),
                "half of the prefix's square lies in the triangle already.",
            ),
            Mistake(
                acts_like(lambda t, p: t * (t + 1) // 2 + p * (t - p), PREFIXES),
                "the prefix does not read what comes after it.",
            ),
            Mistake(
                acts_like(lambda t, p: t * (t - 1) // 2 + p * (p + 1) // 2, PREFIXES),
                "every token reads itself as well: count the diagonal.",
            ),
            Mistake(acts_like(lambda t, p: t * t, PREFIXES), "that is the open mask."),
        ),
        "count the triangle, then the pairs that the prefix adds above its diagonal.",
    )
    usable = Part(
        Numbers((None,), "tokens of five, prefix of two"),
        near([3, 4, 5], rel=0),
        (
            Mistake(
                near([2, 3, 4, 5], [1, 2, 3, 4, 5], rel=0),
                "token 1 reads token 2, so the answer there is in view.",
            ),
            Mistake(
                near([4, 5], rel=0), "what the prefix's last token predicts is not in the prefix."
            ),
            Mistake(near([1, 2], rel=0), "those are the prefix, which is given."),
        ),
        "which tokens are predicted by a row that cannot read them?",
    )
    inside = Part(
        Choice(("rises", "falls", "stays")),
        equals("rises"),
        (
            Mistake(equals("falls"), "the answers are in view, but it never learned to look."),
            Mistake(equals("stays"), "each token of the prefix now reads keys it never read."),
        ),
        "run it on windows of 128 with a prefix of 64.",
    )
    parts = {"permissions": count, "usable": usable, "inside": inside}
    explanation = "Trained weights fit one mask; another one needs training."
    return Checker("ex-wld-prefix", "derivation", parts, explanation)


def speed() -> Checker:
    """Compare models at equal numbers of predictions."""
    labels = T5_CUT + T5_SPANS + 2
    of_bert = Part(
        Number("windows"),
        near(WINDOWS / ASKED),
        (
            Mistake(near(WINDOWS * ASKED), "BERT makes fewer predictions, so it needs more."),
            Mistake(near(WINDOWS / (1 - ASKED)), "15 % are predicted, 85 % are not."),
            Mistake(near(1 / ASKED), "that is the factor; how many windows is it?"),
        ),
        "divide by the share of tokens that BERT predicts.",
    )
    of_t5 = Part(
        Number("windows"),
        near(WINDOWS * T5_WINDOW / labels, rel=0.01),
        (
            Mistake(
                near(WINDOWS * T5_WINDOW / T5_CUT),
                "that counts text alone; sentinels and the end are predictions too.",
            ),
            Mistake(
                near(WINDOWS * T5_WINDOW / (labels - 1), WINDOWS * T5_WINDOW / (labels - 2)),
                "the target ends with one more sentinel and </s>.",
            ),
            Mistake(near(WINDOWS / ASKED), "that is BERT's number; T5 predicts sentinels as well."),
            Mistake(near(T5_WINDOW / labels), "that is the factor; how many windows is it?"),
        ),
        "count the labels of a window of 64: text, sentinels, end.",
    )
    nearer = Part(
        Choice(("gpt", "bert", "equal")),
        equals("gpt"),
        (
            Mistake(equals("equal"), "so it would be if predictions were all that counts."),
            Mistake(equals("bert"), "read GPT's curve at the step with as many predictions."),
        ),
        "compare the two distances to the optimum.",
    )
    parts = {"bert": of_bert, "t5": of_t5, "nearer": nearer}
    explanation = "A number of predictions is a cost; what each teaches is another matter."
    return Checker("ex-wld-speed", "experiment", parts, explanation)


def generate() -> Checker:
    """Sort four reasons why BERT does not write."""
    mask = Part(
        Words(2, "reasons"),
        lambda reasons: set(reasons) == {"no order", "cost"},
        (
            Mistake(
                lambda reasons: "unusual state" in reasons,
                "a text full of [MASK] is unusual only because training showed none.",
            ),
            Mistake(
                lambda reasons: "length" in reasons,
                "no mask fixes a length; an end token was never trained.",
            ),
            Mistake(lambda reasons: len(set(reasons)) == 1, "name two different reasons."),
        ),
        "use the four names, and ask of each whether another training would remove it.",
    )
    training = Part(
        Words(2, "reasons"),
        lambda reasons: set(reasons) == {"unusual state", "length"},
        (
            Mistake(
                lambda reasons: "cost" in reasons,
                "without a triangle every new token changes all states, whatever was trained.",
            ),
            Mistake(
                lambda reasons: "no order" in reasons,
                "if all tokens read each other, no order of writing is given.",
            ),
        ),
        "use the four names, and ask of each whether another training would remove it.",
    )
    explanation = "Masked diffusion models change the training, and keep the open mask."
    return Checker(
        "ex-wld-generate", "extension", {"mask": mask, "training": training}, explanation
    )


CHECKERS = {
    "ex-wld-masks": masks,
    "ex-wld-sums": sums,
    "ex-wld-copy": copy,
    "ex-wld-town": town,
    "ex-wld-information": information,
    "ex-wld-perplexity": perplexity,
    "ex-wld-prefix": prefix,
    "ex-wld-speed": speed,
    "ex-wld-generate": generate,
}
