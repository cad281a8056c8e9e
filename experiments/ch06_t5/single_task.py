# SPDX-License-Identifier: MIT
"""Do the tasks of `text_to_text` interfere? Two of them, each learned alone (T5-R2).

Writes data/runs/text_to_text_alone.json. The mixture's model answers sentiment and genre like the
majority class. Here the same pre-trained T5 sees one of the two tasks only, in as many batches as
the mixture drew of it on average, with the same rates, dropout and seed, and is asked the same
questions. A difference says that the mixture, not the model or the number of examples, is to blame;
it does not say what in the mixture.

--quick trains for a few steps, prints what it would record, and writes nothing.
"""

import argparse
import json
from typing import Any

from torch import Generator

from experiments.ch06_t5.task_scores import judge_class, mean
from experiments.ch06_t5.text_to_text import (
    DROPOUT_PROB,
    MAX_SOURCE_LEN,
    MAX_TARGET_LEN,
    N_WARMUP,
    PROPORTIONS,
    SEED,
    STAGES,
    START,
    WEIGHT_DECAY,
    Plan,
    asker,
    read_examples,
    start_model,
)
from experiments.common.records import Clock, rounded, write_run
from pretrain.t5 import T5
from pretrain.training import OptimConfig, fit
from pretrain_lab.finetuning.text_to_text import task_loss
from pretrain_lab.tasks.text_to_text import Example
from pretrain_lab.tokenizers.subwords import SubwordTokenizer, load_tokenizer

ARM = "pre-trained"
NAMES = ("sentiment", "genre")
BATCH_SIZE = 32


def n_steps_of(name: str) -> int:
    """Count the batches of a task that the mixture draws on average."""
    return round(PROPORTIONS[name] * STAGES[ARM][0][2])


def train_alone(
    tokenizer: SubwordTokenizer, examples: list[Example], n_steps: int
) -> tuple[T5, list[float]]:
    """Fine-tune the book's T5 on one task for n_steps batches, with the rates of the mixture.

    Returns the model in evaluation mode, and the mean loss of every hundred steps, in nats.
    """
    _, _, _, lr, final_lr = STAGES[ARM][0]
    model = start_model(ARM, tokenizer)
    history = fit(
        model,
        task_loss(
            examples,
            tokenizer,
            batch_size=BATCH_SIZE,
            max_source_len=MAX_SOURCE_LEN,
            max_target_len=MAX_TARGET_LEN,
        ),
        OptimConfig(
            lr=lr,
            final_lr=final_lr,
            n_warmup=min(N_WARMUP, n_steps),
            relative_lr=True,
            weight_decay=WEIGHT_DECAY,
        ),
        n_steps=n_steps,
        generator=Generator().manual_seed(1000 + SEED),
    )
    losses = history.losses
    return model.eval(), [round(mean(losses[i : i + 100]), 4) for i in range(0, n_steps, 100)]


def main() -> None:
    """Fine-tune on each task, ask, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    plan = Plan.quick() if parser.parse_args().quick else Plan()
    clock = Clock()
    tokenizer = load_tokenizer("plays_bpe")
    train, unseen = read_examples(plan)
    tasks: dict[str, Any] = {}
    for name in NAMES:
        n_steps = plan.n_steps or n_steps_of(name)
        model, losses = train_alone(tokenizer, train[name], n_steps)
        scores = judge_class(name, asker(model, tokenizer), train[name], unseen[name])
        tasks[name] = {"n_steps": n_steps, "train_loss_every_100_steps_nats": losses, **scores}
        print(name, scores["accuracy"], flush=True)
    result = {
        "question": "Does the mixture keep its model from learning sentiment and genre?",
        "interval": "95 %; bootstrap over films or plays",
        "seed": SEED,
        "start": START,
        "dropout_prob": DROPOUT_PROB[ARM],
        "tasks": tasks,
    }
    if not plan.keep:
        print(json.dumps(rounded(result), indent=1)[:1500])
        return
    write_run("text_to_text_alone", result, clock)


if __name__ == "__main__":
    main()
