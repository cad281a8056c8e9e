# SPDX-License-Identifier: MIT
"""What a frozen decoder does with 0 to 8 demonstrations; writes data/runs/in_context.json.

Reviews, word pairs and sums are asked of SmolLM2-135M-Instruct (tuned on instructions, weights
rounded to 4 bits) without a change of its weights: by number of demonstrations, wording, label
words, order, and with wrong labels. Beside it: a bag of words with n labels, a list of words, and
two GPTs of this book. It is no blind test: pilots on up to 120 of the reviews, on word pairs and on
short reviews came first. Wordings and label words stood before them and were not changed.

Run: python -m experiments.ch11_few_shot            (about an hour; goes on after a stop)
     python -m experiments.ch11_few_shot --quick    (a few questions each; prints, keeps nothing)
"""

import argparse
import itertools
from dataclasses import asdict
from functools import partial
from typing import Any

import torch

from experiments.ch11_few_shot.reviews import (
    Plan,
    Study,
    baselines,
    comparisons,
    curve,
    orders,
    other_forms,
    wrong_labels,
)
from experiments.ch11_few_shot.runs import ask_reviews, ask_words, choose_words, written_answers
from experiments.ch11_few_shot.tasks import (
    BARE,
    LABELS,
    NAMED,
    REVIEW,
    SUM,
    SUMS,
    balanced_reviews,
    decoder,
    own_gpt,
    review_demonstrations,
    split_items,
    sum_items,
    word_items,
)
from experiments.common.arm_cache import ArmCache
from experiments.common.statistics import summary
from pretrain_lab.corpora.loading import load_reviews

OWN = ("gpt_chars", "worldview_gpt")


def on_items(study: Study, arm: str, compute: Any) -> dict[str, Any]:
    """Summarise an arm that answers word pairs or sums, over all draws."""
    found = study.draws(arm, study.plan.n_draws_items, compute)
    return summary([each["hits"] for each in found], asked=[each["asked"] for each in found])


def words_and_sums(study: Study) -> dict[str, Any]:
    """Word pairs in a prompt that names the task and in a bare one, and arithmetic."""
    n_items = study.plan.n_items
    forms: dict[str, Any] = {f"{task}/named": (t, word_items(task)) for task, t in NAMED.items()}
    forms |= {f"{task}/bare": (BARE, word_items(task)) for task in NAMED}
    forms |= {f"{task}/sum": (SUM, sum_items(task)) for task in SUMS}
    found: dict[str, Any] = {}
    for arm, (template, items) in forms.items():
        task, form = arm.split("/")
        found.setdefault(task, {})[form] = {
            str(k): on_items(
                study,
                f"items/{arm}/{k}",
                partial(ask_words, decoder(), template, k, items[:n_items]),
            )
            for k in study.plan.k
        }
    return found


def own_models(study: Study) -> dict[str, Any]:
    """The decoder and two GPTs of this book: word pairs to write or choose, and short reviews."""
    return {name: _one_model(study, name) for name in ("decoder", *OWN)}


def _one_model(study: Study, name: str) -> dict[str, Any]:
    """Ask one model what fits into the context of the smallest."""
    subject = decoder() if name == "decoder" else own_gpt(name)
    words: dict[str, Any] = {}
    for task, k in itertools.product(NAMED, study.plan.k_own):
        items = word_items(task)[: study.plan.n_items]
        ways: dict[str, Any] = {
            "write": partial(ask_words, subject, BARE, k, items),
            "choose": partial(choose_words, subject, k, items),
        }
        for way, ask in ways.items():
            known = name == "decoder" and way == "write"  # asked in `words_and_sums`
            arm = f"items/{task}/bare/{k}" if known else f"own/{name}/{task}/{way}/{k}"
            cell = on_items(study, arm, ask)
            words.setdefault(task, {}).setdefault(way, {})[str(k)] = cell
    limit = study.plan.short
    short = [review for review in load_reviews("test") if len(review.sentence) <= limit]
    short = balanced_reviews(short, study.plan.n_short, seed=0)
    asked = study.cache.get(
        f"own/{name}/reviews", partial(ask_reviews, subject, REVIEW, LABELS, [], short)
    )
    films = [review.film for review in short]
    scores = {way: summary([asked[way]], films) for way in ("raw", "calibrated")}
    return {"words": words, "reviews": {**scores, "ordered": asked["ordered"]}}


def examples(study: Study) -> dict[str, Any]:
    """What each model writes by itself, for a look: without demonstrations, and after four."""
    opposites, sums = word_items("opposites"), sum_items("two-digit sums")
    reviews = [(review.sentence, "") for review in study.reviews]
    forms: dict[str, Any] = {
        "opposites": (BARE, *split_items(opposites, 0), [(i.text, "") for i in opposites]),
        "sums": (SUM, *split_items(sums, 0), [(i.text, "") for i in sums]),
        "reviews": (REVIEW, review_demonstrations(4, 0), range(len(reviews)), reviews),
    }
    found: dict[str, Any] = {}
    for name, task in [
        *itertools.product(("decoder",), forms),
        *((own, "opposites") for own in OWN),
    ]:
        template, shown, places, items = forms[task]
        texts = [items[i][0] for i in [*places][: study.plan.n_examples]]
        subject = decoder() if name == "decoder" else own_gpt(name)
        for k in (0, 4):
            ask = partial(written_answers, subject, template, shown[:k], texts)
            cell = study.cache.get(f"examples/{name}/{task}/{k}", ask)
            found.setdefault(name, {}).setdefault(task, {})[str(k)] = cell
    return found


def main() -> None:
    """Run what is not done yet, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few questions; print, keep nothing")
    quick = parser.parse_args().quick
    torch.set_num_threads(1)
    plan = Plan.quick() if quick else Plan()
    study = Study(plan, ArmCache("in_context", asdict(plan), keep=not quick))
    parts = (
        curve,
        wrong_labels,
        words_and_sums,
        other_forms,
        orders,
        own_models,
        baselines,
        examples,
    )
    record: dict[str, Any] = {"settings": asdict(plan)}
    for part in parts:
        record[part.__name__] = part(study)
        print(f"{part.__name__}: {study.cache.cpu_seconds:.0f} CPU-seconds so far", flush=True)
    record["comparisons"] = comparisons(study)
    record["n_films"] = len({review.film for review in study.reviews})
    study.cache.conclude(record)


if __name__ == "__main__":
    main()
