# SPDX-License-Identifier: MIT
"""Checkers of chapter 1: three answer sheets, two guessing games, what an objective sees.

And an audit of a corpus, PCA, word vectors by counting.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pretrain_book.exercises.answer_types import Choice, Function, Number, Numbers, Words
from pretrain_book.exercises.grader import Checker, Part
from pretrain_book.exercises.predicates import (
    Mistake,
    Predicate,
    acts_like,
    between,
    equals,
    like,
    nats_for_bits,
    near,
    off_by_factor,
    wrong_sign,
)

SHARED, TINY, NAMED, PRAISE = 3, 61, 292, (0.564, 0.6035)
NEAREST = ("henry", "he", "life")
"""What the audit of the reviews and the counted word vectors print."""

Vector = NDArray[np.float64]


def audit() -> Checker:
    """Look for copies, scraps, names and shares in the review sentences."""
    praise = np.array(PRAISE)
    parts = {
        "a": Part(
            Number("sentences", whole=True),
            equals(SHARED),
            (
                Mistake(equals(2), "those are different windows; count the test sentences."),
                Mistake(equals(1), "capitals and full stops hide some: cut with words_of."),
                Mistake(equals(0, 8), "windows of eight words."),
            ),
            "collect the windows of all training sentences, then look each test sentence up.",
        ),
        "b": Part(
            Number("sentences", whole=True),
            equals(TINY),
            (
                Mistake(equals(9), "those are the test sentences."),
                Mistake(equals(12, 49), "at most two: one word, or two."),
                Mistake(equals(69), "a dash is no word: cut with words_of."),
            ),
            "how many words has each training sentence?",
        ),
        "c": Part(
            Number("sentences", whole=True),
            between(NAMED - 2, NAMED + 2),
            (
                Mistake(equals(96), "turn underscores into blanks first."),
                Mistake(equals(14), "names are in small letters, sentences are not."),
                Mistake(equals(1348), "those are the training sentences."),
                Mistake(equals(63), "those are films; count the sentences."),
            ),
            "look for the name of its own film in each test sentence.",
        ),
        "d": Part(
            Numbers((2,), "shares"),
            near(praise, rel=0, abs_=1.5e-3),
            (
                off_by_factor(praise, 100, "those are percentages; a share lies below 1."),
                Mistake(near(praise[::-1], rel=2e-3), "training first."),
                Mistake(near(1 - praise, rel=2e-3), "that is blame."),
            ),
            "the mean of the labels, in training and in test.",
        ),
        "split": Part(
            Choice(("a", "b", "c", "d")),
            equals("c"),
            (
                Mistake(equals("a"), "copies speak for removing copies."),
                Mistake(equals("b"), "short sentences stand in any split."),
                Mistake(equals("d"), "unequal shares need another baseline."),
            ),
            "which would let a model know a verdict without reading the sentence?",
        ),
    }
    explanation = (
        "Four lines of counting, before any training, and none of them finds wrong labels."
    )
    return Checker("ex-rev-audit", "experiment", parts, explanation)


def pca() -> Checker:
    """Derive the error of one linear unit, and the mean change of Oja's neuron."""
    rng = np.random.default_rng(1)
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    spread = axes @ np.diag([4.0, 1.0, 0.5]) @ axes.T
    units = tuple((w / np.linalg.norm(w), spread) for w in rng.normal(size=(3, 3)))
    free = tuple((2.0 * w, c) for w, c in units)
    error = Part(
        Function("error(w, C)", units, Number()),
        acts_like(lambda w, c: np.trace(c) - w @ c @ w, units),
        (
            Mistake(acts_like(lambda w, c: w @ c @ w, units), "that is what is kept, not lost."),
            Mistake(acts_like(lambda w, c: np.trace(c), units), "nothing is restored there."),
            Mistake(
                acts_like(lambda w, c: np.trace(c) - 2 * w @ c @ w, units),
                "the square of the restored part is missing.",
            ),
            Mistake(
                acts_like(lambda w, c: np.trace(c) + w @ c @ w, units), "the cross term is minus."
            ),
        ),
        "write the square out, and use that w has length 1.",
    )
    parts = {"error": error, "change": _change(free)}
    explanation = "The best code of one number, and a local rule that finds it without any label."
    return Checker("ex-rev-pca", "derivation", parts, explanation)


