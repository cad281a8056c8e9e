# SPDX-License-Identifier: MIT
"""Bits per character across domains: comedies and histories, plays and reviews (ADV-R5).

Writes data/runs/domain_shift.json. Two studies.

Genres: counts and a small character GPT are trained on comedies or on histories, equally many
characters, and tested on both. The plays of a genre are dealt into four folds; each play is tested
once, by models that have not read it. The advantage of one's own genre is also measured without the
speaker headings, for the histories are a series and share names.

Reviews: the GPT of subwords that has read the plays goes on with reviews of the training films.
Is it better on reviews than a GPT that starts from random weights, and does it forget the plays? A
third arm mixes plays into half of each batch. Tested on the test plays and the reviews of the test
films; the learning rate is chosen on those of the validation films, alike for all arms.

Some 20 CPU-minutes. `--quick` takes few steps and little text, and writes nothing.
"""

import argparse
from dataclasses import asdict
from functools import partial
from typing import Any

from experiments.ch08_compression.domain_shift import genres, reviews
from experiments.common.arm_cache import ArmCache
from pretrain_lab.checkpoints import load_model
from pretrain_lab.corpora.loading import load_shakespeare


def study_genres(cache: ArmCache, plan: genres.Plan) -> dict[str, Any]:
    """Run all folds of the first study."""
    _, tokenizer = load_model("gpt_chars")  # only its characters
    plays = {
        genre: [play for play in load_shakespeare() if play.genre == genre]
        for genre in genres.GENRES
    }
    found = [
        cache.get(f"fold {fold}", partial(genres.run_fold, plays, tokenizer, fold, plan))
        for fold in range(plan.n_folds)
    ]
    tested = {slug for fold in found for slug in fold["gpt"]}
    plays = {genre: [p for p in group if p.slug in tested] for genre, group in plays.items()}
    lengths = [
        len(genres.genre_texts(plays, fold, None)["comedies"]) for fold in range(genres.N_FOLDS)
    ]
    return {
        "n_folds": genres.N_FOLDS, "order": genres.ORDER, "shape": genres.GENRE_SHAPE,
        "fit": genres.GENRE_FIT, "batch_size": genres.GENRE_BATCH, "n_train_chars": lengths,
        "n_plays": {genre: len(group) for genre, group in plays.items()},
        **genres.judge_genres(found, plays),
    }  # fmt: skip


def study_reviews(cache: ArmCache, plan: reviews.Plan) -> dict[str, Any]:
    """Run all arms and seeds of the second study."""
    texts, n_steps = reviews.load_texts(plan), plan.n_steps
    start, _ = load_model(reviews.START)
    before = cache.get("before", lambda: {
        name: reviews.bits_per_character(start, *part) for name, part in texts["test"].items()
    })  # fmt: skip
    tried = {
        arm: cache.get(f"rates, {arm}", partial(reviews.choose_rate, arm, texts, n_steps))
        for arm in reviews.ARMS
    }
    rates = {arm: float(min(found, key=found.__getitem__)) for arm, found in tried.items()}
    runs = {
        arm: [
            cache.get(
                f"{arm}, {seed}", partial(reviews.run_arm, arm, seed, rates[arm], texts, plan)
            )
            for seed in reviews.SEEDS
        ]
        for arm in reviews.ARMS
    }
    steps = [step for step in range(n_steps + 1) if step % plan.every == 0 or step == n_steps]
    return {
        "start": reviews.START, "n_steps": n_steps, "batch_size": reviews.BATCH,
        "seq_len": reviews.SEQ_LEN, "seeds": reviews.SEEDS, "tried": tried, "rates": rates,
        "n_train_tokens": {name: len(ids) for name, ids in texts["train"].items()},
        "n_test_chars": {name: n for name, (_, n) in texts["test"].items()},
        "curve_steps": steps,
        "before": before, "counts": cache.get("counts", lambda: reviews.judge_counts(texts)),
        **reviews.judge_arms(runs, before),
    }  # fmt: skip


def main() -> None:
    """Run both studies and write them, or try them in a few steps and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few steps; print, write nothing")
    plan = reviews.Plan.quick() if parser.parse_args().quick else reviews.Plan()
    settings = [
        asdict(plan), genres.GENRE_SHAPE, genres.GENRE_FIT, genres.ORDER, genres.N_FOLDS,
        reviews.BATCH, reviews.RATES,
    ]  # fmt: skip
    cache = ArmCache("domain_shift", settings, keep=plan.keep)
    record = {
        "question": "What is a model worth on another kind of text?",
        "unit": "bits per character",
        "interval": "95 %; genres: bootstrap over plays; reviews: Student's t over seeds",
        "genres": study_genres(cache, plan.genres),
        "reviews": study_reviews(cache, plan),
    }
    cache.conclude(record)


if __name__ == "__main__":
    main()
