# SPDX-License-Identifier: MIT
"""The loop of `pretrain_lab.train`: steps, evaluations, checkpoints, and the files at the end.

Every loss is divided by the number of predictions of the whole batch, over all processes, and every
random choice has a seed of its own (`pretrain_lab.train.seeds`), so the number of processes changes
nothing but the order in which floats are added.
"""

import json
import math
import time
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

import torch

from pretrain.evaluation import eval_mode
from pretrain.gpt import GPT
from pretrain.training import History, set_learning_rate
from pretrain_lab.checkpoints import save_model
from pretrain_lab.progress import is_watched
from pretrain_lab.run_state import (
    CheckpointError,
    RunState,
    differences,
    gather_state,
    read_state,
    replacing,
    restore_state,
    whole,
    write_state,
)
from pretrain_lab.train.config import Config
from pretrain_lab.train.data import StreamedWindows
from pretrain_lab.train.interrupts import Interrupts, Stopped
from pretrain_lab.train.kept import KEPT, keep
from pretrain_lab.train.log import RunLog, Silent, tell
from pretrain_lab.train.objectives import OBJECTIVES, count_predictions
from pretrain_lab.train.run import Run, check_folder, prepare
from pretrain_lab.train.seeds import derive_seed
from pretrain_lab.train.text import announce
from pretrain_lab.train.words import closing, opening

CHECKPOINT = "checkpoint.safetensors"
MODEL = "model.safetensors"
HISTORY = "history.json"
"""Files in the folder of a run, beside log.csv."""
HELD = "stream.held"
"""Tokens that were read from a stream and not used up, in a checkpoint."""
MAY_DIFFER = (
    "training.n_steps", "training.lr", "training.n_warmup", "training.final_lr", "training.betas",
    "training.weight_decay", "training.clip_norm", "training.micro_batch_size",
    "training.evaluate_every", "training.evaluation_batches",
    "data.validation_files", "validation.sha256",
)  # fmt: skip
"""What a resume may change; text, vocabulary, model and objective it may not."""


def train(config: Config, *, cpu: bool = False, progress: bool | None = None) -> History:
    """Train as a configuration says, or go on where its checkpoint stands.

    Losses of every step and evaluations are the same in every process. `cpu` leaves a GPU alone;
    `progress` shows a bar, None = where somebody watches. Ctrl-C and SIGTERM let the step end.

    Raises:
        ConfigError: Text, vocabulary, model or processes are not as needed.
        CheckpointError: The checkpoint in the folder is damaged or of another run.
        FloatingPointError: The loss or its gradient became infinite or NaN.
        Stopped: A signal came; checkpoint and model are those after the last step.
    """
    with Interrupts() as interrupts:
        for note in config.notes:
            tell(note)
        check_folder(Path(config.output.folder))
        announce(config.data)
        run = prepare(config, cpu=cpu)
        history, changed = resume(run)
        for line in [*changed, *opening(run, len(history.losses))]:
            tell(line)
        run.model.train()
        log = _open_log(run, history, progress)
        try:
            interrupts.wait = True
            while (step := len(history.losses)) < config.training.n_steps:
                start = time.perf_counter()
                history.losses.append(take_step(run, step))
                _after_step(run, history, log, time.perf_counter() - start)
                if run.total(bool(interrupts.came)):
                    _stop(run, history, interrupts.came or "a signal")
            interrupts.wait = False
        finally:
            log.close()
        finish(run, history)
    return history


