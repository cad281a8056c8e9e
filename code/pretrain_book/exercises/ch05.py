# SPDX-License-Identifier: MIT
"""Checkers of chapter 5: a BERT built, broken, without positions; gradients, spans, pairs."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pretrain_book.exercises.answer_types import Choice, Function, Number, Numbers, Words
from pretrain_book.exercises.grader import Checker, Part
from pretrain_book.exercises.predicates import (
    Mistake,
    acts_like,
    between,
    equals,
    nats_for_bits,
    near,
    off_by_factor,
    percent_for_share,
    share_for_percent,
    wrong_sign,
)

ORIGINAL = ["the", "king", "is", "dead", ",", "long", "live", "the", "king", "."]
READ = ["the", "queen", "is", "dead", ",", "long", "be", "the", "king", "."]
SELECTED = (1, 3, 6)
P_REPLACED = np.array([1, 2, 1, 1, 1, 1, 4, 1, 4, 1]) / 8
"""What the detector answers at each place."""
SAME = 5.6
"""Per cent of draws from the frequencies that hit the character itself, as the solution prints."""


def replaced() -> Checker:
    """Label a corrupted line, count the answers, and compute the detector's loss."""
    labels = np.array([old != new for old, new in zip(ORIGINAL, READ, strict=True)], dtype=float)
    parts = {
        "labels": _labels(labels),
        "answers": _answers(),
        "loss": _loss(labels),
        "same": _same(),
    }
    explanation = "A detector is asked at every place, and most of its answers are 'original'."
    return Checker("ex-brt-replaced", "extension", parts, explanation)


def _labels(right: np.ndarray) -> Part:
    """Ask which tokens count as replaced."""
    selected = np.isin(np.arange(len(right)), SELECTED).astype(float)
    return Part(
        Numbers((len(right),), "1 = replaced"),
        near(right, abs_=1e-9),
        (
            Mistake(
                near(selected, abs_=1e-9),
                "those are the selected places. What if the draw is the token itself?",
            ),
            Mistake(near(1 - right, abs_=1e-9), "1 stands for replaced, 0 for original."),
            Mistake(near(P_REPLACED), "those are the detector's answers; the labels are 0 or 1."),
            Mistake(
                near((P_REPLACED >= 0.5).astype(float), abs_=1e-9),
                "that is what the detector suspects; compare the two lines.",
            ),
        ),
        "compare what is read with what stood there, place by place.",
    )


def _answers() -> Part:
    """Ask at how many places the detector and a masked model have a loss."""
    n, n_selected = len(ORIGINAL), len(SELECTED)
    return Part(
        Numbers((2,), "detector, masked model"),
        near(np.array([n, n_selected]), abs_=1e-9),
        (
            Mistake(near(np.array([n_selected, n])), "these two are swapped."),
            Mistake(
                near(np.array([n_selected, n_selected])),
                "an original token is a question too: the detector must say so.",
            ),
            Mistake(
                near(np.array([2, n_selected]), np.array([n, 2])),
                "a token that was drawn as itself is asked about all the same.",
            ),
            Mistake(near(np.array([n, n])), "a masked model answers where a token was selected."),
        ),
        "count the places where each of the two models has a term in its loss.",
    )


