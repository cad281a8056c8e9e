# SPDX-License-Identifier: MIT
"""The loop of `pretrain_lab.train`: steps, evaluations, checkpoints, and the files at the end.

Every loss is divided by the number of predictions of the whole batch, over all processes, and every
random choice has a seed of its own (`pretrain_lab.train.seeds`), so the number of processes changes
nothing but the order in which floats are added.
"""

import json
import math
import sys
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from tqdm.auto import tqdm

from pretrain.evaluation import eval_mode
from pretrain.training import History, set_learning_rate
from pretrain_lab.checkpoints import save_model
from pretrain_lab.progress import is_interactive
from pretrain_lab.run_state import (
    CheckpointError,
    RunState,
    gather_state,
    read_state,
    replacing,
    restore_state,
    write_state,
)
from pretrain_lab.train.config import Config
from pretrain_lab.train.data import StreamedWindows
from pretrain_lab.train.objectives import count_predictions
from pretrain_lab.train.run import Run, make_model, prepare
from pretrain_lab.train.seeds import derive_seed

CHECKPOINT = "checkpoint.safetensors"
MODEL = "model.safetensors"
HISTORY = "history.json"
"""Files in the folder of a run."""
HELD = "stream.held"
"""Tokens that were read from a stream and not used up, in a checkpoint."""


def train(config: Config, *, cpu: bool = False, progress: bool | None = None) -> History:
    """Train as a configuration says, or go on where its checkpoint stands.

    Losses of every step and evaluations are the same in every process. `cpu` leaves a GPU alone;
    `progress` shows a bar, None = where somebody watches.

    Raises:
        ConfigError: Text, vocabulary, model or processes are not as needed.
        CheckpointError: The checkpoint in the folder is damaged or of another run.
        FloatingPointError: The loss became infinite or NaN.
    """
    run = prepare(config, cpu=cpu)
    history = resume(run)
    run.accelerator.print(_opening(run, len(history.losses)))
    run.model.train()
    with _bar(run, len(history.losses), progress) as bar:
        while (step := len(history.losses)) < config.training.n_steps:
            history.losses.append(take_step(run, step))
            _after_step(run, history, bar)
    finish(run, history)
    return history


def take_step(run: Run, step: int) -> float:
    """Add up the gradients of this process's parts of a batch, and update with all others.

    Returns the loss before the update, in nats per predicted token of the whole batch.

    Raises:
        FloatingPointError: The loss is not finite; in all processes alike. The parameters are
            those from before.
    """
    training, accelerator = run.config.training, run.accelerator
    set_learning_rate(run.optimizer, training.optim.rate(step, training.n_steps))
    batches = [run.batch(step, part) for part in run.parts]
    n_predicted = max(run.total(sum(map(count_predictions, batches))), 1.0)
    # accelerate takes the mean of the processes' gradients: their number makes it the sum, which
    # is divided by all predictions. So a process with many masks counts for more than one with few.
    scale = accelerator.num_processes / n_predicted
    losses = []
    run.optimizer.zero_grad()
    for part, batch in zip(run.parts, batches, strict=True):
        torch.manual_seed(derive_seed(training.seed, step, part.start, "dropout"))
        is_last = part is run.parts[-1]  # then the processes exchange their gradients
        with nullcontext() if is_last else accelerator.no_sync(run.model):
            loss = run.text.objective.loss_sum(run.model, batch) * scale
            losses.append(loss.detach())
            accelerator.backward(loss)
    value = run.total(torch.stack(losses).sum()) / accelerator.num_processes
    if not math.isfinite(value):
        raise FloatingPointError(f"step {step}: expected a finite loss, got {value}")
    accelerator.clip_grad_norm_(run.model.parameters(), training.clip_norm)
    run.optimizer.step()
    return value


@torch.no_grad()
def evaluate(run: Run) -> float:
    """Compute the mean loss on the text held out; the same windows and corruption each time."""
    sums, counts = 0.0, 0
    with eval_mode(run.model):
        for number in range(run.config.training.evaluation_batches):
            for part in run.parts:
                batch = run.evaluation_batch(number, part)
                sums += float(run.text.objective.loss_sum(run.model, batch))
                counts += count_predictions(batch)
    return run.total(sums) / max(run.total(counts), 1.0)


