# SPDX-License-Identifier: MIT
"""How long should the spans be, and how much should be corrupted (T5-R3)?

Writes data/runs/t5_spans.json. Four small T5 models per seed see the same windows of the training
plays in the same order, equally many, with other spans cut out. Their own losses cannot be
compared, since they answer different questions. So all are asked the same two of unseen plays: one
span of 3 tokens is cut out of a window of 48, or one of a single token. They are told the length:
bits per token are renormalised over ordinary tokens, and a span is written greedily until it is
full.

The pattern of spans is turned (`roll`): as released, a window's last token is always cut out, and
an arm with a single span would never have read what stands behind one.

A mean length of 1.2 stands for noise that is drawn token by token: at 15 %, its runs are 1 / 0.85 =
1.18 tokens long on average.

--quick takes a few steps with one seed, prints the study and writes nothing.
"""

import argparse
import json
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor

from experiments.ch06_t5.setup import split_ids, taken, target_log_probs, text_only, write_told
from experiments.common.records import Clock, rounded, seed_interval, write_run
from experiments.common.special_ids import sentinels_of
from pretrain.evaluation import nats_to_bits
from pretrain.objectives import SpanCorruptionLM, random_windows
from pretrain.span_corruption import SpanCorruption, corrupt_given_spans, count_spans
from pretrain.t5 import T5, T5Config
from pretrain.training import OptimConfig, fit
from pretrain_lab.baselines.kneser_ney import UnigramModel
from pretrain_lab.tokenizers.subwords import SubwordTokenizer, load_tokenizer

SEEDS = (0, 1, 2)
SHAPE: dict[str, Any] = {"d_model": 96, "n_layers": 2, "n_heads": 4}
STAGE_KEYS = ("seq_len", "batch_size", "n_steps", "lr", "final_lr")
STAGES = ((16, 128, 300, 0.04, 0.5), (48, 42, 900, 0.04, 0.02))
"""STAGE_KEYS of each stage: short windows first."""
N_WARMUP = 100
WEIGHT_DECAY = 0.01
SEQ_LEN = 48  # of the last stage, and of the questions
ARMS: dict[str, dict[str, Any]] = {
    "15 %, length 1.2": {"noise_density": 0.15, "mean_noise_span_length": 1.2},
    "15 %, length 3": {"noise_density": 0.15, "mean_noise_span_length": 3.0},
    "15 %, length 6": {"noise_density": 0.15, "mean_noise_span_length": 6.0},
    "50 %, length 3": {"noise_density": 0.50, "mean_noise_span_length": 3.0},
}
REFERENCE = "15 %, length 3"
QUESTIONS = {"span_of_3": 3, "single_token": 1}
ASK_SEED = 51


@dataclass(frozen=True)
class Plan:
    """How much is trained and asked."""

    seeds: tuple[int, ...] = SEEDS
    n_steps: int | None = None  # of each stage; None = as STAGES says
    n_asked: int = 1500

    @classmethod
    def quick(cls) -> "Plan":
        """Take a few steps with one seed."""
        return cls(SEEDS[:1], n_steps=5, n_asked=50)


def ask_spans(
    tokenizer: SubwordTokenizer, ids: Tensor, length: int, n: int
) -> tuple[Tensor, Tensor]:
    """Cut one span out of the middle of each of n windows; inputs (n, S) and targets (n, T)."""
    windows = random_windows(ids, n, SEQ_LEN, generator=Generator().manual_seed(ASK_SEED))
    special = {k: v for k, v in sentinels_of(tokenizer).items() if k != "pad_id"}
    start = (SEQ_LEN - length) // 2
    cut = [
        corrupt_given_spans(window, [(start, start + length)], SpanCorruption(**special))
        for window in windows
    ]
    return torch.stack([c.inputs for c in cut]), torch.stack([c.targets for c in cut])


def arm_lens(arm: dict[str, Any]) -> dict[str, int]:
    """Count what one window of the last stage costs, before a span is divided by the turn."""
    n_noise, n_spans = count_spans(SEQ_LEN, **arm)
    return {
        "n_noise": n_noise,
        "n_spans": n_spans,
        "input_len": SEQ_LEN - n_noise + n_spans + 1,  # the end of the sequence
        "target_len": n_noise + n_spans + 2,  # the final sentinel and the end
    }


def run_arm(
    arm: dict[str, Any],
    seed: int,
    tokenizer: SubwordTokenizer,
    ids: Tensor,
    questions: dict[str, tuple[Tensor, Tensor]],
    stages: Any,
) -> dict[str, float]:
    """Train one model and ask it everything."""
    torch.manual_seed(seed)
    model = T5(T5Config(tokenizer.vocab_size, **SHAPE))
    generator = Generator().manual_seed(1000 + seed)
    for seq_len, batch_size, n_steps, lr, final_lr in stages:
        loss = SpanCorruptionLM(
            ids,
            batch_size=batch_size,
            seq_len=seq_len,
            spans=SpanCorruption(random_roll=True, **arm, **sentinels_of(tokenizer)),
        )
        history = fit(
            model,
            loss,
            OptimConfig(
                lr=lr,
                n_warmup=min(N_WARMUP, n_steps),
                final_lr=final_lr,
                relative_lr=True,
                weight_decay=WEIGHT_DECAY,
            ),
            n_steps=n_steps,
            generator=generator,
        )
    result = {"own_loss_nats": sum(history.losses[-100:]) / len(history.losses[-100:])}
    for name, (inputs, targets) in questions.items():
        result |= {f"{name}_{k}": v for k, v in judge(model, tokenizer, inputs, targets).items()}
    return result