def _loss(labels: np.ndarray) -> Part:
    """Ask for the detector's mean loss in bits."""
    costs = -np.log2(np.where(labels == 1, P_REPLACED, 1 - P_REPLACED))
    selected = np.isin(np.arange(len(labels)), SELECTED)
    naive = -np.log2(np.where(selected, P_REPLACED, 1 - P_REPLACED))
    turned = -np.log2(np.where(labels == 1, 1 - P_REPLACED, P_REPLACED))
    return Part(
        Number("bits per token"),
        near(costs.mean(), rel=0.01),
        (
            nats_for_bits(costs.mean(), rel=0.01),
            Mistake(near(costs.sum()), "that is the sum; the loss is a mean over the places."),
            Mistake(near(naive.mean()), "'dead' was drawn as itself; which answer is right there?"),
            Mistake(
                near(costs[list(SELECTED)].mean(), costs[labels == 1].mean()),
                "that is the mean over some places only; the others have a loss too.",
            ),
            Mistake(
                near(costs[labels == 1].sum() / len(costs)),
                "an original token costs minus the logarithm of 1 - P(replaced).",
            ),
            Mistake(
                near(turned.mean()), "where the label is 1, the cost comes from P(replaced) itself."
            ),
        ),
        "each place costs minus the logarithm of the probability of its right answer.",
    )


def _same() -> Part:
    """Ask how often a draw from the frequencies hits the character itself."""
    return Part(
        Number("%"),
        near(SAME, rel=0, abs_=0.15),
        (
            share_for_percent(SAME, rel=0.02),
            Mistake(near(100 / 62, rel=0.02), "that is for a uniform draw; spaces are frequent."),
            Mistake(near(100 - SAME), "that is how often the draw is another character."),
            Mistake(near(0.15 * SAME, rel=0.02), "ask it of the selected ones, not of all."),
        ),
        "a character of frequency p is drawn again with probability p; average over the text.",
    )


N_ROWS, ROW = 256, 512
ASKED, MASKED, KEPT = 0.15, 0.8, 0.1
"""BERT's batch, the share of tokens that it asks, and two of the three fates."""
PROBS, TRUE, N_SELECTED, WINDOW = (0.7, 0.2, 0.1), 1, 5, 32
HITS = {"scattered": 65.0, "spans": 35.0}
RULE = {"other": 67.0, "same": 58.0, "near": 50.0, "order": 49.0}
"""Percentages that the solutions print: BERT on two kinds of gaps, the speaker rule on pairs."""
FATES = ("masked", "random", "kept")


def fates() -> Checker:
    """Count the tokens of a batch by their fates."""
    n_tokens = N_ROWS * ROW
    n_asked = ASKED * n_tokens
    visible = ASKED * (1 - MASKED) / (1 - ASKED * MASKED)
    asked = Part(
        Number("tokens"),
        near(n_asked, rel=1e-3),
        (
            Mistake(near(n_tokens), "those are all tokens of the batch."),
            Mistake(near(ASKED * ROW, rel=0.01), "that is one row of the batch."),
            Mistake(near(n_asked * MASKED), "those are the ones shown as [MASK]; more are asked."),
        ),
        "15 % of the tokens of the batch are asked.",
    )
    masked = Part(
        Number("tokens"),
        near(n_asked * MASKED, rel=1e-3),
        (
            Mistake(near(n_asked), "those are all that are asked; not all of them are shown so."),
            Mistake(near(n_tokens * MASKED), "80 % of the asked tokens, not of all tokens."),
        ),
        "take the share shown as [MASK] from the asked tokens.",
    )
    seen = Part(
        Number("probability"),
        near(visible, rel=0.01),
        (
            Mistake(
                near(ASKED * (1 - MASKED)),
                "that is the share of all tokens. Divide by how many do not read [MASK].",
            ),
            Mistake(
                near(1 - MASKED),
                "that is turned around: of the asked, how many can be read.",
            ),
            Mistake(near(ASKED), "[MASK] already carries most of the asked ones off."),
            percent_for_share(visible),
        ),
        "among tokens that are not [MASK], count those asked.",
    )
    true = Part(
        Number("probability"),
        near(KEPT / (1 - MASKED), rel=0.01),
        (
            Mistake(near(KEPT), "that is among all the asked ones; you know that it can be read."),
            Mistake(near(MASKED), "that is the share shown as [MASK]."),
        ),
        "two fates leave a token readable, and one of them leaves it true.",
    )
    return Checker(
        "ex-brt-fates",
        "warm-up",
        {"asked": asked, "masked": masked, "readable": seen, "true": true},
        "A readable token is rarely asked, yet the model cannot be sure of any.",
    )


