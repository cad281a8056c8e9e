# SPDX-License-Identifier: MIT
"""Answers to the exercises of chapter 10."""

from wrong_answers import Planted, but

MEAN = {"as they are": 9 / 10, "centred": -3 / 6, "without the first": 0}
CONE = {"middle": 1.00, "last": 0.79, "last without": 0.53}
NAMED = {"previous": 1.00, "last": 0.12}
CAUSAL = {"accuracy": 5 / 11, "depth": "stays"}
DISCOVERIES = {"expected": 72 / 20, "found": (8 + 9 + 7 + 9 + 13) / 5, "effect": "true but tiny"}
CLAIM = {
    "a": ["control task", "untrained encoder", "intervention", "interval of the best layer"],
    "b": ["heads", "names", "senses"],
}

PLANTED = {
    "ex-lab-mean": Planted(
        MEAN,
        (
            (but(MEAN, as_they_are=9), "dot product"),
            (but(MEAN, as_they_are=0.933), "with itself"),
            (but(MEAN, as_they_are=0), "one direction"),
            (but(MEAN, as_they_are=0.5), "both lengths"),
            (but(MEAN, centred=0.5), "point apart"),
            (but(MEAN, centred=0), "right angles"),
            (but(MEAN, centred=-1 / 3), "that is the dot product"),
            (but(MEAN, centred=0.9), "subtract the mean"),
            (but(MEAN, without_the_first=0.9), "set the first number"),
            (but(MEAN, without_the_first=1), "shares no dimension"),
            (but(MEAN, without_the_first=0.3), "dimension of its own"),
        ),
    ),
    "ex-lab-cone": Planted(
        CONE,
        (
            (but(CONE, middle=0.61), "embeddings"),
            (but(CONE, middle=0.95), "without the three"),
            (but(CONE, middle=0.0), "looks centred"),
            (but(CONE, middle=0.4), "up to the middle"),
            (but(CONE, last=1.0), "that is the middle"),
            (but(CONE, last=0.53), "without the three"),
            (but(CONE, last=0.3), "states of the last layer"),
            (but(CONE, last_without=0.79), "still in it"),
            (but(CONE, last_without=0.95), "middle layer"),
            (but(CONE, last_without=-0.03), "looks centred"),
            (but(CONE, last_without=0.3), "largest means"),
        ),
        ({"middle": 0.99, "last": 0.8, "last without": 0.52},),
    ),
    "ex-lab-named": Planted(
        NAMED,
        (
            (but(NAMED, previous=0.05), "permuted rows"),
            (but(NAMED, previous=0.12), "last token"),
            (but(NAMED, previous=100), "percentage"),
            (but(NAMED, previous=0.5), "relation previous"),
            (but(NAMED, last=1.0), "previous-token head"),
            (but(NAMED, last=12), "percentage"),
            (but(NAMED, last=0.05), "permuted rows"),
            (but(NAMED, last=0.6), "relation last"),
        ),
    ),
    "ex-lab-causal": Planted(
        CAUSAL,
        (
            (but(CAUSAL, accuracy=0.5), "of its own"),
            (but(CAUSAL, accuracy=6 / 11), "not among its neighbours"),
            (but(CAUSAL, accuracy=5 / 12), "eleven"),
            (but(CAUSAL, accuracy=1), "nearest is any"),
            (but(CAUSAL, accuracy=45.5), "percentage"),
            (but(CAUSAL, accuracy=0.8), "among the others"),
            (but(CAUSAL, depth="grows"), "depth adds none"),
            (but(CAUSAL, depth="falls"), "stay equal"),
        ),
        (but(CAUSAL, accuracy=0.45),),
    ),
    "ex-lab-discoveries": Planted(
        DISCOVERIES,
        (
            (but(DISCOVERIES, expected=0.975), "at least one"),
            (but(DISCOVERIES, expected=0.05), "one head"),
            (but(DISCOVERIES, expected=4.95), "not of the permutations"),
            (but(DISCOVERIES, expected=0), "one test in twenty"),
            (but(DISCOVERIES, expected=36), "a single test errs"),
            (but(DISCOVERIES, found=3.6), "leave the model"),
            (but(DISCOVERIES, found=46), "not their sum"),
            (but(DISCOVERIES, found=-1), "for each model"),
            (but(DISCOVERIES, effect="chance"), "equal vectors"),
            (but(DISCOVERIES, effect="true and large"), "average one"),
        ),
    ),
    "ex-lab-claim": Planted(
        CLAIM,
        (
            (but(CLAIM, a=[*CLAIM["a"][:3], "larger probe"]), "remembers more"),
            (but(CLAIM, a=[*CLAIM["a"][:3], "higher accuracy"]), "without a rival"),
            (but(CLAIM, a=[*CLAIM["a"][:3], "control task"]), "four different"),
            (but(CLAIM, a=[*CLAIM["a"][:3], "luck"]), "a test of use"),
            (but(CLAIM, a=CLAIM["a"][:3]), "expected a list of 4 controls, got 3"),
            (but(CLAIM, b=["heads", "cone"]), "could have failed"),
            (but(CLAIM, b=["names"]), "there are more"),
            (but(CLAIM, b=["layers"]), "bag-of-words"),
        ),
    ),
}