def judge(
    model: T5, tokenizer: SubwordTokenizer, inputs: Tensor, targets: Tensor
) -> dict[str, float]:
    """Score the tokens of the spans, and let the model write them; a single token is its first."""
    special = tokenizer.special_ids
    is_text = ~torch.isin(targets, torch.tensor(special))
    log_probs = text_only(target_log_probs(model, inputs, targets), special)
    written = torch.cat(
        [
            write_told(model, read, target, special)
            for read, target in zip(inputs.split(250), targets.split(250), strict=True)
        ]
    )
    nats = taken(log_probs, targets)[is_text].view(len(targets), -1)
    right = (written == targets)[is_text].view(nats.shape)
    result = {
        "bits": nats_to_bits(nats.mean().item()),
        "exact": right.all(dim=1).double().mean().item(),
    }
    if nats.shape[1] > 1:
        result["bits_first"] = nats_to_bits(nats[:, 0].mean().item())
        result["tokens_right"] = right.double().mean().item()
    return result


def baseline(tokenizer: SubwordTokenizer, train: Tensor, targets: Tensor) -> dict[str, float]:
    """Score the same tokens by their share of the training text, and by the most frequent one."""
    answers = targets[~torch.isin(targets, torch.tensor(tokenizer.special_ids))]
    model = UnigramModel(tokenizer.vocab_size).fit(train.numpy())
    spans = answers.view(len(targets), -1)
    best = int(torch.bincount(train).argmax())
    return {
        "bits": nats_to_bits(-float(model.log_probs(answers.numpy()).mean())),
        "exact": (spans == best).all(dim=1).double().mean().item(),
        "tokens_right": (spans == best).double().mean().item(),
    }


def over_seeds(values: list[float]) -> dict[str, Any]:
    """Return mean and interval over seeds; of one seed, which only --quick has, the mean alone."""
    return seed_interval(values) if len(values) > 1 else {"mean": values[0], "values": values}


def summary(results: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """Combine means, intervals and differences from the reference arm, paired by seed."""
    reference = results[REFERENCE]
    keys = list(reference[0])
    return {
        name: {
            **ARMS[name],
            **arm_lens(ARMS[name]),
            **{key: over_seeds([run[key] for run in runs]) for key in keys},
            "minus_reference": {
                key: over_seeds([a[key] - b[key] for a, b in zip(runs, reference, strict=True)])
                for key in keys
                if key != "own_loss_nats"  # another question in each arm
            },
        }
        for name, runs in results.items()
    }


def main() -> None:
    """Run all arms seed by seed, and write the study after each seed but the first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    plan = Plan.quick() if parser.parse_args().quick else Plan()
    clock = Clock()
    tokenizer = load_tokenizer("plays_bpe")
    ids = {split: split_ids(tokenizer, split) for split in ("train", "test")}
    stages = [(*s[:2], plan.n_steps or s[2], *s[3:]) for s in STAGES]
    questions = {
        name: ask_spans(tokenizer, ids["test"], length, plan.n_asked)
        for name, length in QUESTIONS.items()
    }
    results: dict[str, list[dict[str, float]]] = {name: [] for name in ARMS}
    for n_seeds, seed in enumerate(plan.seeds, start=1):
        for name, arm in ARMS.items():
            results[name].append(run_arm(arm, seed, tokenizer, ids["train"], questions, stages))
            print(name, seed, rounded(results[name][-1], 3), flush=True)
        study = {
            "question": "How long should the spans be, and how many tokens should be cut out?",
            "interval": "95 % over seeds, Student's t; differences paired by seed",
            "shape": SHAPE,
            "stages": [dict(zip(STAGE_KEYS, stage, strict=True)) for stage in stages],
            "n_warmup": N_WARMUP,
            "weight_decay": WEIGHT_DECAY,
            "relative_lr": True,
            "seq_len": SEQ_LEN,
            "roll": True,
            "n_asked": plan.n_asked,
            "seeds": list(SEEDS[:n_seeds]),
            "reference": REFERENCE,
            "arms": summary(results),
            "baseline": {
                name: baseline(tokenizer, ids["train"], targets)
                for name, (_, targets) in questions.items()
            },
        }
        if n_seeds > 1:
            write_run("t5_spans", study, clock)
    if n_seeds == 1:
        print(json.dumps(rounded(study), indent=1))


if __name__ == "__main__":
    main()
