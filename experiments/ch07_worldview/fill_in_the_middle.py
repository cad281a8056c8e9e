# SPDX-License-Identifier: MIT
"""Can a GPT fill the middle, and can a BERT write (WLD-R2)?

Writes data/runs/fill_the_middle.json. Needs the weights of
experiments/ch07_worldview/three_objectives.py.

First, on a source whose optima are known, a small GPT learns to fill gaps (`hmm_infilling`).

Second, on the plays: the recorded GPT (`worldview_gpt`) is trained on for a sixth of its budget, in
one arm on plain windows, in two with half of them rearranged, in either order of
`pretrain_lab.infilling.fill_in_the_middle` ("fim": prefix, suffix, middle; "spm": suffix, prefix,
middle). All arms start from the same weights. Asked: the bits of a true middle given both sides,
against what the plain arm can say from the left; the same of the recorded BERT and T5, which read
both sides by nature; and what the rearrangement costs on ordinary text. The GPT has 64 positions,
so middles are asked in windows of 61 tokens: with three markers, 64.

Third: BERT writes (`generation`).

`--tune` prints the first part on the validation plays, on which its recipe is chosen; `--quick`
tries everything in some 20 seconds, with untrained models if need be. Neither writes anything.
"""

import argparse
import json
import time
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Generator, Tensor

from experiments.ch07_worldview import hmm_infilling
from experiments.ch07_worldview.generation import ROUNDS, study_generation
from experiments.ch07_worldview.questions import (
    MIDDLE,
    ONE,
    PAIR,
    SEQ_LEN,
    SPECIAL,
    TOKENIZER,
    in_bits,
    windows_of,
)
from experiments.ch07_worldview.record import no_seeds, over_items
from experiments.ch07_worldview.three_objectives import load_ids
from experiments.common.records import Clock, rounded, seed_interval, write_run
from pretrain.generation import Sampling, generate
from pretrain.gpt import GPT
from pretrain.t5 import T5
from pretrain.training import OptimConfig, fit
from pretrain_lab.checkpoints import load_model
from pretrain_lab.infilling.fill_in_the_middle import (
    FillInTheMiddleLM,
    Markers,
    middle_log_probs,
    move_middle,
)
from pretrain_lab.scaling.flops import TRAINING, gpt_flops
from pretrain_lab.scoring.spans import bert_span_log_probs, gpt_span_log_probs, t5_span_log_probs

SEEDS = (0, 1, 2)
BUDGET = 2e12  # operations of each arm: a sixth of the first training
MARKERS = Markers._make([*TOKENIZER.sentinel_ids[:3], TOKENIZER.eos_id])
ARMS: dict[str, dict[str, Any]] = {
    "plain": {"fim_prob": 0.0, "order": "psm"},
    "fim": {"fim_prob": 0.5, "order": "psm"},
    "spm": {"fim_prob": 0.5, "order": "spm"},
}  # fmt: skip
RECIPE: dict[str, Any] = {
    "batch_size": 32, "seq_len": SEQ_LEN, "lr": 3e-3, "n_warmup": 50, "final_lr": 0.02,
    "weight_decay": 0.1,
}  # fmt: skip
WINDOW, START = SEQ_LEN - 3, 28
LENGTHS = (4, 8)  # tokens in the middle


@dataclass(frozen=True)
class Plan:
    """How much is trained and asked."""

    budget: float = BUDGET
    n_middles: int = 600
    n_text: int = 600
    n_greedy: int = 300
    n_written: int = 150
    n_rounds: tuple[int, ...] = ROUNDS
    source: hmm_infilling.Plan = field(default_factory=hmm_infilling.Plan)

    @classmethod
    def quick(cls) -> "Plan":
        """Train and ask little."""
        return cls(1e9, 40, 40, 20, 8, n_rounds=(1, 4), source=hmm_infilling.Plan.quick())

    def sizes(self) -> dict[str, int]:
        """Return the numbers of questions as the record has them."""
        names = ("n_middles", "n_text", "n_greedy", "n_written")
        return {name: getattr(self, name) for name in names}


def load(name: str) -> Any:
    """Load a recorded model."""
    return load_model(f"worldview_{name}")[0]


