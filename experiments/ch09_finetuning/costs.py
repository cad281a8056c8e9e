# SPDX-License-Identifier: MIT
"""What a method costs: peak memory of a training step in a process of its own, and latencies.

Run as a script it makes a few steps of one method and prints the process's peak in megabytes.
"""

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import Generator, nn

from experiments.ch09_finetuning.methods import (
    BATCH_SIZE,
    METHODS,
    READ_ONLY,
    make_model,
    new_encoder,
)
from pretrain_lab.finetuning.freezing import count_parameters
from pretrain_lab.finetuning.hf_heads import SentenceClassifier
from pretrain_lab.finetuning.lora import add_lora, set_merged

N_TOKENS, N_STEPS = 48, 3


def batch(n: int) -> dict[str, torch.Tensor]:
    """Make n texts of N_TOKENS random ids with random classes."""
    generator = Generator().manual_seed(0)
    ids = torch.randint(1000, 20_000, (n, N_TOKENS), generator=generator)
    labels = torch.randint(2, (n,), generator=generator)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}


def take_steps(name: str) -> float:
    """Make some steps of a method, and return the process's peak in megabytes (of 2^20 bytes).

    `name` is a key of METHODS, or READ_ONLY for passes without gradients.
    """
    model = make_model(METHODS["full" if name == READ_ONLY else name], 0)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-5)
    model.train(name != READ_ONLY)
    for _ in range(N_STEPS):
        with torch.set_grad_enabled(name != READ_ONLY):
            loss = model(**batch(BATCH_SIZE))["loss"]
        if name != READ_ONLY:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def peaks(names: Sequence[str]) -> dict[str, float]:
    """Measure each method in a process of its own."""
    found = {}
    for name in names:
        command = [sys.executable, "-m", "experiments.ch09_finetuning.costs", name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found[name] = float(done.stdout.splitlines()[-1])
    return found


@torch.no_grad()
def milliseconds(model: nn.Module, n: int, n_passes: int) -> float:
    """Return the median processor time of reading n texts."""
    times, given = [], batch(n)
    for _ in range(n_passes if n == 1 else 4):
        started = time.process_time()
        model(given["input_ids"], given["attention_mask"])
        times.append(1000 * (time.process_time() - started))
    return statistics.median(times)


def latencies(n_passes: int) -> dict[str, Any]:
    """Time reading without adapters, with them, and merged, for 1 and 32 texts."""
    model = SentenceClassifier(new_encoder(), 2).eval()
    found = {"plain": {str(n): milliseconds(model, n, n_passes) for n in (1, 32)}}
    generator = Generator().manual_seed(0)
    add_lora(model, ("query", "value"), rank=8, alpha=16.0, generator=generator)
    for name in ("adapters", "merged"):
        set_merged(model, name == "merged")
        found[name] = {str(n): milliseconds(model, n, n_passes) for n in (1, 32)}
    return {"milliseconds": found, "n_tokens": N_TOKENS, "n_parameters": count_parameters(model)}


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(take_steps(sys.argv[1]))