def _change(cases: tuple[tuple[Vector, Vector], ...]) -> Part:
    """Ask for the mean change of Oja's neuron, on vectors of length 2."""
    right = [c @ w - (w @ c @ w) * w for w, c in cases]
    return Part(
        Function("change(w, C)", cases, Numbers((3,))),
        like(*right),
        (
            Mistake(like(*(-change for change in right)), "the sign is turned round."),
            Mistake(like(*(c @ w for w, c in cases)), "the part that keeps w short is missing."),
            Mistake(like(*(c @ w - w for w, c in cases)), "how large is the mean of h² here?"),
            Mistake(
                like(*(c @ w - (w @ c @ w) / (w @ w) * w for w, c in cases)),
                "w need not have length 1 here.",
            ),
        ),
        "the mean of h x, minus the mean of h² times w.",
    )


def vectors() -> Checker:
    """Find nearest words by counted vectors."""
    nearest = Part(
        Words(3, "words"),
        equals(NEAREST),
        (
            Mistake(equals(("king", "she", "death")), "a word is its own nearest; leave it out."),
            Mistake(equals(("prince", "her", "the")), "those are raw counts; take the logarithm."),
            Mistake(equals(("henry", "loved", "cry")), "scale the vectors to length 1."),
            Mistake(equals(("liege", "he", "heart")), "those are the weakest directions."),
        ),
        "count in training plays, four places to both sides, words cut with words_of.",
    )
    cannot = Part(
        Choice(
            (
                "tell frequent words from rare ones",
                "tell two uses of a word apart",
                "learn without labels",
            )
        ),
        equals("tell two uses of a word apart"),
        (
            Mistake(equals("tell frequent words from rare ones"), "counts know how often."),
            Mistake(equals("learn without labels"), "which label did you use?"),
        ),
        "one word, one vector.",
    )
    parts = {"nearest": nearest, "cannot": cannot}
    explanation = (
        "Company in this corpus, found by counting, and one vector for all uses of a word."
    )
    return Checker("ex-rev-vectors", "extension", parts, explanation)


N_TOKENS, N_ASKED = 20, 3
N_PIECES, N_CHARACTERS = 5000, 62
BLANKS = (1.43, 5.57, 0.16)
PAID, EXPECTED = (0.08, 0.31, 2.43, 1.38), (0.39, 1.00, 2.69, 3.13)
"""Bits that the book's BERT and its GPT on characters pay; bits that the GPT expects to pay."""


def sees() -> Checker:
    """Count predictions, tokens seen and pairs of three objectives."""
    causal, rest = range(1, N_TOKENS), N_TOKENS - N_ASKED
    span = [rest + written for written in range(N_ASKED)]
    parts = {
        "causal": Part(
            Numbers((3,), "predictions, tokens seen, pairs"),
            _counts(list(causal)),
            (
                Mistake(_counts(list(range(N_TOKENS))), "the first token is given, not asked."),
                Mistake(_counts([N_TOKENS - 1] * (N_TOKENS - 1)), "only what stands before it."),
                Mistake(_counts([*causal, N_TOKENS]), "a token does not see itself."),
            ),
            "which tokens are asked, and how many stand before each?",
        ),
        "masked": Part(
            Numbers((3,), "predictions, tokens seen, pairs"),
            _counts([rest] * N_ASKED),
            (
                Mistake(_counts([N_TOKENS - 1] * N_ASKED), "the other masks hide tokens, too."),
                Mistake(_counts([N_TOKENS] * N_ASKED), "a mask is no known token."),
                Mistake(_counts([rest]), "each mask is a prediction of its own."),
            ),
            "how many are asked, and how many tokens are not masked?",
        ),
        "span": Part(
            Numbers((3,), "predictions, tokens seen, pairs"),
            _counts(span),
            (
                Mistake(_counts([rest] * N_ASKED), "the decoder also sees what it has written."),
                Mistake(
                    _counts([n + 1 for n in span]), "a token is not seen before it is written."
                ),
                Mistake(_counts([n + 2 for n in span]), "leave the marks out."),
            ),
            "the tokens outside the gap, and those of the gap that are written already.",
        ),
    }
    explanation = (
        "Many questions with little to go on, or few with much: neither measures learning."
    )
    return Checker("ex-rev-sees", "warm-up", parts, explanation)


