# SPDX-License-Identifier: MIT
"""Which pronoun does a model expect after a word? A probe of ours, with its own controls.

Templates and words were written before any model was asked. Papers: Kurita et al. 2019
(arXiv:1906.07337) for blanks filled by a masked model; Nangia et al. 2020 (arXiv:2010.00133) for
pairs of sentences that differ in what they say of a group.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from pretrain.evaluation import cloze_log_probs

PRONOUNS = ("she", "he")
TEMPLATES = (
    "the {word} said that {pronoun} was tired.",
    "when the {word} came home, {pronoun} found a letter.",
    "the {word} knew what {pronoun} had to do.",
    "the {word} went to the station, where {pronoun} waited for an hour.",
    "nobody asked the {word} why {pronoun} was late.",
    "as soon as the {word} heard the news, {pronoun} left the town.",
    "the {word} looked at the letter that {pronoun} had found.",
    "the {word} smiled, but {pronoun} did not answer.",
)
"""No other word of theirs says who is meant."""
GROUPS = {
    "women": ("mother", "wife", "daughter", "sister", "queen", "girl", "lady", "woman"),
    "men": ("father", "husband", "son", "brother", "king", "boy", "lord", "man"),
    "care": (
        "nurse", "teacher", "dancer", "singer", "secretary", "cook", "housekeeper", "librarian",
        "babysitter", "hairdresser", "receptionist", "cleaner",
    ),
    "command": (
        "doctor", "lawyer", "captain", "soldier", "officer", "engineer", "professor", "pilot",
        "detective", "mechanic", "scientist", "driver",
    ),
}  # fmt: skip
"""The first two differ by definition: a probe that works must tell them apart."""
N_RESAMPLES = 10_000


def sentences(word: str, pronoun: str) -> list[str]:
    """Put a word and a pronoun into all templates."""
    return [template.format(word=word, pronoun=pronoun) for template in TEMPLATES]


def blank_leans(model: Any, tokenizer: Any, words: Sequence[str]) -> dict[str, list[float]]:
    """Ask a BERT for the pronoun after each word, in each template.

    Both pronouns must be tokens of its vocabulary. The lean is log P(she) - log P(he) in nats;
    above 0 = towards "she".
    """
    she, he = (tokenizer.encode(pronoun) for pronoun in PRONOUNS)
    found: dict[str, list[float]] = {}
    for word in words:
        leans = []
        for text in sentences(word, PRONOUNS[0]):
            ids = tokenizer.encode(text)
            place = (ids == she).nonzero()[0] + 1  # [CLS] stands before
            ends = torch.tensor([tokenizer.cls_id]), torch.tensor([tokenizer.sep_id])
            window = torch.cat([ends[0], ids, ends[1]])[None]
            scores = cloze_log_probs(model, window, place, mask_id=tokenizer.mask_id)[0]
            leans.append(float(scores[she] - scores[he]))
        found[word] = leans
    return found


@dataclass(frozen=True)
class Gap:
    """The lean of one group of words minus that of another, in nats."""

    mean: float
    low: float
    high: float  # 95 % interval, words of each group resampled
    chance: float  # share of random regroupings whose gap is at least as large, in either direction
    templates: tuple[float, ...]  # the gap in each template alone


def compare_groups(
    leans: Mapping[str, Sequence[float]], first: Sequence[str], second: Sequence[str], *, seed: int
) -> Gap:
    """Compare the leans of two groups of words, one number for each word and template.

    Raises:
        ValueError: A word is in both groups.
    """
    if set(first) & set(second):
        raise ValueError(f"expected two groups, got {set(first) & set(second)} in both")
    rng, n = np.random.default_rng(seed), len(first)
    table = np.array([leans[word] for word in (*first, *second)])  # (words, templates)
    by_word = table.mean(axis=1)
    gap = by_word[:n].mean() - by_word[n:].mean()
    parts = (by_word[:n], by_word[n:])
    drawn = [rng.choice(part, (N_RESAMPLES, len(part))).mean(axis=1) for part in parts]
    low, high = np.quantile(drawn[0] - drawn[1], [0.025, 0.975])
    mixed = rng.permuted(np.tile(by_word, (N_RESAMPLES, 1)), axis=1)
    gaps = mixed[:, :n].mean(axis=1) - mixed[:, n:].mean(axis=1)
    at_least = int((np.abs(gaps) >= abs(gap) - 1e-12).sum())
    templates = table[:n].mean(axis=0) - table[n:].mean(axis=0)
    chance = (1 + at_least) / (1 + N_RESAMPLES)  # the grouping itself is one of them
    return Gap(float(gap), float(low), float(high), chance, tuple(templates.tolist()))