def gradient() -> Checker:
    """Say which logits and which embeddings the masked loss moves."""
    right = (np.array(PROBS) - np.eye(3)[TRUE]) / N_SELECTED
    selected = Part(
        Numbers((3,), "one derivative a token"),
        near(right, abs_=1e-6),
        (
            wrong_sign(right, "descent subtracts the gradient, and would lower the true logit."),
            Mistake(
                near(right * N_SELECTED / WINDOW, abs_=1e-5),
                "the causal loss divides by all positions; this one by those selected.",
            ),
            off_by_factor(right, N_SELECTED, "the loss is a mean over the selected positions."),
            Mistake(
                near(np.array(PROBS) / N_SELECTED, abs_=1e-6),
                "subtract 1 from the probability of the true token.",
            ),
        ),
        "softmax minus one-hot, divided by the number of predictions.",
    )
    other = Part(
        Numbers((3,), "one derivative a token"),
        near(np.zeros(3), abs_=1e-9),
        (
            Mistake(
                near(right, np.array(PROBS) / N_SELECTED, abs_=1e-6),
                "its token is not asked, so its logits stand in no loss.",
            ),
        ),
        "which term of the loss holds the logits of a position that was not selected?",
    )
    reached = Part(
        Choice(("selected tokens", "tokens of the window", "every token")),
        equals("every token"),
        (
            Mistake(
                equals("selected tokens"),
                "a selected position attends to all others, so the gradient flows on to them.",
            ),
            Mistake(
                equals("tokens of the window"),
                "that is the way through the input. The output matrix is the same table.",
            ),
        ),
        "follow the gradient through the input and through the output matrix.",
    )
    parts = {"selected": selected, "not selected": other, "embeddings": reached}
    explanation = "BERT predicts 15 % of its tokens, and learns from all of them."
    return Checker("ex-brt-gradient", "derivation", parts, explanation)


def spans() -> Checker:
    """Compare BERT on scattered blanks and inside hidden spans."""
    everything = Mistake(
        between(90, 100), "score the hidden characters only; the others can be read."
    )
    scattered = Part(
        Number("%"),
        near(HITS["scattered"], rel=0, abs_=5),
        (
            share_for_percent(HITS["scattered"], rel=0.08),
            Mistake(near(HITS["spans"], rel=0.1), "that is inside spans. Are the two swapped?"),
            everything,
        ),
        "hide single characters until 15 % are hidden, and count the first guesses that are right.",
    )
    inside = Part(
        Number("%"),
        near(HITS["spans"], rel=0, abs_=5),
        (
            share_for_percent(HITS["spans"], rel=0.14),
            Mistake(near(HITS["scattered"], rel=0.08), "so many it names on scattered blanks."),
            everything,
        ),
        "inside a span the neighbours are hidden as well: use your mask, and the same windows.",
    )
    explanation = "The neighbours tell most, and a span hides them; it is the harder question."
    return Checker(
        "ex-brt-spans", "extension", {"scattered": scattered, "spans": inside}, explanation
    )


def failures() -> Checker:
    """Predict what three models with one fate each do."""
    near_zero = Part(
        Choice(FATES),
        equals("kept"),
        (
            Mistake(equals("masked"), "a hidden token has to be guessed, and guesses cost bits."),
            Mistake(equals("random"), "what stands there says nothing of the answer."),
        ),
        "for which of the three does the answer stand in the input?",
    )
    blank = Part(
        Choice(FATES),
        equals("masked"),
        (
            Mistake(equals("kept"), "it copies what it reads, and never read [MASK]."),
            Mistake(equals("random"), "it guesses from context, but never read [MASK]."),
        ),
        "which of the three has seen [MASK] in training?",
    )
    distrust = Part(
        Choice(FATES),
        equals("random"),
        (
            Mistake(equals("kept"), "what it read was always the answer, so it trusts the text."),
            Mistake(equals("masked"), "its head was never asked about a token that it could read."),
        ),
        "for which of the three was the token that it read almost never the answer?",
    )
    return Checker(
        "ex-brt-failures",
        "experiment",
        {"loss near zero": near_zero, "fills a blank": blank, "distrusts clean text": distrust},
        "The lowest training loss belongs to the model that learned to copy.",
    )