def train_arm(start: GPT, arm: str, seed: int, ids: Tensor, budget: float) -> GPT:
    """Train a copy of a GPT further, as an arm of ARMS, for a budget of operations.

    `ids` are int64 (L,), the training plays; `seed` is of the batches.
    """
    model = GPT(start.config)
    model.load_state_dict(start.state_dict())
    steps = n_steps(start, budget)
    fit(
        model,
        FillInTheMiddleLM(
            ids,
            markers=MARKERS,
            fim_prob=ARMS[arm]["fim_prob"],
            order=ARMS[arm]["order"],
            batch_size=RECIPE["batch_size"],
            seq_len=RECIPE["seq_len"],
        ),
        OptimConfig(
            n_warmup=min(RECIPE["n_warmup"], steps // 4),
            lr=RECIPE["lr"],
            final_lr=RECIPE["final_lr"],
            weight_decay=RECIPE["weight_decay"],
        ),
        n_steps=steps,
        generator=Generator().manual_seed(2000 + seed),
    )
    return model


def n_steps(model: GPT, budget: float) -> int:
    """Return how many steps a budget of operations buys."""
    step = TRAINING * RECIPE["batch_size"] * gpt_flops(model, RECIPE["seq_len"])
    return max(8, round(budget / step))


def ask_middles(
    model: Any, ids: Tensor, length: int, n: int, order: str = "psm"
) -> dict[str, list[float]]:
    """Score true middles of a length: from the left, and from both sides where a model can.

    Args:
        model: A GPT (given the prompt of `pretrain_lab.infilling.fill_in_the_middle` too), a BERT
            or a T5.
        ids: int64 (L,), the test plays.
        length: Tokens in the middle.
        order: Of the parts in a GPT's prompt.

    Returns:
        Bits per token of each middle, by what was read; the end, where it has to be written, in
        bits per middle.
    """
    windows = windows_of(ids, n, seed=37, seq_len=WINDOW)
    span = (START, START + length)
    if isinstance(model, GPT):
        left = gpt_span_log_probs(model, windows, *span).double().mean(dim=1)
        both = middle_log_probs(model, windows, *span, MARKERS, order=order).double()
        return {
            "left": in_bits(left),
            "both": in_bits(both[:, :-1].mean(dim=1)),
            "end": in_bits(both[:, -1]),
        }
    if isinstance(model, T5):
        found = t5_span_log_probs(model, windows, *span, sentinel_ids=PAIR, **ONE).double()
        return {"both": in_bits(found[:, :-1].mean(dim=1)), "end": in_bits(found[:, -1])}
    found = bert_span_log_probs(model, windows, *span, mask_id=SPECIAL["mask_id"]).double()
    return {"both": in_bits(found.mean(dim=1))}


def ask_greedy(model: GPT, ids: Tensor, length: int, n: int, order: str) -> dict[str, float]:
    """Let a GPT write middles greedily, from the left and with both sides in the prompt.

    Args:
        ids: int64 (L,), the test plays.
        length: Tokens in the middle; the model is not asked where to stop.
        order: Of the parts in the prompt.

    Returns:
        Share of correct first tokens and of correct middles, for both ways.
    """
    windows = windows_of(ids, n, seed=37, seq_len=WINDOW)
    answers = windows[:, START : START + length]
    moved = move_middle(windows, START, START + length, MARKERS, order=order)
    prompts = {"left": windows[:, :START], "both": moved[:, : -length - 1]}
    result = {}
    for name, prompt in prompts.items():
        right = (
            generate(model, prompt, length, Sampling(greedy=True))[:, prompt.shape[1] :] == answers
        )
        result[f"{name}, first token"] = right[:, 0].double().mean().item()
        result[f"{name}, all tokens"] = right.all(dim=1).double().mean().item()
    return result


def examples(model: GPT, ids: Tensor, order: str, n: int = 4) -> list[dict[str, str]]:
    """Write a few middles greedily: prefix, suffix, what stood there, what the model wrote."""
    windows = windows_of(ids, n, seed=37, seq_len=WINDOW)
    moved = move_middle(windows, START, START + 4, MARKERS, order=order)
    fills = generate(model, moved[:, :-5], 4, Sampling(greedy=True))[:, -4:]
    texts = []
    for window, fill in zip(windows, fills, strict=True):
        parts = window.tensor_split([START, START + 4])
        names = ("prefix", "middle", "suffix")
        texts.append(dict(zip(names, map(TOKENIZER.decode, parts), strict=True)))
        texts[-1]["written"] = TOKENIZER.decode(fill)
    return texts


def ask_arm(model: GPT, ids: Tensor, plan: Plan, order: str) -> dict[str, Any]:
    """Ask one arm everything; ordinary text is scored in the second half of each window."""
    text = windows_of(ids, plan.n_text, seed=33)
    n, m = plan.n_middles, plan.n_greedy
    return {
        "text": in_bits(gpt_span_log_probs(model, text, MIDDLE, SEQ_LEN).double().mean(dim=1)),
        "middles": {str(k): ask_middles(model, ids, k, n, order) for k in LENGTHS},
        "greedy": {str(k): ask_greedy(model, ids, k, m, order) for k in LENGTHS},
    }


def study_infilling(ids: dict[str, Tensor], seeds: list[int], plan: Plan) -> dict[str, Any]:
    """Train all arms for each seed, ask them, and ask the three recorded models the same."""
    start = load("gpt")
    runs: dict[str, list[dict[str, Any]]] = {arm: [] for arm in ARMS}
    shown: dict[str, list[dict[str, str]]] = {}
    for seed in seeds:
        for arm, options in ARMS.items():
            started = time.process_time()
            model = train_arm(start, arm, seed, ids["train"], plan.budget)
            seconds = time.process_time() - started
            found = ask_arm(model, ids["test"], plan, options["order"])
            runs[arm].append(found | {"cpu_seconds": seconds})
            if arm != "plain" and arm not in shown:
                shown[arm] = examples(model, ids["test"], options["order"])
            print(arm, seed, round(seconds), flush=True)
    recorded = {
        name: {str(k): ask_middles(load(name), ids["test"], k, plan.n_middles) for k in LENGTHS}
        for name in ("bert", "t5")
    }
    before = ask_arm(start, ids["test"], plan, "psm")["text"]
    return {
        "recipe": RECIPE | {"n_steps": n_steps(start, plan.budget), "arms": ARMS},
        "budget": plan.budget,
        "markers": {name: TOKENIZER.tokens[i] for name, i in MARKERS._asdict().items()},
        "window": WINDOW,
        "start": START,
        "text": {
            "before": no_seeds(before),
            **{arm: over_items([r["text"] for r in found]) for arm, found in runs.items()},
            **{
                f"{arm} minus plain": over_items(
                    paired([r["text"] for r in runs[arm]], [r["text"] for r in runs["plain"]])
                )
                for arm in ("fim", "spm")
            },
        },
        "middles": {str(k): middles(runs, recorded, str(k)) for k in LENGTHS},
        "greedy": {
            arm: {
                str(k): {
                    key: seed_interval([r["greedy"][str(k)][key] for r in found])
                    for key in found[0]["greedy"][str(k)]
                }
                for k in LENGTHS
            }
            for arm, found in runs.items()
        },
        "examples": shown,
        "cpu_seconds_each": {
            arm: [r["cpu_seconds"] for r in found] for arm, found in runs.items()
        },
    }  # fmt: skip


def middles(
    runs: dict[str, list[dict[str, Any]]], recorded: dict[str, Any], length: str
) -> dict[str, Any]:
    """Combine the middles of one length, in bits per token."""
    found: dict[str, dict[str, list[list[float]]]] = {
        arm: {
            key: [r["middles"][length][key] for r in runs[arm]] for key in ("left", "both", "end")
        }
        for arm in runs
    }
    plain = found["plain"]["left"]
    result: dict[str, Any] = {
        "plain, left side": over_items(plain),
        "plain, shown the prompt": over_items(found["plain"]["both"]),
    }
    for arm in ("fim", "spm"):
        both = found[arm]["both"]
        result[f"{arm}, left side"] = over_items(found[arm]["left"])
        result[f"{arm}, both sides"] = over_items(both)
        result[f"{arm}, end (bits per middle)"] = over_items(found[arm]["end"])
        result[f"{arm}, both sides minus plain"] = over_items(paired(both, plain))
    result["both sides minus plain"] = result["fim, both sides minus plain"]
    for name, asked in recorded.items():
        result[f"{name}, both sides"] = no_seeds(asked[length]["both"])
    result["t5, end (bits per middle)"] = no_seeds(recorded["t5"][length]["end"])
    return result


def paired(first: list[list[float]], second: list[list[float]]) -> list[list[float]]:
    """Subtract item by item, seed by seed."""
    return (torch.tensor(first) - torch.tensor(second)).tolist()


def main() -> None:
    """Run both studies and write them, or try them and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--tune", action="store_true")
    options = parser.parse_args()
    clock = Clock()
    ids, plan = load_ids(), Plan.quick() if options.quick else Plan()
    seeds = options.seeds[:2] if options.quick else options.seeds
    if not 2 <= len(set(seeds)) == len(seeds) <= 5:
        parser.error(f"expected two to five different seeds, got {seeds}")
    if options.tune:
        other = ids | {"test": ids["validation"]}
        found = study_infilling(other, seeds, plan)
        print(json.dumps(rounded(found, 3), indent=1))
        return
    result = {
        "question": "Can a GPT fill the middle, and can a BERT write?",
        "unit": "bits per token; shares",
        "interval": "95 %; low and high over seeds (Student's t), over_items by bootstrap",
        "seeds": seeds,
        "sizes": plan.sizes(),
        "source": hmm_infilling.study_source(seeds, plan.source),
        "infilling": study_infilling(ids, seeds, plan),
        "generation": study_generation(
            load("bert"), load("gpt"), ids, n=plan.n_written,
            order=3, n_rounds=plan.n_rounds,
        ),
    }  # fmt: skip
    if options.quick:
        print(json.dumps(rounded(result, 3)))
        return
    write_run("fill_the_middle", result, clock)


if __name__ == "__main__":
    main()
