# SPDX-License-Identifier: MIT
"""Next-sentence prediction on plays: how easy it is, and what it is easy by (BRT-T3).

Writes data/runs/next_sentence.json. One BERT on subwords first learns to fill blanks, in windows
that grow. It then goes on in three ways, with equal steps and three seeds each (of the batches and
of the new head, not of the beginning that all share):

masked   neighbouring segments, masked tokens only;
next     half of the second segments come from another play (BERT);
order    half of the pairs are swapped (ALBERT).

All are then asked about the same pairs of unseen plays. True pairs are neighbours; the false ones
are of five kinds, from easy to hard:

other    the second segment is from another play, as in training;
nameless the same without the lines that name the speakers;
same     from the same play;
near     from the same play, at most 30 speeches away;
order    the two neighbours, swapped.

Judges are the model's own head, a logistic regression on the frozen encoder, and a logistic
regression on nothing but shared words, shared speakers and lengths.

Takes about twelve minutes on one core. `--quick` makes a few steps with one seed, prints the
result and writes nothing.
"""

import argparse
import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, nn

from experiments.ch05_bert.pair_probes import (
    Questions,
    SharedWords,
    answer,
    judge,
    judge_model,
    judge_words,
)
from experiments.common.records import Clock, rounded, seed_interval, write_run
from experiments.common.special_ids import special_of
from pretrain.bert import BERT, BERTConfig
from pretrain.objectives import IGNORE_INDEX, MaskedLM, corrupt_mlm
from pretrain.training import Evaluate, OptimConfig, fit
from pretrain_lab.corpora.loading import SPLITS, load_shakespeare
from pretrain_lab.finetuning.next_sentence import (
    NextSentenceBERT,
    next_sentence_loss,
    pack_segments,
)
from pretrain_lab.statistics.intervals import wilson_interval
from pretrain_lab.tasks.sentence_pairs import (
    Pairs,
    Segments,
    find_segments,
    next_sentence_pairs,
    sentence_order_pairs,
    true_pairs,
)
from pretrain_lab.tokenizers.segments import Packed
from pretrain_lab.tokenizers.subwords import SubwordTokenizer, load_tokenizer

SEEDS = (0, 1, 2)
START_SEED = 10
ARMS = {"masked": "none", "next": "next", "order": "order"}
SHAPE: dict[str, Any] = {
    "d_model": 96, "n_layers": 3, "n_heads": 4, "max_len": 128, "n_segments": 2, "init_std": 0.05,
}  # fmt: skip
WINDOW_STAGES: tuple[dict[str, Any], ...] = (
    {"seq_len": 8, "batch_size": 256,
     "fit": {"n_steps": 400, "lr": 3e-3, "n_warmup": 50, "final_lr": 0.9}},
    {"seq_len": 32, "batch_size": 64,
     "fit": {"n_steps": 300, "lr": 3e-3, "n_warmup": 20, "final_lr": 0.8}},
    {"seq_len": 128, "batch_size": 16,
     "fit": {"n_steps": 1200, "lr": 2e-3, "n_warmup": 50, "final_lr": 0.5}},
)  # fmt: skip
"""Masked tokens in windows of running text, before there are pairs; the same for all arms."""
PAIR_STAGE: dict[str, Any] = {
    "max_tokens": 60, "batch_size": 16,
    "fit": {"n_steps": 500, "lr": 1e-3, "n_warmup": 30, "final_lr": 0.05},
}  # fmt: skip
N_PAIRS, N_PROBE, N_CURVE, CURVE_EVERY = 800, 800, 300, 100
FAR, NEAR = 10**6, 30
KINDS: dict[str, Callable[..., Pairs]] = {
    "other": next_sentence_pairs,
    "same": partial(next_sentence_pairs, reach=FAR),
    "near": partial(next_sentence_pairs, reach=NEAR),
    "order": sentence_order_pairs,
}


