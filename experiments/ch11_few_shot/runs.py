# SPDX-License-Identifier: MIT
"""Arms of the in-context study: one prompt form, one set of demonstrations, all questions.

Each function returns JSON values. Hits are kept as a string of 0 and 1, one per question, so that
any two arms can be compared question by question.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Generator, Tensor

from experiments.ch11_few_shot.tasks import BARE, CONTENT_FREE, Item, Subject, split_items
from pretrain_lab.corpora.loading import Review
from pretrain_lab.prompting.answer_scoring import (
    answer_log_probs,
    calibrate,
    greedy_answer,
    greedy_hits,
)
from pretrain_lab.prompting.templates import Example, Template, encode_answers, encode_task


def bits(hits: Tensor) -> str:
    """Write a boolean row (N,) as a string of 0 and 1."""
    return "".join("1" if hit else "0" for hit in hits.tolist())


def ask_reviews(
    subject: Subject,
    template: Template,
    labels: Sequence[str],
    demonstrations: Sequence[Example],
    reviews: Sequence[Review],
) -> dict[str, Any]:
    """Let a subject choose between two label words for each review.

    `labels` are the word for rotten and the word for fresh; `demonstrations` are in order.

    Returns:
        Hits without and with calibration; the share of questions answered by the second word, both
        ways; the probability of the second word without content; the mean probability that the
        model gives to the two words together; and the area under the ROC curve (see `ordered`).
    """
    texts = [review.sentence for review in reviews]
    prefix, questions = encode_task(
        template, demonstrations, [*texts, *CONTENT_FREE], subject.encode
    )
    answers = encode_answers(template, labels, subject.encode)
    scores = answer_log_probs(subject.read(prefix), questions, answers)
    scores, content_free = scores[: len(texts)], scores[len(texts) :]
    truth = torch.tensor([review.label for review in reviews])
    raw, calibrated = scores.argmax(dim=1), calibrate(scores, content_free).argmax(dim=1)
    return {
        "raw": bits(raw == truth),
        "calibrated": bits(calibrated == truth),
        "second": raw.double().mean().item(),
        "second_calibrated": calibrated.double().mean().item(),
        "second_without_content": content_free.softmax(dim=1)[:, 1].mean().item(),
        "mass": scores.exp().sum(dim=1).mean().item(),
        "ordered": ordered(scores[:, 1] - scores[:, 0], truth),
    }


def ordered(scores: Tensor, truth: Tensor) -> float:
    """Return the area under the ROC curve, which no shift of the threshold changes.

    `scores` are float (N,), higher = more positive; `truth` is int64 (N,), 0 or 1, both present.
    The area is the share of pairs of a positive and a negative in the right order; ties count half.
    """
    gaps = scores[truth == 1][:, None] - scores[truth == 0][None, :]
    return float(((gaps > 0).double() + 0.5 * (gaps == 0).double()).mean())


def ask_words(
    subject: Subject, template: Template, k: int, items: Sequence[Item], draw: int
) -> dict[str, Any]:
    """Let a subject write the answer by itself, and see whether it is an accepted one.

    There are k ≤ 8 demonstrations, drawn with the seed `draw`; they are left out of the test for
    every k. Returns hits, and the places of the items that were asked.
    """
    demonstrations, asked = split_items(items, draw)
    texts = [items[i].text for i in asked]
    prefix, questions = encode_task(template, demonstrations[:k], texts, subject.encode)
    accepted = [encode_answers(template, items[i].accepted, subject.encode) for i in asked]
    hits = greedy_hits(subject.read(prefix), questions, accepted, subject.goes_on)
    return {"hits": bits(hits), "asked": asked}


def choose_words(subject: Subject, k: int, items: Sequence[Item], draw: int) -> dict[str, Any]:
    """Let a subject choose among four answers, which is easier than writing one; chance is 1/4.

    The prompt names no task. The three wrong answers are those of other items. An answer counts by
    how much likelier the question makes it than the content-free question "thing" does. There are k
    ≤ 8 demonstrations; `draw` is the seed of these and of wrong answers.

    Returns hits, and the places of the items that were asked.
    """
    demonstrations, asked = split_items(items, draw)
    texts = [items[i].text for i in asked]
    prefix, questions = encode_task(BARE, demonstrations[:k], [*texts, "thing"], subject.encode)
    answers = encode_answers(BARE, [item.accepted[0] for item in items], subject.encode)
    reader = subject.read(prefix)
    usual = answer_log_probs(reader, questions[-1:], answers)[0]
    generator = Generator().manual_seed(200 + draw)
    hits = []
    for question, right in zip(questions[:-1], asked, strict=True):
        offered = [right, *_wrong_answers(items, right, generator)]
        gain = answer_log_probs(reader, [question], [answers[i] for i in offered])[0]
        hits.append(bool((gain - usual[offered]).argmax() == 0))
    return {"hits": bits(torch.tensor(hits)), "asked": asked}


def _wrong_answers(items: Sequence[Item], right: int, generator: Generator) -> list[int]:
    """Draw three items whose first answers differ and are not accepted for the item `right`."""
    chosen: list[int] = []
    taken = set(items[right].accepted)
    for i in torch.randperm(len(items), generator=generator).tolist():
        if len(chosen) < 3 and items[i].accepted[0] not in taken:
            chosen.append(i)
            taken.add(items[i].accepted[0])
    return chosen


def written_answers(
    subject: Subject, template: Template, demonstrations: Sequence[Example], texts: Sequence[str]
) -> list[tuple[str, str]]:
    """Let a subject write up to eight tokens after each question, to look at: (text, answer) pairs.

    An answer is read to the end of its line.
    """
    prefix, questions = encode_task(template, demonstrations, texts, subject.encode)
    reader = subject.read(prefix)
    answers = [subject.decode(greedy_answer(reader, ids, max_tokens=8)) for ids in questions]
    return [
        (text, answer.strip("\n").split("\n")[0].strip())
        for text, answer in zip(texts, answers, strict=True)
    ]