def resume(run: Run) -> History:
    """Put model, optimiser and stream where the checkpoint stands, if the folder has one.

    Raises:
        CheckpointError: The checkpoint is damaged or of another run.
    """
    path = _file(run, CHECKPOINT)
    n_seen = run.total(float(path.exists()))
    if n_seen not in (0, run.accelerator.num_processes):
        raise CheckpointError(f"expected a folder that all processes share, but some lack {path}")
    if n_seen == 0:
        path.parent.mkdir(parents=True, exist_ok=True)  # now, rather than at the first save
        return History()
    state = read_state(
        path, run.settings, generators="derived", otherwise="; or choose another output.folder"
    )
    held = state.tensors.pop(HELD, None)
    restore_state(run.bare_model, run.optimizer.optimizer, state.tensors, path)
    if isinstance(run.text.windows, StreamedWindows):
        if state.place is None or held is None:
            raise CheckpointError(f"expected a place in the stream in {path}, got none")
        run.text.windows.go_to(state.place, held)
    return state.history


def save(run: Run, history: History) -> None:
    """Write the checkpoint; all processes gather, the first one writes."""
    tensors = gather_state(run.bare_model, run.optimizer.optimizer)
    state = RunState(tensors, history, run.settings, "derived")
    if isinstance(run.text.windows, StreamedWindows):
        state.place, tensors[HELD] = run.text.windows.position()
    if run.accelerator.is_main_process:
        write_state(_file(run, CHECKPOINT), state)


def finish(run: Run, history: History) -> None:
    """Write the model and the history, say where they are, and leave the other processes."""
    tensors = gather_state(run.bare_model, run.optimizer.optimizer)
    if run.accelerator.is_main_process:
        model = make_model(run.config, run.text.tokenizer)
        weights = {k: v for k, v in tensors.items() if k.startswith("model.")}
        model.load_state_dict({k.removeprefix("model."): v for k, v in weights.items()})
        card = {"settings": run.settings, "loss": history.losses[-1]}
        card["evaluations"] = history.evaluations
        save_model(_file(run, MODEL), model, run.text.tokenizer, card)
        with replacing(_file(run, HISTORY)) as part:
            part.write_text(json.dumps(asdict(history)) + "\n", encoding="utf-8")
        print(_closing(run, history))
    run.accelerator.wait_for_everyone()
    run.accelerator.end_training()


def _after_step(run: Run, history: History, bar: Any) -> None:
    """Evaluate, save and tell, where it is time for it."""
    training, output, done = run.config.training, run.config.output, len(history.losses)
    is_last, every = done == training.n_steps, training.evaluate_every
    text = f"loss {history.losses[-1]:.4f}"
    if every and (done % every == 0 or is_last):
        history.evaluations.append((done, evaluate(run)))
        text += f", held out {history.evaluations[-1][1]:.4f}"
    if isinstance(run.text.windows, StreamedWindows):
        run.text.windows.forget(done * training.batch_size)
    if done % output.checkpoint_every == 0 or is_last:
        save(run, history)
    bar.update()
    bar.set_postfix_str(text, refresh=False)
    if bar.disable and (done % output.log_every == 0 or is_last):
        run.accelerator.print(f"step {done}/{training.n_steps}: {text}", flush=True)


def _bar(run: Run, done: int, progress: bool | None) -> Any:
    """Make the bar of the first process; the others get a hidden one."""
    watched = is_interactive() or sys.stderr.isatty()
    shown = (watched if progress is None else progress) and run.accelerator.is_main_process
    n_steps = run.config.training.n_steps
    return tqdm(total=n_steps, initial=done, disable=not shown, unit="step")


def _file(run: Run, name: str) -> Path:
    """Name a file of the run."""
    return Path(run.config.output.folder) / name


def _opening(run: Run, done: int) -> str:
    """Say what is about to be trained."""
    training = run.config.training
    n_parameters = sum(p.numel() for p in run.bare_model.parameters())
    start = f"step {done} of {training.n_steps}" if done else f"{training.n_steps} steps"
    n_processes = run.accelerator.num_processes
    processes = f"{n_processes} processes" if n_processes > 1 else "one process"
    size = f"{n_parameters:,} parameters, {run.text.tokenizer.vocab_size:,} ids"
    windows = f"{training.batch_size} windows of {run.config.data.seq_len} tokens"
    return (
        f"{run.config.objective.kind}: {size}; {start}, each of {windows}, "
        f"by {processes} on {run.accelerator.device.type}"
    )


def _closing(run: Run, history: History) -> str:
    """Sum up a run and say where its files are."""
    losses, evaluations = history.losses, history.evaluations
    lines = [f"loss {losses[0]:.4f} -> {losses[-1]:.4f} nats per predicted token"]
    if evaluations:
        lines.append(f"held out {evaluations[-1][1]:.4f} after step {evaluations[-1][0]}")
    path = _file(run, MODEL)
    lines.append(f"model: {path} (pretrain_lab.checkpoints.load_model({str(path)!r}))")
    lines.append(f"losses: {_file(run, HISTORY)}; checkpoint: {_file(run, CHECKPOINT)}")
    return "\n".join(lines)
