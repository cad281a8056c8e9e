# SPDX-License-Identifier: MIT
"""Answers to the exercises of chapter 8."""

import math
from itertools import pairwise

import numpy as np

from wrong_answers import Planted, but


def k_of(a, b, c, d, n):
    """Take logarithms first: b ln m = ln(a/c) + d ln n."""
    return math.exp((math.log(a / c) + d * math.log(n)) / b - math.log(n))


def coin_bits(p, q):
    """Bits of the mixture, and bits of the better model."""
    return -math.log2(0.5 * p + 0.5 * q) - (-math.log2(max(p, q)))


def needed(ns, accuracies, accuracy):
    """Walk along the points until the accuracy lies between two of them."""
    for left in range(len(ns) - 1):
        if accuracies[left] <= accuracy <= accuracies[left + 1]:
            share = (accuracy - accuracies[left]) / (accuracies[left + 1] - accuracies[left])
            return ns[left] ** (1 - share) * ns[left + 1] ** share
    raise ValueError("not reached")


def pair_counts(history, known, n_symbols):
    """List all followers of the last symbol, then count them."""
    followers = [b for a, b in pairwise(history) if known and a == known[-1]]
    return [1 + followers.count(symbol) for symbol in range(n_symbols)]


def before(history, known, n_symbols):
    """Count what came before the last symbol."""
    return pair_counts(history[::-1], known, n_symbols)


REFERENCE = {"needed": needed, "factors": [15.333, 12.561, 49.718], "also changes": "the size"}
LENGTH = {"total": 0, "per character": 62, "changed": 0, "prefer": "the shorter text"}
COUNTS = {
    "counts": pair_counts,
    "digits": 1459,
    "fewer": "mine",
    "without": "an unseen pair cannot be coded",
}
PAID = {"invented": 1.12e12, "ours": [9_976_429, 48_576_088], "decides": "number of weights"}
K = {"k": k_of, "falls": "b > d", "exponents": [0.1105, 0.0778], "ten times": 0.62}
MIX = {
    "coin": coin_bits,
    "weight": 0.5,
    "bits": [2.2254, 2.2184, 2.1050],
    "mixture": "better than both",
}
LEAK = {
    "gaps": [2.1596 - 1.8890, 2.1330 - 1.4939],
    "pairs": [300 / 312, 1],
    "rules out": "a split before training",
}