@dataclass(frozen=True)
class Plan:
    """How much is trained and asked."""

    seeds: tuple[int, ...] = SEEDS
    n_steps: int | None = None  # of each stage; None = as its recipe says
    n_pairs: int = N_PAIRS
    n_probe: int = N_PROBE
    n_curve: int = N_CURVE

    @classmethod
    def quick(cls) -> "Plan":
        """Make a few steps with one seed."""
        return cls(SEEDS[:1], 4, N_PAIRS // 10, N_PROBE // 10, N_CURVE // 10)

    def steps(self, recipe: dict[str, Any]) -> tuple[int, int]:
        """Return steps and warm-up of a stage."""
        n_steps = self.n_steps or recipe["n_steps"]
        return n_steps, min(recipe["n_warmup"], n_steps // 2)


def speeches(split: str, tokenizer: SubwordTokenizer, *, names: bool = True) -> Segments:
    """Cut the plays of a split into speeches, and gather segments of whole speeches."""
    documents = [
        [
            tokenizer.encode((f"{s.speaker}:\n" if names else "") + f"{s.text}\n\n")
            for s in play.speeches
        ]
        for play in load_shakespeare(split)
    ]
    return find_segments(documents, PAIR_STAGE["max_tokens"])


def draw_pairs(kinds: tuple[str, ...], where: Segments, n: int, seed: int) -> Questions:
    """Draw the pairs of some kinds, half true and half false."""
    generator = Generator().manual_seed(seed)
    return {kind: (where, KINDS[kind](where, n, generator=generator)) for kind in kinds}


def learn_blanks(tokenizer: SubwordTokenizer, plan: Plan) -> BERT:
    """Train what all arms start from."""
    ids = tokenizer.encode("\n".join(play.text for play in load_shakespeare("train")))
    torch.manual_seed(START_SEED)
    model = BERT(BERTConfig(tokenizer.vocab_size, **SHAPE))
    generator = Generator().manual_seed(START_SEED)
    for stage in WINDOW_STAGES:
        n_steps, n_warmup = plan.steps(stage["fit"])
        history = fit(
            model,
            MaskedLM(
                ids,
                batch_size=stage["batch_size"],
                seq_len=stage["seq_len"],
                **special_of(tokenizer),
            ),
            OptimConfig(
                lr=stage["fit"]["lr"], final_lr=stage["fit"]["final_lr"], n_warmup=n_warmup
            ),
            n_steps=n_steps,
            generator=generator,
        )
        last = sum(history.losses[-50:]) / len(history.losses[-50:])
        print(f"windows of {stage['seq_len']}: {last:.3f} nats", flush=True)
    return model


def train_arm(
    start: BERT, arm: str, texts: dict[str, Any], seed: int, plan: Plan
) -> tuple[NextSentenceBERT, list[tuple[int, float]]]:
    """Train further from the common beginning in one of the three ways.

    Returns the model, and (steps, accuracy of its head on validation pairs of its own kind).
    """
    torch.manual_seed(seed)
    model = NextSentenceBERT(copy.deepcopy(start))
    loss = next_sentence_loss(
        texts["train"], texts["tokenizer"], batch_size=PAIR_STAGE["batch_size"], pairing=ARMS[arm]
    )
    where, pairs = texts["watched"]["order" if arm == "order" else "other"]
    batch = pack_segments(where, pairs, texts["tokenizer"])

    def accuracy(model: nn.Module) -> float:
        """Ask the head about validation pairs."""
        scores = answer(model, batch)[0]  # type: ignore[arg-type]
        return judge(scores, pairs.labels)["accuracy"]

    n_steps, n_warmup = plan.steps(PAIR_STAGE["fit"])
    history = fit(
        model,
        loss,
        OptimConfig(
            lr=PAIR_STAGE["fit"]["lr"], final_lr=PAIR_STAGE["fit"]["final_lr"], n_warmup=n_warmup
        ),
        generator=Generator().manual_seed(2000 + seed),
        n_steps=n_steps,
        hooks=[] if arm == "masked" else [Evaluate(accuracy, every=CURVE_EVERY)],
    )
    return model, history.evaluations


@torch.inference_mode()
def masked_nats(model: NextSentenceBERT, segments: Segments, tokenizer: SubwordTokenizer) -> float:
    """Score masked tokens of neighbouring segments, in nats per selected token."""
    generator, total, n = Generator().manual_seed(5), 0.0, 0
    pairs = true_pairs(segments, N_PAIRS, generator=generator)
    batch = pack_segments(segments, pairs, tokenizer)
    read, labels, _ = corrupt_mlm(batch.ids, generator=generator, **special_of(tokenizer))
    for rows in zip(*(part.split(64) for part in (*batch._replace(ids=read), labels)), strict=True):
        selected = rows[3] != IGNORE_INDEX
        logits, _ = model(Packed(*rows[:3]), masked_positions=selected)
        total += F.cross_entropy(logits, rows[3][selected], reduction="sum").item()
        n += int(selected.sum())
    return total / n


def prepare(plan: Plan) -> dict[str, Any]:
    """Encode the plays and draw all pairs that somebody is asked about."""
    tokenizer = load_tokenizer("plays_bpe")
    train, validation, test = (speeches(split, tokenizer) for split in SPLITS)
    bare = speeches("test", tokenizer, names=False)
    asked = draw_pairs(tuple(KINDS), test, plan.n_pairs, 30)
    asked["nameless"] = draw_pairs(("other",), bare, plan.n_pairs, 30)["other"]
    return {
        "tokenizer": tokenizer,
        "train": train,
        "test": test,
        "asked": asked,
        "probes": draw_pairs(("other", "same", "order"), train, plan.n_probe, 31),
        "watched": draw_pairs(("other", "order"), validation, plan.n_curve, 32),
        "words": draw_pairs(("other",), train, 8 * plan.n_probe, 33)["other"],
    }


def over_seeds(values: list[Any]) -> Any:
    """Turn equal structures of numbers, one for each seed, into one of intervals."""
    if isinstance(values[0], dict):
        return {key: over_seeds([value[key] for value in values]) for key in values[0]}
    return seed_interval(values) if len(values) > 1 else values[0]


def judge_shared_words(texts: dict[str, Any]) -> dict[str, Any]:
    """Fit and judge the rival without a model, with intervals over pairs."""
    describe = SharedWords(texts["train"], texts["tokenizer"])
    result = judge_words(describe, texts["words"], texts["asked"])
    for kind, (_, pairs) in texts["asked"].items():
        told, n = result["judged"][kind], len(pairs.labels)
        told["accuracy"] = list(wilson_interval(round(told["accuracy"] * n), n))
    return result


def study(plan: Plan) -> dict[str, Any]:
    """Train all arms with all seeds and judge them."""
    texts = prepare(plan)
    found: dict[str, list[Any]] = {arm: [] for arm in ARMS}
    curves: dict[str, list[Any]] = {"next": [], "order": []}
    start, unseen = learn_blanks(texts["tokenizer"], plan), texts["test"]
    for seed in plan.seeds:
        for arm in ARMS:
            model, curve = train_arm(start, arm, texts, seed, plan)
            masked = masked_nats(model, unseen, texts["tokenizer"])
            told = judge_model(model, texts["tokenizer"], texts["asked"], texts["probes"])
            found[arm].append({"masked_nats": masked, **told})
            if arm in curves:
                curves[arm].append([accuracy for _, accuracy in curve])
            auc = told["head"]["other"]["auc"]
            print(f"seed {seed}, {arm}: {masked:.3f} nats, AUC on other {auc:.3f}", flush=True)
    arms = {arm: over_seeds(values) for arm, values in found.items()}
    del arms["masked"]["head"]  # it was never trained
    steps = [step for step, _ in curve]
    begun = masked_nats(NextSentenceBERT(start), unseen, texts["tokenizer"])
    return {"start_masked_nats": begun, "arms": arms, "curve_steps": steps, "curves": curves,
            "shared_words": judge_shared_words(texts)}  # fmt: skip


def main() -> None:
    """Run the study and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    clock = Clock()
    result = {
        "question": "What does next-sentence prediction learn from plays, and what is it easy by?",
        "unit": "shares of pairs; AUC; nats per masked token",
        "interval": "95 %; Student's t over seeds, Wilson over pairs for shared words",
        "text": "plays, subwords of plays_bpe; segments of whole speeches with their speakers",
        "recipe": {"shape": SHAPE, "windows": list(WINDOW_STAGES), "pairs": PAIR_STAGE},
        "seeds": list(SEEDS), "n_pairs": N_PAIRS, "n_probe": N_PROBE, "near": NEAR, "chance": 0.5,
        **study(Plan.quick() if quick else Plan()),
    }  # fmt: skip
    if quick:
        print(json.dumps(rounded(result, 3), indent=1))
        return
    write_run("next_sentence", result, clock)


if __name__ == "__main__":
    main()
