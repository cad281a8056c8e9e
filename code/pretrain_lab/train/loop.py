# SPDX-License-Identifier: MIT
"""The loop of `pretrain_lab.train`: steps, evaluations, checkpoints, and the files at the end.

Implemented: the step of the chapters (`pretrain.training`) on the parts of a batch that this
process computes. Every loss is divided by the number of predictions of the whole batch, over all
processes, and every random choice has a key (`pretrain_lab.train.seeds`), so the number of
processes changes nothing but the order in which floats are added. Left out: float16, whose scaling
of losses would be one more state to keep.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from tqdm.auto import tqdm

from pretrain.evaluation import evaluating
from pretrain.objectives import Batch
from pretrain.run_state import CheckpointError, History, replacing
from pretrain.training import learning_rate, set_learning_rate, update
from pretrain_lab.checkpoints import save_model
from pretrain_lab.progress import is_interactive
from pretrain_lab.train.config import Config
from pretrain_lab.train.data import StreamedWindows
from pretrain_lab.train.objectives import n_predicted
from pretrain_lab.train.run import Run, make_model, prepare
from pretrain_lab.train.seeds import key
from pretrain_lab.train.state import RunState, gather, read_run, restore, write_run

CHECKPOINT = "checkpoint.safetensors"
MODEL = "model.safetensors"
HISTORY = "history.json"
"""Files in the folder of a run."""


def train(config: Config, *, cpu: bool = False, progress: bool | None = None) -> History:
    """Train as a configuration says, or go on where its checkpoint stands.

    Args:
        config: Checked.
        cpu: Whether to leave a GPU alone.
        progress: Whether the first process shows a bar; None = where somebody watches.

    Returns:
        Losses of every step and the evaluations; the same in every process.

    Raises:
        ConfigError: Text, vocabulary, model or processes are not as needed.
        CheckpointError: The checkpoint in the folder is damaged or of another run.
        FloatingPointError: The loss became infinite or NaN.
    """
    run = prepare(config, cpu=cpu)
    state = resume(run)
    run.accelerator.print(_opening(run, len(state.history.losses)))
    run.model.train()
    with _bar(run, len(state.history.losses), progress) as bar:
        while (step := len(state.history.losses)) < config.training.n_steps:
            state.history.losses.append(take_step(run, step))
            _after_step(run, state, step + 1, bar)
    finish(run, state)
    return state.history


def take_step(run: Run, step: int) -> float:
    """Compute this process's part of a batch, and update the parameters with all others.

    The mean over processes that `accelerate` takes of the gradients is turned into a sum, and the
    sum is divided by all predictions: a process with many masks counts for more than one with few.

    Args:
        run: Its model and optimiser are changed.
        step: Steps done before.

    Returns:
        Loss before the update, in nats per predicted token of the whole batch.

    Raises:
        FloatingPointError: The loss is not finite; in all processes alike.
    """
    training, n_processes = run.config.training, run.accelerator.num_processes
    rate = learning_rate(
        step, n_steps=training.n_steps, peak=training.lr, n_warmup=training.n_warmup,
        final=training.final_lr,
    )  # fmt: skip
    set_learning_rate(run.optimizer, rate)
    batches = [run.batch(step, part) for part in run.parts]
    n_all = max(run.total(sum(n_predicted(batch) for batch in batches)), 1.0)
    try:
        return update(
            run.model, run.optimizer, _losses(run, step, batches, n_processes / n_all),
            clip_norm=training.clip_norm, backward=run.accelerator.backward,
            clip=run.accelerator.clip_grad_norm_,
            total=lambda loss: run.total(loss) / n_processes,
        )  # fmt: skip
    except FloatingPointError as error:
        raise FloatingPointError(f"step {step}: {error}") from error


def _losses(run: Run, step: int, batches: list[Batch], scale: float) -> Iterator[Tensor]:
    """Compute the losses of the parts; processes exchange gradients at the last part alone."""
    for part, batch in zip(run.parts, batches, strict=True):
        torch.manual_seed(key(run.config.training.seed, step, part.start, "dropout"))
        is_last = part is run.parts[-1]
        with nullcontext() if is_last else run.accelerator.no_sync(run.model):
            yield run.text.objective.loss_sum(run.model, batch) * scale


@torch.no_grad()
def evaluate(run: Run) -> float:
    """Compute the loss on the text held out; the same windows and corruption each time.

    Args:
        run: With a text held out.

    Returns:
        Mean loss in nats per predicted token.
    """
    sums, counts = 0.0, 0
    with evaluating(run.model):
        for number in range(run.config.training.evaluation_batches):
            for part in run.parts:
                batch = run.evaluation_batch(number, part)
                sums += float(run.text.objective.loss_sum(run.model, batch))
                counts += n_predicted(batch)
    return run.total(sums) / max(run.total(counts), 1.0)


def resume(run: Run) -> RunState:
    """Put a run where its checkpoint stands, if its folder has one.

    Args:
        run: Model, optimiser and stream are changed.

    Returns:
        Where the run stands.

    Raises:
        CheckpointError: The checkpoint is damaged or of another run.
    """
    path = _file(run, CHECKPOINT)
    n_seen = run.total(float(path.exists()))
    if n_seen not in (0, run.accelerator.num_processes):
        raise CheckpointError(f"expected a folder that all processes share, but some lack {path}")
    if n_seen == 0:
        path.parent.mkdir(parents=True, exist_ok=True)  # now, rather than at the first save
        return RunState()
    tensors, state = read_run(path, run.settings)
    restore(run.bare_model, run.optimizer.optimizer, tensors, path)
    if isinstance(run.text.windows, StreamedWindows):
        if state.place is None or state.held is None:
            raise CheckpointError(f"expected a place in the stream in {path}, got none")
        run.text.windows.go_to(state.place, state.held)
    return state


def save(run: Run, state: RunState) -> None:
    """Write the checkpoint; all processes gather, the first one writes.

    Args:
        run: The run.
        state: Where it stands; its place in a stream is noted in it.
    """
    if isinstance(run.text.windows, StreamedWindows):
        run.text.windows.forget(len(state.history.losses) * run.config.training.batch_size)
        state.place, state.held = run.text.windows.position()
    tensors = gather(run.bare_model, run.optimizer.optimizer)
    if run.accelerator.is_main_process:
        write_run(_file(run, CHECKPOINT), tensors, state, run.settings)


def finish(run: Run, state: RunState) -> None:
    """Write the model and the history, say where they are, and leave the other processes.

    Args:
        run: The run.
        state: Where it stands, at the end.
    """
    tensors = gather(run.bare_model, run.optimizer.optimizer)
    if run.accelerator.is_main_process:
        model = make_model(run.config, run.text.tokenizer)
        weights = {k: v for k, v in tensors.items() if k.startswith("model.")}
        model.load_state_dict({k.removeprefix("model."): v for k, v in weights.items()})
        card = {"settings": run.settings, "loss": state.history.losses[-1]}
        card["evaluations"] = state.history.evaluations
        save_model(_file(run, MODEL), model, run.text.tokenizer, card)
        with replacing(_file(run, HISTORY)) as part:
            part.write_text(json.dumps(asdict(state.history)) + "\n", encoding="utf-8")
        print(_closing(run, state))
    run.accelerator.wait_for_everyone()
    run.accelerator.end_training()


def _after_step(run: Run, state: RunState, done: int, bar: Any) -> None:
    """Evaluate, save and tell, where it is time for it."""
    training, output, history = run.config.training, run.config.output, state.history
    is_last, every = done == training.n_steps, training.evaluate_every
    text = f"loss {history.losses[-1]:.4f}"
    if every and (done % every == 0 or is_last):
        history.evaluations.append((done, evaluate(run)))
        text += f", held out {history.evaluations[-1][1]:.4f}"
    if isinstance(run.text.windows, StreamedWindows):
        run.text.windows.forget(done * training.batch_size)
    if done % output.checkpoint_every == 0 or is_last:
        save(run, state)
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


def _closing(run: Run, state: RunState) -> str:
    """Sum up a run and say where its files are."""
    losses, evaluations = state.history.losses, state.history.evaluations
    lines = [f"loss {losses[0]:.4f} -> {losses[-1]:.4f} nats per predicted token"]
    if evaluations:
        lines.append(f"held out {evaluations[-1][1]:.4f} after step {evaluations[-1][0]}")
    path = _file(run, MODEL)
    lines.append(f"model: {path} (pretrain_lab.checkpoints.load_model({str(path)!r}))")
    lines.append(f"losses: {_file(run, HISTORY)}; checkpoint: {_file(run, CHECKPOINT)}")
    return "\n".join(lines)