def next_sentence() -> Checker:
    """Judge a rule without a model on four kinds of pairs."""
    order = Part(
        Words(4, "kinds of pairs, the highest accuracy first"),
        lambda kinds: kinds[:2] == ("other", "same") and set(kinds[2:]) == {"near", "order"},
        (
            Mistake(
                equals(("order", "near", "same", "other"), ("near", "order", "same", "other")),
                "that is the lowest first.",
            ),
            Mistake(
                lambda kinds: kinds[:2] == ("same", "other"),
                "who shares more names with A: a stranger's play, or another scene of its own?",
            ),
            Mistake(
                lambda kinds: set(kinds) != set(RULE), "name each of other, same, near and order."
            ),
        ),
        "the more people a false pair shares with A, the less the rule can tell.",
    )
    close = Part(
        Number("%"),
        near(RULE["near"], rel=0, abs_=3),
        (
            share_for_percent(RULE["near"], rel=0.06),
            Mistake(near(RULE["other"], rel=0.03), "that is with strangers as false pairs."),
            Mistake(near(RULE["same"], rel=0.03), "that is with pairs from anywhere in the play."),
            Mistake(between(90, 100), "false pairs share the speakers too; count those errors."),
        ),
        "within 30 segments the same people are on stage, whether B follows or not.",
    )
    differ = Part(
        Choice(("loss", "format", "both")),
        equals("both"),
        (
            Mistake(equals("loss"), "one row reads pairs, the other full rows of running text."),
            Mistake(equals("format"), "one of the rows has no NSP loss at all."),
        ),
        "compare what each row reads, and what it is trained on.",
    )
    return Checker(
        "ex-brt-next",
        "extension",
        {"order": order, "near": close, "rows differ in": differ},
        "A number such as 97 % means something only beside such a rule and such pairs.",
    )


def build() -> Checker:
    """Write the mask, the input and the loss that make a BERT of a GPT."""
    sizes = ((3,), (5,))
    may_read = Part(
        Function("may_read(n_tokens)", sizes, Numbers((None, None))),
        acts_like(lambda n: np.ones((n, n)), sizes),
        (
            Mistake(acts_like(np.tri, sizes), "that is GPT's triangle; BERT reads both sides."),
            Mistake(
                acts_like(lambda n: 1 - np.eye(n), sizes),
                "a token may read itself; where it is hidden, it is `[MASK]` that is read.",
            ),
            Mistake(acts_like(lambda n: np.zeros((n, n)), sizes), "1 means may read."),
        ),
        "which keys are forbidden to a query of BERT?",
    )
    texts = (([5, 2, 7, 2], [0, 1, 0, 0], 9), ([1, 1, 3], [1, 0, 1], 4))
    read = Part(
        Function("read(ids, selected, mask_id)", texts, Numbers((None,))),
        acts_like(_read, texts),
        (
            Mistake(acts_like(lambda ids, selected, mask_id: ids, texts), "nothing is hidden."),
            Mistake(
                acts_like(lambda i, s, m: _read(i, 1 - np.array(s), m), texts),
                "yours hides the tokens that were not selected.",
            ),
        ),
        "put `mask_id` where `selected` is 1, and leave the rest.",
    )
    cases = _loss_cases()
    loss = Part(
        Function("loss(logits, ids, selected)", cases, Number("nats")),
        acts_like(_masked_loss, cases),
        (
            Mistake(
                acts_like(partial(_masked_loss, is_everywhere=True), cases),
                "that asks everywhere; the visible tokens do not count.",
            ),
            Mistake(
                acts_like(partial(_masked_loss, is_sum=True), cases),
                "that is the sum; the loss is the mean over the selected tokens.",
            ),
            Mistake(
                acts_like(partial(_masked_loss, is_shifted=True), cases),
                "yours asks for the next token. BERT's answer stood at the same place.",
            ),
            Mistake(
                acts_like(lambda *case: _masked_loss(*case) / np.log(2), cases),
                "that is in bits.",
            ),
            Mistake(
                acts_like(lambda z, i, s: _masked_loss(z, i, s, is_sum=True) / len(i), cases),
                "divide by the number of selected tokens, not by all.",
            ),
        ),
        "cross-entropy with the true tokens as labels, at the selected positions only.",
    )
    explanation = "All three together are what BERT changes; the blocks are GPT's."
    parts = {"may read": may_read, "read": read, "loss": loss}
    return Checker("ex-brt-build", "warm-up", parts, explanation)


