# SPDX-License-Identifier: MIT
"""What each direction is worth: left only, right only, their product, and both at once.

Writes data/runs/bert_directions.json. Four ways to fill the same single blanks of unseen plays:
a GPT, a GPT trained on reversed text, the two combined, and a BERT. Two combinations: the product
P_left P_right / P_unigram, and a linear layer trained on both frozen states, which is nearer to
ELMo (Peters et al. 2018, arXiv:1802.05365; differs: two LSTMs there, and a softmax shared by the
directions). Each way of reading chooses its learning rate among four, on blanks of the validation
plays and with a seed that is not used again; the reader of reversed text takes that of the other.
`--long` then adds one BERT that makes as many predictions as the left-only model.
"""

import argparse
import json
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.ch05_bert.setup import (
    N_STEPS,
    RECIPE,
    SEEDS,
    SEQ_LEN,
    load_ids,
    middle_blanks,
    new_model,
    train,
)
from experiments.common.records import N_FIRST, Clock, rounded, seed_interval, write_run
from pretrain.bert import BERT
from pretrain.evaluation import cloze_log_probs, left_log_probs, nats_to_bits
from pretrain.gpt import GPT
from pretrain.objectives import CausalLM, MaskedLM
from pretrain_lab.paths import RUNS

N_BLANKS = 4000
N_CURVE = 1000
LONG_STEPS = 13_300  # 0.15 x 13,300 = 1,995: as many predictions as 2,000 causal steps
EVERY = 200
RATES = (2.5e-3, 5e-3, 1e-2, 2e-2)
TRIAL_SEED = 100


def mean_bits(log_probs: Tensor, answers: Tensor) -> float:
    """Compute the mean surprisal of the answers, in bits."""
    return nats_to_bits(F.nll_loss(log_probs, answers).item())


def right_log_probs(model: GPT, windows: Tensor, places: Tensor) -> Tensor:
    """Return the distribution of a GPT that was trained on reversed text, (N, V)."""
    return left_log_probs(model, windows.flip(1), windows.shape[1] - 1 - places)


def product(left: Tensor, right: Tensor, unigram: Tensor) -> Tensor:
    """Multiply two distributions and divide by the unigram one, (N, V), normalised.

    This is Bayes' rule under the assumption that the two sides are independent given the blank.
    """
    return (left + right - unigram).log_softmax(dim=-1)


@torch.no_grad()
def side_states(left: GPT, right: GPT, windows: Tensor) -> Tensor:
    """Put the states next to the blank side by side, float (N, 2 D)."""
    middle = SEQ_LEN // 2
    flipped = windows.flip(1)
    before = left.encode(windows[:, :middle])[:, -1]
    after = right.encode(flipped[:, : SEQ_LEN - 1 - middle])[:, -1]
    return torch.cat([before, after], dim=1)


