# SPDX-License-Identifier: MIT
"""Answers to the exercises of chapter 8."""

import math

from wrong_answers import Planted, but


def k_of(a, b, c, d, n):
    """Take logarithms first: b ln m = ln(a/c) + d ln n."""
    return math.exp((math.log(a / c) + d * math.log(n)) / b - math.log(n))


def coin_bits(p, q):
    """Bits of the mixture, and bits of the better model."""
    return -math.log2(0.5 * p + 0.5 * q) - (-math.log2(max(p, q)))


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
