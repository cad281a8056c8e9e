# SPDX-License-Identifier: MIT
"""Short windows first? The same number of characters a step, cut into 128, 32 or 16 (BRT-R4).

Writes data/runs/bert_windows.json. A BERT of the book model's size reads 2,048 characters a step
for 1,500 steps. All arms are judged on the same corrupted windows of 16 characters of unseen plays,
which are short enough for each of them, every 100 steps.
"""

from typing import Any

import torch
from torch import Tensor

from experiments.ch05_bert.setup import load_ids
from experiments.common.records import Clock, seed_interval, write_run
from pretrain.bert import BERT, BERTConfig
from pretrain.evaluation import masked_log_probs, nats_to_bits
from pretrain.objectives import MaskedLM, corrupt_mlm, random_windows
from pretrain.training import Evaluate, OptimConfig, fit

N_CHARACTERS = 2_048  # read in each step
SEQ_LENS = (128, 32, 16)
SEEDS = (0, 1, 2)
SHAPE: dict[str, Any] = {
    "d_model": 64, "n_layers": 3, "n_heads": 4, "max_len": 128, "init_std": 0.08,
}  # fmt: skip
FIT: dict[str, Any] = {"n_steps": 1_500, "lr": 5e-3, "n_warmup": 200, "final_lr": 0.02}
EVERY = 100
N_JUDGED, JUDGED_LEN = 4_000, 16


def main() -> None:
    """Train every arm with every seed, and write the curves and the last values."""
    clock = Clock()
    tokenizer, ids = load_ids()
    special: dict[str, Any] = {
        "mask_id": tokenizer.mask_id,
        "vocab_size": tokenizer.vocab_size,
        "special_ids": tokenizer.special_ids,
    }
    generator = torch.Generator().manual_seed(17)
    windows = random_windows(ids["test"], N_JUDGED, JUDGED_LEN, generator=generator)
    judged = corrupt_mlm(windows, generator=generator, **special)

    def judge(model: Any) -> float:
        """Mean bits of the selected characters."""
        log_probs, answers = masked_log_probs(model, judged.ids, judged.labels, batch_size=512)
        return nats_to_bits(-log_probs.gather(-1, answers[:, None]).mean().item())

    curves: dict[int, list[list[float]]] = {seq_len: [] for seq_len in SEQ_LENS}
    for seed in SEEDS:
        for seq_len in SEQ_LENS:
            curves[seq_len].append(run(ids["train"], seq_len, seed, special, judge))
            print(seq_len, seed, round(curves[seq_len][-1][-1], 3), flush=True)
    result = {
        "question": "Do short windows help a masked model to start?",
        "unit": f"bits per selected character, in windows of {JUDGED_LEN}",
        "recipe": {**SHAPE, **FIT, "n_characters": N_CHARACTERS},
        "seeds": list(SEEDS),
        "interval": "95 % over seeds, Student's t",
        "steps": list(range(EVERY, FIT["n_steps"] + 1, EVERY)),
        "curves": curves,
        "last": {n: seed_interval([curve[-1] for curve in curves[n]]) for n in SEQ_LENS},
    }
    write_run("bert_windows", result, clock)


def run(train: Tensor, seq_len: int, seed: int, special: dict[str, Any], judge: Any) -> list[float]:
    """Train one model on windows of one length; return its bits per selected character.

    They are measured every `EVERY` steps. `train` is int64 (L,), the training plays; `special` is
    what masking needs to know of the vocabulary.
    """
    torch.manual_seed(seed)
    model = BERT(BERTConfig(special["vocab_size"], **SHAPE))
    loss = MaskedLM(train, batch_size=N_CHARACTERS // seq_len, seq_len=seq_len, **special)
    history = fit(
        model,
        loss,
        OptimConfig(FIT["lr"], n_warmup=FIT["n_warmup"], final_lr=FIT["final_lr"]),
        n_steps=FIT["n_steps"],
        generator=torch.Generator().manual_seed(1000 + seed),
        hooks=[Evaluate(judge, every=EVERY)],
    )
    return [value for _, value in history.evaluations]


if __name__ == "__main__":
    main()