def train_readout(states: Tensor, answers: Tensor, vocab_size: int, seed: int) -> nn.Linear:
    """Train a linear layer on frozen states; 400 full-batch steps of Adam."""
    torch.manual_seed(seed)
    readout = nn.Linear(states.shape[1], vocab_size)
    optimizer = torch.optim.Adam(readout.parameters(), lr=2e-2)
    for _ in range(400):
        loss = F.cross_entropy(readout(states), answers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return readout


def make_ways(data: dict[str, Any]) -> dict[str, tuple[Any, Any, Any]]:
    """Give the three models: class, objective, and how each fills blanks."""
    tokenizer, ids = data["tokenizer"], data["ids"]
    size = {"batch_size": RECIPE["batch_size"], "seq_len": SEQ_LEN}
    special: dict[str, Any] = {
        "mask_id": tokenizer.mask_id,
        "vocab_size": tokenizer.vocab_size,
        "special_ids": tokenizer.special_ids,
    }
    return {
        "left": (GPT, CausalLM(ids["train"], **size), left_log_probs),
        "right": (GPT, CausalLM(ids["train"].flip(0), **size), right_log_probs),
        "both": (
            BERT,
            MaskedLM(ids["train"], **size, **special),
            lambda m, w, p: cloze_log_probs(m, w, p, mask_id=tokenizer.mask_id),
        ),
    }


def try_rates(data: dict[str, Any]) -> dict[str, list[dict[str, float]]]:
    """Train one seed of each way at each rate: bits on blanks of the validation plays."""
    windows, places, answers = data["validation blanks"]
    tried: dict[str, list[dict[str, float]]] = {}
    for name, (kind, loss, fill) in make_ways(data).items():
        for lr in RATES if name != "right" else ():
            model = new_model(kind, data["tokenizer"].vocab_size, TRIAL_SEED)
            train(model, loss, seed=TRIAL_SEED, lr=lr)
            bits = mean_bits(fill(model, windows, places), answers)
            tried.setdefault(name, []).append({"lr": lr, "validation_bits": bits})
            print(name, tried[name][-1], flush=True)
    return tried


def best_rate(tried: list[dict[str, float]]) -> float:
    """Return the rate with the fewest bits."""
    return min(tried, key=lambda one: one["validation_bits"])["lr"]


def run_seed(seed: int, data: dict[str, Any], rates: dict[str, float]) -> dict[str, Any]:
    """Train the three models of one seed and fill the blanks in every way."""
    tokenizer = data["tokenizer"]
    windows, places, answers = data["blanks"]
    models, log_probs, curves, losses_of = {}, {}, {}, {}
    for name, (kind, loss, fill) in make_ways(data).items():
        model = new_model(kind, tokenizer.vocab_size, seed)
        few = windows[:N_CURVE], places[:N_CURVE], answers[:N_CURVE]

        def blank_bits(m: Any, fill: Any = fill, few: Any = few) -> float:
            """Bits on the first blanks."""
            return mean_bits(fill(m, few[0], few[1]), few[2])

        history = train(
            model, loss, seed=seed, lr=rates[name], evaluate=blank_bits, evaluate_every=EVERY
        )
        models[name], curves[name], losses_of[name] = model, history.evaluations, history.losses
        log_probs[name] = fill(model, windows, places)
    log_probs["product"] = product(log_probs["left"], log_probs["right"], data["unigram"])
    log_probs["unigram"] = data["unigram"].expand_as(log_probs["left"])
    practice, _, practice_answers = data["practice"]
    readout = train_readout(
        side_states(models["left"], models["right"], practice),
        practice_answers,
        tokenizer.vocab_size,
        seed,
    )
    with torch.no_grad():
        states = side_states(models["left"], models["right"], windows)
        log_probs["concatenated"] = readout(states).log_softmax(dim=-1)
    return {
        "bits": {name: mean_bits(lp, answers) for name, lp in log_probs.items()},
        "top1": {
            name: (lp.argmax(dim=1) == answers).float().mean().item()
            for name, lp in log_probs.items()
        },
        "curves": curves,
        "first_losses": {name: losses[:N_FIRST] for name, losses in losses_of.items()},
    }


def add_long_run(seed: int = 0) -> None:
    """Train the BERT of one seed for LONG_STEPS, and add it to the written study."""
    clock = Clock()
    study = json.loads((RUNS / "bert_directions.json").read_text())
    tokenizer, ids = load_ids()
    windows, places, answers = middle_blanks(ids["test"], N_BLANKS, seed=7)
    loss = MaskedLM(
        ids["train"],
        batch_size=RECIPE["batch_size"],
        seq_len=SEQ_LEN,
        mask_id=tokenizer.mask_id,
        vocab_size=tokenizer.vocab_size,
        special_ids=tokenizer.special_ids,
    )
    model = new_model(BERT, tokenizer.vocab_size, seed)

    def blank_bits(m: Any) -> float:
        """Bits on the first blanks."""
        filled = cloze_log_probs(m, windows[:N_CURVE], places[:N_CURVE], mask_id=tokenizer.mask_id)
        return mean_bits(filled, answers[:N_CURVE])

    history = train(
        model, loss, seed=seed, n_steps=LONG_STEPS, lr=study["rates"]["both"],
        evaluate=blank_bits, evaluate_every=700,
    )  # fmt: skip
    log_probs = cloze_log_probs(model, windows, places, mask_id=tokenizer.mask_id)
    study["long"] = {
        "n_steps": LONG_STEPS,
        "seeds": [seed],
        "bits": mean_bits(log_probs, answers),
        "top1": (log_probs.argmax(dim=1) == answers).float().mean().item(),
        "curve": history.evaluations,
        **clock.seconds(),
    }
    text = json.dumps(rounded(study), indent=1)
    (RUNS / "bert_directions.json").write_text(text + "\n")


def main() -> None:
    """Run all seeds and write the study, or add the long run to it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true")
    if parser.parse_args().long:
        add_long_run()
        return
    clock = Clock()
    tokenizer, ids = load_ids()
    counts = torch.bincount(ids["train"], minlength=tokenizer.vocab_size) + 1.0
    data = {
        "tokenizer": tokenizer,
        "ids": ids,
        "blanks": middle_blanks(ids["test"], N_BLANKS, seed=7),
        "validation blanks": middle_blanks(ids["validation"], N_BLANKS, seed=9),
        "practice": middle_blanks(ids["train"], 40_000, seed=8),
        "unigram": (counts / counts.sum()).log(),
    }
    results = []
    untrained = new_model(BERT, tokenizer.vocab_size, 0)
    tried = try_rates(data)
    rates = {name: best_rate(found) for name, found in tried.items()}
    rates["right"] = rates["left"]
    for seed in SEEDS:
        results.append(run_seed(seed, data, rates))
        print(seed, results[-1]["bits"], flush=True)
    arms = {
        name: {
            "bits": seed_interval([r["bits"][name] for r in results]),
            "top1": seed_interval([r["top1"][name] for r in results]),
            "minus_both": seed_interval([r["bits"][name] - r["bits"]["both"] for r in results]),
        }
        for name in results[0]["bits"]
    }
    write_run(
        "bert_directions",
        {
            "question": "What is each direction worth on single blanks of unseen plays?",
            "unit": "bits per blank",
            "recipe": {name: value for name, value in RECIPE.items() if name != "lr"},
            "tried": tried,
            "rates": rates,
            "first_losses_nats": results[0]["first_losses"],
            "seeds": list(SEEDS),
            "n_blanks": N_BLANKS,
            "n_curve_blanks": N_CURVE,
            "n_parameters": sum(p.numel() for p in untrained.parameters()),
            "interval": "95 % over seeds, Student's t",
            "arms": arms,
            "curve_steps": list(range(EVERY, N_STEPS + 1, EVERY)),
            "curves": {
                name: [[value for _, value in r["curves"][name]] for r in results]
                for name in ("left", "right", "both")
            },
        },
        clock,
    )


if __name__ == "__main__":
    main()
