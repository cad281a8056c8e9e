# SPDX-License-Identifier: MIT
"""What a run of `pretrain_lab.train` says of itself at its start and at its end."""

import shlex

from pretrain.training import History
from pretrain_lab.train.objectives import OBJECTIVES
from pretrain_lab.train.run import Run


def opening(run: Run, done: int) -> list[str]:
    """Say what is about to be trained, and on how much text."""
    config, counts = run.config, run.text.counts
    training, kind = config.training, config.objective.kind
    n_parameters = sum(p.numel() for p in run.bare_model.parameters())
    n_ids = run.text.tokenizer.vocab_size
    text = "text: a stream"
    if counts.tokens:
        text = f"text: {counts.characters:,} characters, {counts.tokens:,} tokens"
    text += f" of {n_ids:,}, {100 * counts.unknown:.2g} % unknown"
    if counts.held_characters:
        text += f"; {counts.held_characters:,} characters held out"
    start = f"from step {done} of {training.n_steps}" if done else f"{training.n_steps} steps"
    steps = f"{start}, each of {training.batch_size} windows of {config.data.seq_len} tokens"
    if counts.tokens:
        n_read = training.n_steps * training.batch_size * config.data.seq_len
        passes = n_read / counts.tokens
        steps += f", {passes:.1f} passes" if passes >= 1 else f", {passes:.2g} of a pass"
        steps += " over the text"
    n_processes = run.accelerator.num_processes
    processes = f"{n_processes} processes" if n_processes > 1 else "one process"
    model = OBJECTIVES[kind].model.__name__
    device = run.accelerator.device.type
    return [
        text,
        f"{kind}: a {model} of {n_parameters:,} parameters; {steps}, by {processes} on {device}",
    ]


def closing(run: Run, history: History) -> list[str]:
    """Sum up a run, and end with the command that uses its model."""
    losses, evaluations = history.losses, history.evaluations
    lines = [f"loss {losses[0]:.4f} -> {losses[-1]:.4f} nats per predicted token"]
    if evaluations:
        lines.append(f"held out {evaluations[-1][1]:.4f} after step {evaluations[-1][0]}")
    folder = run.config.output.folder
    lines.append(f"in {folder}: model.safetensors, log.csv, history.json, checkpoint.safetensors")
    sample = f"python -m pretrain_lab.sample {shlex.quote(folder)} {shlex.quote(_prompt(run))}"
    note = OBJECTIVES[run.config.objective.kind].note
    return [*lines, *([note] if note else []), f"use it: {sample}"]


def _prompt(run: Run) -> str:
    """Take a beginning from the text itself, with a gap where the model fills gaps."""
    tokenizer, ids = run.text.tokenizer, run.text.ids
    line = "Once upon a time"
    if ids is not None:
        text = tokenizer.decode(ids.train[:400])
        line = next((x.strip() for x in text.splitlines() if len(x.strip()) > 12), line)
    words = line.split()
    line = line[:24] if len(words) < 5 else " ".join(words[:5])
    gap = OBJECTIVES[run.config.objective.kind].gap
    return " ".join([*line.split()[:-1], gap]) if gap and " " in line else line + gap