PLANTED = {
    "ex-adv-reference": Planted(
        REFERENCE,
        (
            (but(REFERENCE, needed=lambda n, a, x: np.interp(x, a, n)), "in log n"),
            (but(REFERENCE, needed=lambda n, a, x: math.log(needed(n, a, x))), "the logarithm"),
            (but(REFERENCE, needed=lambda n, a, x: math.log10(needed(n, a, x))), "the logarithm"),
            (but(REFERENCE, needed=lambda n, a, x: needed(n, a, x) / n[0]), "gives the labels"),
            (but(REFERENCE, needed=lambda n, a, x: n[-1]), "half way"),
            (but(REFERENCE, factors=[15.63, 13.91, 58.29]), "not in log n"),
            (but(REFERENCE, factors=[1962.6, 1607.8, 6363.9]), "those are labels"),
            (but(REFERENCE, factors=[0.0652, 0.0796, 0.0201]), "turned around"),
            (but(REFERENCE, factors=[3.83, 3.14, 12.43]), "that MiniLM had"),
            (but(REFERENCE, factors=[1, 2, 3]), "for each reference"),
            (but(REFERENCE, also_changes="the labels"), "same labelled"),
            (but(REFERENCE, also_changes="the test films"), "same films"),
        ),
        (but(REFERENCE, factors=(15.3, 12.6, 50.0), also_changes="The size"),),
    ),
    "ex-adv-length": Planted(
        LENGTH,
        (
            (but(LENGTH, total=100), "fewer bits wins"),
            (but(LENGTH, total=84), "the original task"),
            (but(LENGTH, total=50), "its beginning"),
            (but(LENGTH, per_character=38), "fewer bits wins"),
            (but(LENGTH, per_character=0), "its own text"),
            (but(LENGTH, per_character=90), "divided by its characters"),
            (but(LENGTH, changed=7), "what does dividing do"),
            (but(LENGTH, changed=-1), "disagree"),
            (but(LENGTH, prefer="the right text"), "one always wins"),
            (but(LENGTH, prefer="the longer text"), "add bits"),
        ),
        (but(LENGTH, per_character=63),),
    ),
    "ex-adv-counts": Planted(
        COUNTS,
        (
            (
                but(
                    COUNTS,
                    counts=lambda h, k, n: [c - 1 for c in pair_counts(h, k, n)] if k else [1] * n,
                ),
                "add 1",
            ),
            (but(COUNTS, counts=before), "came before"),
            (but(COUNTS, counts=lambda h, k, n: pair_counts(h, k[:1], n)), "not the first"),
            (
                but(
                    COUNTS,
                    counts=lambda h, k, n: (
                        np.array(pair_counts(h, k, n)) / sum(pair_counts(h, k, n))
                    ),
                ),
                "whole numbers",
            ),
            (but(COUNTS, counts=lambda h, k, n: [1 + h.count(s) for s in range(n)]), "single"),
            (but(COUNTS, counts=lambda h, k, n: [1] * n), "five symbols"),
            (but(COUNTS, digits=1951), "single characters"),
            (but(COUNTS, digits=1011), "nats"),
            (but(COUNTS, digits=182), "bytes"),
            (but(COUNTS, digits=3.65), "per character"),
            (but(COUNTS, digits=989), "the second thing"),
            (but(COUNTS, fewer="gzip"), "once more"),
            (but(COUNTS, without="the code gets longer"), "how wide"),
            (but(COUNTS, without="nothing"), "never had"),
        ),
        (but(COUNTS, digits=1460, fewer="Mine"),),
    ),
    "ex-adv-paid": Planted(
        PAID,
        (
            (but(PAID, invented=1.4e11), "a byte has eight"),
            (but(PAID, invented=5.6e11), "two bytes"),
            (but(PAID, invented=1.4e12), "the difference only"),
            (but(PAID, invented=6.222e11), "the difference only"),
            (but(PAID, invented=1.12), "not trillions"),
            (but(PAID, invented=1e15), "what each character saves"),
            (but(PAID, ours=[48.6e6, 9.98e6]), "swapped"),
            (but(PAID, ours=[2.56e6, 12.0e6]), "bzip2"),
            (but(PAID, ours=[4.53e6, 21.4e6]), "bzip2"),
            (but(PAID, ours=[10, 49]), "not millions"),
            (but(PAID, ours=[17e6, 86e6]), "model by model"),
            (but(PAID, decides="bits per character"), "how far apart"),
            (but(PAID, decides="length of the text"), "at which they pay"),
        ),
        (but(PAID, ours=(10.0e6, 49e6), decides="Number of weights"),),
    ),
    "ex-adv-k": Planted(
        K,
        (
            (but(K, k=lambda a, b, c, d, n: n * k_of(a, b, c, d, n)), "that is m"),
            (but(K, k=lambda a, b, c, d, n: 1 / k_of(a, b, c, d, n)), "turned around"),
            (but(K, k=lambda a, b, c, d, n: k_of(c, d, a, b, n)), "the one that needs m"),
            (but(K, k=lambda a, b, c, d, n: a * n**-b / (c * n**-d)), "not of labels"),
            (but(K, k=lambda a, b, c, d, n: a / c), "root of order b"),
            (but(K, falls="b = d"), "not below 0"),
            (but(K, falls="b < d"), "not below 0"),
            (but(K, exponents=[-0.1105, -0.0778]), "their sizes"),
            (but(K, exponents=[0.0778, 0.1105]), "swapped"),
            (but(K, exponents=[5.505e-5, 3.047e-5]), "labels as well"),
            (but(K, exponents=[0.0542, 0.0340]), "not the accuracy"),
            (but(K, exponents=[0.5, 0.5]), "all five"),
            (but(K, ten_times=1.60), "turned around"),
            (but(K, ten_times=1.23), "ten times as many"),
            (but(K, ten_times=2.9), "512 labels"),
            (but(K, ten_times=57_600), "how many times n"),
            (but(K, ten_times=10), "both fits"),
        ),
        (but(K, exponents=(0.11, 0.078), ten_times=0.6),),
    ),
    "ex-adv-mix": Planted(
        MIX,
        (
            (but(MIX, coin=lambda p, q: coin_bits(p, q) * math.log(2)), "nats"),
            (but(MIX, coin=lambda p, q: -coin_bits(p, q)), "costs more"),
            (but(MIX, coin=lambda p, q: 1), "worst case"),
            (but(MIX, coin=lambda p, q: math.log2(max(p, q) / (p + q))), "half of the coin"),
            (but(MIX, coin=lambda p, q: p - q), "larger of p and q"),
            (but(MIX, weight=50), "percentage"),
            (but(MIX, weight=1), "only one model"),
            (but(MIX, weight=0.8), "fewest bits"),
            (but(MIX, bits=[1.5425, 1.5377, 1.4591]), "nats"),
            (but(MIX, bits=[2.0075, 2.0374, 1.9201]), "judge on Macbeth"),
            (but(MIX, bits=[2.2254, 2.2184, 2.2219]), "not bits"),
            (but(MIX, bits=[2.5, 2.5, 2.0]), "the same characters"),
            (but(MIX, mixture="worse than both"), "convexity"),
            (but(MIX, mixture="between them"), "is surprised"),
        ),
        (but(MIX, weight=0.55, bits=(2.23, 2.22, 2.11)),),
    ),
    "ex-adv-leak": Planted(
        LEAK,
        (
            (but(LEAK, gaps=[-0.27, -0.64]), "subtract the read plays"),
            (but(LEAK, gaps=[0.64, 0.27]), "GPT comes first"),
            (but(LEAK, gaps=[0.188, 0.443]), "nats"),
            (but(LEAK, gaps=[0, 0]), "mean over the training plays"),
            (but(LEAK, pairs=[96, 100]), "percentages"),
            (but(LEAK, pairs=[0.04, 0]), "turned around"),
            (but(LEAK, pairs=[1, 0.96]), "GPT comes first"),
            (but(LEAK, pairs=[0.5, 0.5]), "each other play"),
            (but(LEAK, rules_out="few bits"), "easy play"),
            (but(LEAK, rules_out="a late date"), "quote old texts"),
        ),
        (but(LEAK, gaps=(0.27, 0.64), pairs=(0.96, 1.0)),),
    ),
}
