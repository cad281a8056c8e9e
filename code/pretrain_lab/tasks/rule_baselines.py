# SPDX-License-Identifier: MIT
"""What the tasks of the plays yield without any model: rules that a trained one must beat.

Each rule is fitted on the training split at most.
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from pretrain_lab.corpora.scenes import normalise_word, play_words, training_words
from pretrain_lab.tasks.character_ner import NamePassage
from pretrain_lab.tasks.speakers import SpeakerChange, SpeakerQuestion

Tags = Sequence[Sequence[str]]


class Scores(NamedTuple):
    """Precision, recall and F1 of whole names."""

    precision: float
    recall: float
    f1: float


def majority_share(train: Sequence[Hashable], test: Sequence[Hashable]) -> float:
    """Compute the share of the test labels that the most frequent training label hits.

    Raises:
        ValueError: One of the two is empty.
    """
    if not train or not test:
        raise ValueError(f"expected labels, got {len(train)} and {len(test)}")
    guess = Counter(train).most_common(1)[0][0]
    return sum(label == guess for label in test) / len(test)


def speaker_change_rules(
    train: Sequence[SpeakerChange], test: Sequence[SpeakerChange]
) -> dict[str, float]:
    """Guess a change of speaker from lengths and a question mark: rule -> share of right guesses.

    The rules are "majority", "question" (the first sentence asks: change), "first length" and
    "second length" (number of words). The thresholds, and the side of them that means a change, are
    fitted on the training pairs.
    """
    rules = {
        "majority": majority_share([p.label for p in train], [p.label for p in test]),
        "question": sum((p.first[-1] == "?") == p.label for p in test) / len(test),
    }
    lengths: dict[str, Callable[[SpeakerChange], int]] = {
        "first length": lambda pair: len(pair.first.split()),
        "second length": lambda pair: len(pair.second.split()),
    }
    for name, length in lengths.items():
        known = [(length(pair), pair.label) for pair in train]
        asked = [(length(pair), pair.label) for pair in test]
        limit, short_means = max(
            ((limit, side) for limit in range(1, 40) for side in (0, 1)),
            key=lambda rule: _hits(known, *rule),
        )
        rules[name] = _hits(asked, limit, short_means) / len(asked)
    return rules


def _hits(items: Sequence[tuple[int, int]], limit: int, short_means: int) -> int:
    """Count the (length, label) for which "up to the limit: `short_means`, else not" is right."""
    return sum(((length <= limit) == short_means) == label for length, label in items)


def name_rules(train: Sequence[NamePassage], test: Sequence[NamePassage]) -> dict[str, Scores]:
    """Mark names by lists and by rarity: rule -> scores.

    The rules are "list" (words that are marked in training), "unseen" (words that the training
    plays hold nowhere) and "capital" (words with a capital that do not begin a sentence; finds
    nothing in lower case).
    """
    pairs = (pair for p in train for pair in zip(p.words, p.tags, strict=True))
    known = {normalise_word(word) for word, tag in pairs if tag != "O"}
    marked: dict[str, list[list[str]]] = {"list": [], "unseen": [], "capital": []}
    for passage in test:
        bare = [normalise_word(word) for word in passage.words]
        marked["list"].append(["B" if w in known else "O" for w in bare])
        marked["unseen"].append(mark_unseen(passage))
        inner = [None, *passage.words[:-1]]  # the word before; None at the start
        marked["capital"].append(
            ["B" if w[0].isupper() and _inside(before) and len(normalise_word(w)) > 1 else "O"
             for w, before in zip(passage.words, inner, strict=True)]
        )  # fmt: skip
    truth = [passage.tags for passage in test]
    return {rule: entity_f1(tags, truth) for rule, tags in marked.items()}


def mark_unseen(passage: NamePassage, n_times: int = 1) -> list[str]:
    """Tag words B that the training plays hold nowhere, without case and punctuation; else O.

    With `n_times` > 1, only those that the passage's own play holds so often: a character is
    addressed again and again. That takes the whole play, of which a passage shows 32 words.
    """
    seen = training_words()
    bare = [normalise_word(word) for word in passage.words]
    marked = [bool(word) and word not in seen for word in bare]
    if n_times > 1:
        counts = play_words(passage.play)
        marked = [yes and counts[word] >= n_times for yes, word in zip(marked, bare, strict=True)]
    return ["B" if yes else "O" for yes in marked]


def _inside(before: str | None) -> bool:
    """Say whether a sentence goes on after this word; what is cut off counts as a beginning."""
    return before is not None and before[-1] not in ".?!:-"


def entity_f1(marked: Tags, truth: Tags) -> Scores:
    """Compare marked names with the true ones, as wholes; a share without a denominator is 0.

    An I that follows no B or I starts a name.

    Raises:
        ValueError: Passages or their lengths differ.

    Source: the scoring of CoNLL-2003 (Tjong Kim Sang & De Meulder 2003).
    """
    if [len(tags) for tags in marked] != [len(tags) for tags in truth]:
        raise ValueError("expected as many tags as words in every passage, got other lengths")
    found = {(i, span) for i, tags in enumerate(marked) for span in bio_spans(tags)}
    real = {(i, span) for i, tags in enumerate(truth) for span in bio_spans(tags)}
    precision = len(found & real) / len(found) if found else 0.0
    recall = len(found & real) / len(real) if real else 0.0
    total = precision + recall
    return Scores(precision, recall, 2 * precision * recall / total if total else 0.0)


def bio_spans(tags: Sequence[str]) -> list[tuple[int, int]]:
    """List names, tagged "O", "B" or "I" for each word, as (first word, word after the last)."""
    spans: list[tuple[int, int]] = []
    for place, tag in enumerate(tags):
        if tag == "B" or (tag == "I" and (not spans or spans[-1][1] != place)):
            spans.append((place, place + 1))
        elif tag == "I":
            spans[-1] = (spans[-1][0], place + 1)
    return spans


def speaker_rules(test: Sequence[SpeakerQuestion]) -> dict[str, float]:
    """Answer who speaks without reading the line: rule -> share of right names.

    The rules are "first" and "last" heading, "commonest" (the first of the most frequent ones),
    "drawn" (a heading drawn uniformly, on average); and "above", the heading above the line, which
    is the rule that made the labels and always right.
    """
    hits: Counter[str] = Counter()
    drawn = 0.0
    for question in test:
        found = headings(question.context)
        names = [name for _, name in found]
        line = question.context.index(question.line)
        guesses = {
            "first": names[0],
            "last": names[-1],
            "commonest": Counter(names).most_common(1)[0][0],
            "above": max(pair for pair in found if pair[0] < line)[1],
        }
        hits.update(rule for rule, name in guesses.items() if name == question.answer)
        drawn += names.count(question.answer) / len(names)
    shares = {rule: hits[rule] / len(test) for rule in ("first", "last", "commonest", "above")}
    return {**shares, "drawn": drawn / len(test)}


def headings(context: str) -> list[tuple[int, str]]:
    """List the headings of a context: place and name."""
    found = re.finditer(r"(?:^|\n\n)([^:\n]+):\n", context)
    return [(match.start(1), match[1]) for match in found]