def _counts(seen: list[int]) -> Predicate:
    """Accept the number of predictions, the mean of what they see, and the sum."""
    return near(np.array([len(seen), sum(seen) / len(seen), sum(seen)]))


def blank() -> Checker:
    """Score guesses in bits, and the model's."""
    miss = math.log2(8 * N_PIECES)
    second = Part(
        Number("bits"),
        near(2.0),
        (
            nats_for_bits(2.0),
            Mistake(near(0.25), "that is its probability; the cost is its −log2."),
            Mistake(near(1.0), "that is the first guess."),
            Mistake(near(3.0), "that is the third guess."),
        ),
        "which probability did the second guess get?",
    )
    missed = Part(
        Number("bits"),
        near(miss),
        (
            nats_for_bits(miss),
            Mistake(near(3.0), "that gives the whole eighth to one word; it is shared."),
            Mistake(near(math.log2(N_PIECES)), "only an eighth is shared among the pieces."),
            Mistake(near(1 / (8 * N_PIECES)), "that is the probability; the cost is its −log2."),
        ),
        "an eighth, shared among all pieces, is the probability of each.",
    )
    model = _paid(BLANKS, 3, "the hidden word's log-probability in the gap, from cloze_log_probs.")
    zero = Part(
        Choice(("nothing", "one bit", "infinitely many bits")),
        equals("infinitely many bits"),
        (
            Mistake(equals("nothing"), "only if the word never turns up. It did."),
            Mistake(equals("one bit"), "a bit is what probability ½ costs."),
        ),
        "what does −log2 p do as p falls to 0?",
    )
    parts = {"second": second, "miss": missed, "model": model, "zero": zero}
    explanation = (
        "Bits reward who is right, and more who was sure; they punish who was sure and wrong."
    )
    return Checker("ex-rev-blank", "experiment", parts, explanation)


def _paid(right: tuple[float, ...], count: int, default_hint: str) -> Part:
    """Ask for the bits that a model pays, one number a line."""
    bits = np.array(right)
    return Part(
        Numbers((count,), "bits"),
        near(bits, rel=0.01, abs_=0.02),
        (
            wrong_sign(bits, "a surprise is minus the logarithm.", rel=0.03),
            off_by_factor(bits, math.log(2), "those are nats; bits take log2.", rel=0.03),
            Mistake(near(2.0**-bits, rel=0.05), "those are probabilities."),
        ),
        default_hint,
    )


def following() -> Checker:
    """Pay for the next character, and say what the model expected to pay."""
    paid = _paid(PAID, 4, "read the last row of the scores, at the true character.")
    bits = np.array(EXPECTED)
    expected = Part(
        Numbers((4,), "bits"),
        near(bits, rel=0.01, abs_=0.02),
        (
            Mistake(near(np.array(PAID), abs_=0.05), "that is paid; weigh all characters."),
            off_by_factor(bits, math.log(2), "those are nats; bits take log2.", rel=0.03),
            wrong_sign(bits, "each surprise is minus a logarithm.", rel=0.03),
            Mistake(
                near(np.full(4, math.log2(N_CHARACTERS)), rel=0.05),
                "that is what an even guess expects; weigh with the model's probabilities.",
            ),
        ),
        "the sum over all characters of probability times surprise.",
    )
    least = Part(
        Number("line", whole=True),
        equals(1 + int(np.argmax(bits))),
        (
            Mistake(equals(1 + int(np.argmax(PAID))), "there it paid most; it expected to less."),
            Mistake(equals(1), "there it is surest."),
            Mistake(equals(0), "lines count from 1."),
        ),
        "where does it expect to pay most?",
    )
    parts = {"paid": paid, "expected": expected, "least sure": least}
    explanation = "What is paid depends on the answer; how sure a model is does not."
    return Checker("ex-rev-next", "experiment", parts, explanation)


