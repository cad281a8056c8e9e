# SPDX-License-Identifier: MIT
"""Answers to the exercises of chapter 12."""

from wrong_answers import Planted, but

ORDERS = {
    "spam": "words",
    "places": "encoder",
    "replies": "decoder",
    "manuals": "encoder-decoder",
    "panel": "decoder",
}
PASSES = {"cached": 249 / 200, "uncached": 11_225 / 200, "ratio": 1000}
SHORT = {"rule": 162 / 342, "always": 0.5, "words": 0.786}
BERT_DECODER = {"predictions": 7, "weights": 28_311_552, "name": "encoder-decoder"}
FIND = {"words": 61 / 156, "encoder": 60 / 156, "ahead": "undecided"}

PLANTED = {
    "ex-cho-orders": Planted(
        ORDERS,
        (
            (but(ORDERS, spam="encoder"), "four a weight"),
            (but(ORDERS, places="words"), "neighbours do"),
            (but(ORDERS, places="decoder"), "a step a token"),
            (but(ORDERS, replies="encoder"), "a letter is wanted"),
            (but(ORDERS, replies="encoder-decoder"), "tuned on pairs"),
            (but(ORDERS, manuals="encoder"), "a text is wanted"),
            (but(ORDERS, manuals="decoder"), "pairs are plenty"),
            (but(ORDERS, panel="encoder"), "no labels"),
            (but(ORDERS, panel="encoder-decoder"), "changes daily"),
            (but(ORDERS, spam="a rule"), "expected one of 'words'"),
        ),
        (but(ORDERS, manuals="Encoder-Decoder"),),
    ),
    "ex-cho-passes": Planted(
        PASSES,
        (
            (but(PASSES, cached=1.25), "nothing follows the last"),
            (but(PASSES, cached=50), "not all"),
            (but(PASSES, cached=0.245), "must be read, too"),
            (but(PASSES, cached=2), "each once"),
            (but(PASSES, uncached=50), "grows by a token"),
            (but(PASSES, uncached=11_225), "divide by one pass"),
            (but(PASSES, uncached=1.245), "with a cache"),
            (but(PASSES, uncached=56.375), "reads the text alone"),
            (but(PASSES, uncached=3), "at each step"),
            (but(PASSES, ratio=0.001), "turned around"),
            (but(PASSES, ratio=1.19976), "once for all questions"),
            (but(PASSES, ratio=120_000_000), "divide."),
            (but(PASSES, ratio=5), "all passages and all questions"),
        ),
        (but(PASSES, uncached=56.1),),
    ),
    "ex-cho-short": Planted(
        SHORT,
        (
            (but(SHORT, rule=47.4), "percentage"),
            (but(SHORT, rule=0.965), "cut them first"),
            (but(SHORT, rule=0.5), "long reviews"),
            (but(SHORT, rule=0.75), "only plots are cut"),
            (but(SHORT, rule=0.1), "old threshold"),
            (but(SHORT, always=1), "both kinds"),
            (but(SHORT, always=50), "percentage"),
            (but(SHORT, always=0.4), "are reviews?"),
            (but(SHORT, words=70), "percentage"),
            (but(SHORT, words=0.48), "the length alone"),
            (but(SHORT, words=0.99), "fitted model's score on the cut"),
        ),
        (but(SHORT, rule=0.474),),
    ),
    "ex-cho-bert-decoder": Planted(
        BERT_DECODER,
        (
            (but(BERT_DECODER, predictions=6), "that goes in"),
            (but(BERT_DECODER, predictions=1), "one of several"),
            (but(BERT_DECODER, predictions=50), "how many positions"),
            (but(BERT_DECODER, weights=2_359_296), "there are twelve"),
            (but(BERT_DECODER, weights=7_077_888), "four matrices"),
            (but(BERT_DECODER, weights=21_233_664), "the output has"),
            (but(BERT_DECODER, weights=36_864), "width times width"),
            (but(BERT_DECODER, weights=1000), "weights of a matrix"),
            (but(BERT_DECODER, name="encoder"), "reads the encoder"),
            (but(BERT_DECODER, name="decoder"), "nothing to cross"),
        ),
    ),
    "ex-cho-find": Planted(
        FIND,
        (
            (but(FIND, words=40), "percentage"),
            (but(FIND, words=0.06), "compared with the others"),
            (but(FIND, words=0.99), "first ten"),
            (but(FIND, encoder=55), "percentage"),
            (but(FIND, encoder=0.1), "padding"),
            (but(FIND, encoder=0.999), "first ten"),
            (but(FIND, ahead="words"), "its interval"),
            (but(FIND, ahead="encoder"), "film by film"),
        ),
    ),
}