def _read(ids: Any, selected: Any, mask_id: int) -> NDArray[np.float64]:
    """Hide the selected tokens."""
    hidden: NDArray[np.float64] = np.where(np.array(selected) == 1, mask_id, ids).astype(float)
    return hidden


def _loss_cases() -> tuple[tuple[Any, ...], ...]:
    """Give logits, true tokens and selections of two short texts."""
    draw = np.random.default_rng(0)
    texts = (([1, 3, 0, 2, 2], [0, 1, 0, 1, 0]), ([2, 0, 1], [1, 0, 0]))
    return tuple(
        (draw.normal(size=(len(ids), 4)).round(2).tolist(), ids, selected)
        for ids, selected in texts
    )


def _masked_loss(
    logits: Any,
    ids: Any,
    selected: Any,
    *,
    is_everywhere: bool = False,
    is_sum: bool = False,
    is_shifted: bool = False,
) -> float:
    """Average the surprise at the selected tokens, or make one of the usual mistakes."""
    scores = np.array(logits, dtype=float)
    log_probs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    labels = np.roll(ids, -1) if is_shifted else np.array(ids)
    costs = -log_probs[np.arange(len(labels)), labels]
    costs = costs if is_everywhere else costs[np.array(selected) == 1]
    return float(costs.sum() if is_sum else costs.mean())


def positions() -> Checker:
    """Train a BERT without positions, and say what it can still know."""
    percent = {
        "with": ((40, 65), (12, 32), "that is without positions; are the two swapped?"),
        "without": ((12, 32), (40, 65), "did that model have positions? Set them to zero."),
    }
    parts = {
        name: Part(
            Number("%"),
            between(*right),
            (
                Mistake(between(*other), hint),
                Mistake(between(0.05, 0.7), "give per cent, not a share from 0 to 1."),
            ),
            "train both for 800 steps, and count the gaps that the best guess fills.",
        )
        for name, (right, other, hint) in percent.items()
    }
    known = "which characters, but not where"
    parts["can know"] = Part(
        Choice((known, "both neighbours", "nothing")),
        equals(known),
        (
            Mistake(equals("both neighbours"), "how would it know which ones are the neighbours?"),
            Mistake(equals("nothing"), "attention still fetches the characters themselves."),
        ),
        "what does attention see without positions?",
    )
    explanation = "Attention sees a set; only the positions make a text of it."
    return Checker("ex-brt-positions", "experiment", parts, explanation)


CHECKERS = {
    "ex-brt-build": build,
    "ex-brt-positions": positions,
    "ex-brt-fates": fates,
    "ex-brt-gradient": gradient,
    "ex-brt-spans": spans,
    "ex-brt-failures": failures,
    "ex-brt-next": next_sentence,
    "ex-brt-replaced": replaced,
}