Texts = tuple[str, str]
"""What is read and what is answered, as they are printed."""
LINE = ["the", "fight", "scenes", "are", "fun", "but", "it", "grows", "tedious"]
SHORT = ["to", "be", "or", "not", "to", "be"]
CAUSAL = ((LINE,), (SHORT,))
MASKED = ((LINE, [8, 4]), (SHORT, [0]))
SPANS = ((LINE, [(3, 5), (7, 9)]), (SHORT, [(0, 1), (2, 4)]))
"""Arguments of the reader's three functions."""


def _sheets(function: Callable[..., Texts], cases: Sequence[tuple[object, ...]]) -> Predicate:
    """Accept what a function returns on all cases."""
    return equals(tuple(function(*case) for case in cases))


def _causal(words: list[str]) -> Texts:
    """Read all but the last, answer all but the first."""
    return " ".join(words[:-1]), " ".join(words[1:])


def _masked(words: list[str], places: list[int], *, in_order: bool = True) -> Texts:
    """Hide some places, and answer with what stood there."""
    hidden = ["[MASK]" if n in places else word for n, word in enumerate(words)]
    return " ".join(hidden), " ".join(words[n] for n in (sorted(places) if in_order else places))


def _span(words: list[str], spans: list[tuple[int, int]], *, ends: int = 0) -> Texts:
    """Cut spans out, and answer with each number and what it stands for."""
    read: list[str] = []
    answer: list[str] = []
    end = 0
    for number, (first, last) in enumerate(spans, start=1):
        read += [*words[end:first], f"<{number}>"]
        answer += [f"<{number}>", *words[first : last + ends]]
        end = last + ends
    return " ".join(read + words[end:]), " ".join(answer)


def sheets() -> Checker:
    """Make the examples of all three questions from a list of words."""
    texts = Words(2, "texts: what is read, and the answer")
    parts = {
        "causal": Part(
            Function("causal(words)", CAUSAL, texts),
            _sheets(_causal, CAUSAL),
            (
                Mistake(
                    _sheets(lambda words: (" ".join(words), " ".join(words[1:])), CAUSAL),
                    "nothing comes after the last word, so it is not read.",
                ),
                Mistake(
                    _sheets(lambda words: (" ".join(words), " ".join(words)), CAUSAL),
                    "without the shift each word would be its own answer.",
                ),
            ),
            "all words but the last, and all words but the first.",
        ),
        "masked": Part(
            Function("masked(words, places)", MASKED, texts),
            _sheets(_masked, MASKED),
            (
                Mistake(
                    _sheets(lambda *case: _masked(*case, in_order=False), MASKED),
                    "answer in the order of the text.",
                ),
                Mistake(
                    _sheets(
                        lambda words, places: (
                            _masked(words, places)[0],
                            " ".join(["[MASK]"] * len(places)),
                        ),
                        MASKED,
                    ),
                    "the answer is gone: copy the list before you write into it.",
                ),
            ),
            "the words with [MASK] at the places, and the words that stood there.",
        ),
        "span": Part(
            Function("span(words, spans)", SPANS, texts),
            _sheets(_span, SPANS),
            (
                Mistake(
                    _sheets(lambda *case: _span(*case, ends=1), SPANS),
                    "the last place is not part of the span.",
                ),
                Mistake(
                    _sheets(
                        lambda words, spans: (
                            _span(words, spans)[0],
                            " ".join(w for first, last in spans for w in words[first:last]),
                        ),
                        SPANS,
                    ),
                    "each number stands before its words in the answer.",
                ),
            ),
            "cut each span out, put its number there, and repeat the number in the answer.",
        ),
    }
    explanation = "Three ways to get questions with known answers out of any text."
    return Checker("ex-rev-ask", "warm-up", parts, explanation)


CHECKERS = {
    "ex-rev-ask": sheets,
    "ex-rev-blank": blank,
    "ex-rev-next": following,
    "ex-rev-audit": audit,
    "ex-rev-sees": sees,
    "ex-rev-pca": pca,
    "ex-rev-vectors": vectors,
}