def take_step(run: Run, step: int) -> float:
    """Add up the gradients of this process's parts of a batch, and update with all others.

    Returns the loss before the update, in nats per predicted token of the whole batch.

    Raises:
        FloatingPointError: The loss or its gradient is not finite; in all processes alike. The
            parameters are those from before.
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
    norm = whole(accelerator.clip_grad_norm_(run.model.parameters(), training.clip_norm))
    if not norm.isfinite():
        raise FloatingPointError(f"step {step}: expected a finite gradient, got norm {norm}")
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


def resume(run: Run) -> tuple[History, list[str]]:
    """Put model, optimiser and stream where the checkpoint stands, if the folder has one.

    Returns:
        The steps done, and what has changed since, in words.

    Raises:
        CheckpointError: The checkpoint is damaged, of another run, or beyond the last step.
    """
    path = _file(run, CHECKPOINT)
    n_seen = run.total(float(path.exists()))
    if n_seen not in (0, run.accelerator.num_processes):
        raise CheckpointError(f"expected a folder that all processes share, but some lack {path}")
    if n_seen == 0:
        path.parent.mkdir(parents=True, exist_ok=True)  # now, rather than at the first save
        return History(), []
    otherwise = "; or choose another output.folder"
    state = read_state(
        path, run.settings, generators="derived", otherwise=otherwise, may_differ=MAY_DIFFER
    )
    n_steps = run.config.training.n_steps
    if len(state.history.losses) > n_steps:
        raise CheckpointError(
            f"training.n_steps: expected at least the {len(state.history.losses)} steps of the run "
            f"saved in {path}, got {n_steps}{otherwise}"
        )
    held = state.tensors.pop(HELD, None)
    restore_state(run.bare_model, run.optimizer.optimizer, state.tensors, path)
    if isinstance(run.text.windows, StreamedWindows):
        if state.place is None or held is None:
            raise CheckpointError(f"expected a place in the stream in {path}, got none")
        run.text.windows.go_to(state.place, held)
    found = differences(state.settings, run.settings)
    changes = [f"{name} {then} -> {now}" for name, (then, now) in found.items() if "." in name]
    return state.history, [f"changed since the checkpoint: {', '.join(changes)}"] if changes else []


def save(run: Run, history: History) -> None:
    """Write the checkpoint; all processes gather, the first one writes."""
    tensors = gather_state(run.bare_model, run.optimizer.optimizer)
    state = RunState(tensors, history, run.settings, "derived")
    if isinstance(run.text.windows, StreamedWindows):
        state.place, tensors[HELD] = run.text.windows.position()
    if run.accelerator.is_main_process:
        write_state(_file(run, CHECKPOINT), state)


def save_weights(run: Run, history: History) -> None:
    """Write the model as it is, in a form that `load_model` reads; the first process does."""
    weights = {name: whole(value) for name, value in run.bare_model.state_dict().items()}
    if run.accelerator.is_main_process:
        with torch.device("meta"):  # without the wrappers, and without drawing weights
            model = OBJECTIVES[run.config.objective.kind].model(run.bare_model.config)
        model.load_state_dict(weights, assign=True)
        card = {"settings": run.settings, "steps": len(history.losses), "loss": history.losses[-1]}
        card["evaluations"] = history.evaluations
        save_model(_file(run, MODEL), model, run.text.tokenizer, card)


def finish(run: Run, history: History) -> None:
    """Write the model and the history, say where they are, and leave the other processes."""
    save_weights(run, history)
    if run.accelerator.is_main_process:
        with replacing(_file(run, HISTORY)) as part:
            part.write_text(json.dumps(asdict(history)) + "\n", encoding="utf-8")
        for line in closing(run, history):
            tell(line)
    run.accelerator.wait_for_everyone()
    run.accelerator.end_training()


def _stop(run: Run, history: History, signal: str) -> None:
    """Save all that is there, and leave."""
    save(run, history)
    save_weights(run, history)
    run.accelerator.wait_for_everyone()
    run.accelerator.end_training()
    done, n_steps = len(history.losses), run.config.training.n_steps
    raise Stopped(
        f"stopped by {signal} after step {done} of {n_steps}, and saved in "
        f"{run.config.output.folder}; the same command goes on from there"
    )


def _after_step(run: Run, history: History, log: RunLog | Silent, seconds: float) -> None:
    """Evaluate, save and tell, where it is time for it."""
    training, output, done = run.config.training, run.config.output, len(history.losses)
    is_last, every = done == training.n_steps, training.evaluate_every
    held_out = None
    if every and (done % every == 0 or is_last):
        held_out = evaluate(run)
        history.evaluations.append((done, held_out))
    if isinstance(run.text.windows, StreamedWindows):
        run.text.windows.forget(done * training.batch_size)
    if done % output.checkpoint_every == 0 or is_last:
        save(run, history)
    rate = training.optim.rate(done - 1, training.n_steps)
    log.step(history.losses[-1], rate, seconds, held_out)


def _open_log(run: Run, history: History, progress: bool | None) -> RunLog | Silent:
    """Open the log of the first process, and keep its text for a resume."""
    if not run.accelerator.is_main_process:
        return Silent()
    keep(_file(run, KEPT), run.text.key, run.text.ids)
    training, is_gpt = run.config.training, OBJECTIVES[run.config.objective.kind].model is GPT
    return RunLog(
        Path(run.config.output.folder),
        history,
        n_steps=training.n_steps,
        tokens_per_step=training.batch_size * run.config.data.seq_len,
        tokens_per_character=run.text.counts.tokens_per_character if is_gpt else 0.0,
        every=run.config.output.log_every,
        bar=is_watched() if progress is None else progress,
    )


def _file(run: Run, name: str) -> Path:
    """Name a file of the run."""
    return Path(run.config.output.folder) / name
