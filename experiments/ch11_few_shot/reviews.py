# SPDX-License-Identifier: MIT
"""The reviews of the in-context study: demonstrations, wordings, labels, orders, baselines."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Generator

from experiments.ch11_few_shot.bag_of_words import N_LABELS, bag_of_words, word_list_hits
from experiments.ch11_few_shot.runs import ask_reviews
from experiments.ch11_few_shot.tasks import (
    LABEL_WORDS,
    LABELS,
    REVIEW,
    WORDINGS,
    balanced_reviews,
    decoder,
    review_demonstrations,
)
from experiments.common.arm_cache import ArmCache
from experiments.common.statistics import compare, summary
from pretrain_lab.corpora.loading import load_reviews
from pretrain_lab.prompting.templates import Template, relabel

PER_DRAW = ("second", "second_calibrated", "second_without_content", "mass", "ordered")


@dataclass(frozen=True)
class Plan:
    """How many questions, demonstrations, draws and labels."""

    n_reviews: int = 300
    n_forms: int = 200
    n_order: int = 80
    n_short: int = 300
    short: int = 100  # characters of a review that fits into the smallest model
    k: tuple[int, ...] = (0, 1, 2, 4, 8)
    k_other: int = 4
    k_own: tuple[int, ...] = (0, 1, 2, 4)
    n_draws: int = 5
    n_draws_forms: int = 3
    n_draws_items: int = 3
    n_label_seeds: int = 20
    n_labels: tuple[int, ...] = N_LABELS
    n_items: int = 200
    n_examples: int = 4

    @classmethod
    def quick(cls) -> "Plan":
        """Ask a few questions each."""
        return cls(
            n_reviews=4, n_forms=2, n_order=2, n_short=4, k=(0, 1), k_own=(0, 1), k_other=1,
            n_draws=1, n_draws_forms=1, n_draws_items=1, n_label_seeds=1, n_labels=(4, 8),
            n_items=10, n_examples=1,
        )  # fmt: skip


class Study:
    """Runs arms that are not done yet, and turns their hits into intervals.

    `reviews` are of test films, half positive; `hits` are those of every arm on them, for paired
    comparisons.
    """

    def __init__(self, plan: Plan, cache: ArmCache) -> None:
        """Draw the reviews that all arms are asked about."""
        self.plan, self.cache = plan, cache
        self.reviews = balanced_reviews(load_reviews("test"), plan.n_reviews, seed=0)
        self.hits: dict[str, list[str]] = {}

    def draws(self, arm: str, n: int, compute: Callable[[int], Any]) -> list[Any]:
        """Return the results of an arm for draws 0 to n - 1."""
        return [self.cache.get(f"{arm}/{i}", partial(compute, i)) for i in range(n)]

    def on_reviews(self, arm: str, n: int, compute: Callable[[int], Any]) -> dict[str, Any]:
        """Summarise an arm that answers the reviews, without and with calibration."""
        found = self.draws(arm, n, compute)
        films = [review.film for review in self.reviews]
        result: dict[str, Any] = {key: [each[key] for each in found] for key in PER_DRAW}
        for way in ("raw", "calibrated"):
            self.hits[f"{arm} {way}"] = rows = [each[way] for each in found]
            result[way] = summary(rows, films[: len(rows[0])])
        return result

    def ask(
        self,
        template: Template,
        labels: tuple[str, str],
        k: int,
        how: str,
        draw: int,
        n: int | None = None,
    ) -> dict[str, Any]:
        """Ask the first n reviews behind k demonstrations of one draw, relabelled as `how` says."""
        shown = review_demonstrations(k, draw, labels)
        shown = relabel(shown, labels, how, generator=Generator().manual_seed(300 + draw))
        return ask_reviews(decoder(), template, labels, shown, self.reviews[:n])


def curve(study: Study) -> dict[str, Any]:
    """Reviews by number of demonstrations; without any, one draw is all there is."""
    n_draws = study.plan.n_draws
    return {
        str(k): study.on_reviews(
            f"curve/{k}", n_draws if k else 1, partial(study.ask, REVIEW, LABELS, k, "true")
        )
        for k in study.plan.k
    }


def other_forms(study: Study) -> dict[str, Any]:
    """Reviews in other wordings, and with other label words, without and with demonstrations.

    All forms are asked the same reviews behind the same demonstrations.
    """
    forms: dict[str, tuple[Template, Any]] = {
        f"wording/{name}": (t, LABELS) for name, t in WORDINGS.items()
    }
    forms |= {f"labels/{name}": (REVIEW, words) for name, words in LABEL_WORDS.items()}
    n_forms, n_draws = study.plan.n_forms, study.plan.n_draws_forms
    found: dict[str, Any] = {"wording": {}, "labels": {}}
    for arm, (template, labels) in forms.items():
        plain = (template, labels) == (REVIEW, LABELS)
        kind, name = arm.split("/", 1)
        found[kind][name] = {
            str(k): study.on_reviews(
                f"plain/{k}" if plain else f"{arm}/{k}",  # the plain form stands in both tables
                n_draws if k else 1,
                partial(study.ask, template, labels, k, "true", n=n_forms),
            )
            for k in (0, study.plan.k_other)
        }
    return found


def wrong_labels(study: Study) -> dict[str, Any]:
    """Demonstrations whose labels are true, drawn at random, or all wrong."""
    k = max(study.plan.k)
    return {
        how: study.on_reviews(
            f"curve/{k}" if how == "true" else f"wrong/{how}",
            study.plan.n_draws,
            partial(study.ask, REVIEW, LABELS, k, how),
        )
        for how in ("true", "random", "next")
    }


def orders(study: Study) -> dict[str, Any]:
    """All orders of the same demonstrations, those of draw 0, on fewer reviews."""
    shown = review_demonstrations(study.plan.k_other, 0)
    permutations = list(itertools.permutations(shown))
    reviews = study.reviews[: study.plan.n_order]

    def ask(i: int) -> dict[str, Any]:
        """Ask with the i-th order."""
        return ask_reviews(decoder(), REVIEW, LABELS, permutations[i], reviews)

    found = study.on_reviews("order", len(permutations), ask)
    return {**found, "labels": [[label for _, label in each] for each in permutations]}


def baselines(study: Study) -> dict[str, Any]:
    """A bag of words with n labels, and a list of forty words without any."""
    films = [review.film for review in study.reviews]
    found: dict[str, Any] = {"default": {}, "tuned": {}}
    for n in study.plan.n_labels:
        fit = partial(bag_of_words, study.reviews, n)
        rows = study.draws(f"bag/{n}", study.plan.n_label_seeds, fit)
        for way in ("default", "tuned"):
            study.hits[f"bag/{n} {way}"] = [row[way] for row in rows]
            found[way][str(n)] = summary(study.hits[f"bag/{n} {way}"], films)
    listed = word_list_hits(study.reviews)
    found["word_list"] = summary([listed.tolist()], films)
    found["word_list"]["undecided"] = float((listed == 0.5).double().mean())
    return found


def comparisons(study: Study) -> dict[str, Any]:
    """Differences on the same reviews; in those to wrong labels the demonstrations are the same."""
    films = [review.film for review in study.reviews]
    most = max(study.plan.k)
    pairs: dict[str, tuple[str, str, bool]] = {}  # two arms, and whether their draws are the same
    for way in ("raw", "calibrated"):
        pairs[f"k={most} minus k=0, {way}"] = f"curve/{most} {way}", f"curve/0 {way}", False
        for k, n in itertools.product(study.plan.k, study.plan.n_labels):
            name = f"k={k} {way} minus bag of {n}"
            pairs[name] = f"curve/{k} {way}", f"bag/{n} default", False
        for how in ("random", "next"):
            name = f"true minus {how} labels, {way}"
            pairs[name] = f"curve/{most} {way}", f"wrong/{how} {way}", True
    for k in study.plan.k:
        pairs[f"calibrated minus raw, k={k}"] = f"curve/{k} calibrated", f"curve/{k} raw", True
    return {
        name: compare(study.hits[first], study.hits[second], films, same_draws=same)
        for name, (first, second, same) in pairs.items()
    }
