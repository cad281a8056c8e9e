# SPDX-License-Identifier: MIT
"""Can a BERT write? Masks filled in over more and more rounds, beside a GPT and the real text.

Two tasks on windows of unseen plays: the continuation (the first quarter is given) and the middle
(a quarter in the middle is missing). Judges that read from the left give bits per token: an n-gram
model, which has nothing in common with either writer, and the GPT, which is biased towards its own
samples. Few bits alone mean little, since a text that repeats itself is easy to predict: read them
beside the bits of the real text, and beside the share of different pairs and triples of tokens.
"""

from typing import Any

import torch
from torch import Generator, Tensor

from experiments.ch07_worldview.questions import (
    MIDDLE,
    SEQ_LEN,
    SPECIAL,
    TOKENIZER,
    in_bits,
    windows_of,
)
from pretrain.bert import BERT
from pretrain.generation import Sampling, generate, mask_predict
from pretrain.gpt import GPT
from pretrain_lab.baselines.kneser_ney import KneserNey
from pretrain_lab.scoring.spans import gpt_span_log_probs
from pretrain_lab.statistics.intervals import bootstrap_interval

TASKS = {"continuation": (SEQ_LEN // 4, SEQ_LEN), "middle": (MIDDLE - 8, MIDDLE + 8)}
"""First missing place, and the place after the last one."""
ROUNDS = (1, 2, 4, 8, 16)  # and as many as there are masks
STYLES: dict[str, dict[str, Any]] = {
    "greedy, by confidence": {"order": "confidence", "greedy": True},
    "sampled, by confidence": {"order": "confidence"},
    "sampled, in random order": {"order": "random"},
}
N_AFTER = 4  # tokens behind a filled middle that are judged too: do they still fit?
N_EXAMPLES = 3


def distinct(rows: Tensor, n: int) -> float:
    """Return the share of different n-grams among all n-grams of texts (N, T)."""
    grams = rows.unfold(1, n, 1).reshape(-1, n)
    return len(torch.unique(grams, dim=0)) / len(grams)


def repeats(rows: Tensor) -> float:
    """Return the share of tokens that equal the one before them."""
    return (rows[:, 1:] == rows[:, :-1]).double().mean().item()


def written(model: Any, windows: Tensor, task: str, style: dict[str, Any], n_rounds: int) -> Tensor:
    """Let a model fill what a task hides in windows, int64 (N, SEQ_LEN), of the same shape.

    Args:
        model: A BERT; or a GPT, which can only continue, so that style and rounds do not matter.
        windows: int64 (N, SEQ_LEN).
        task: A key of TASKS.
        style: A value of STYLES.
        n_rounds: Rounds of unmasking.
    """
    start, end = TASKS[task]
    generator = Generator().manual_seed(41)
    if isinstance(model, GPT):
        text = generate(model, windows[:, :start], end - start, Sampling(generator))
        return torch.cat([text, windows[:, end:]], dim=1)
    hidden = windows.clone()
    hidden[:, start:end] = SPECIAL["mask_id"]
    ids = {key: SPECIAL[key] for key in ("mask_id", "special_ids")}
    greedy = style.get("greedy", False)
    choose = Sampling(None if greedy else generator, greedy=greedy)
    ids["order"] = style["order"]
    parts = [mask_predict(model, rows, n_rounds, choose, **ids) for rows in hidden.split(50)]
    return torch.cat(parts)


def judge(text: Tensor, windows: Tensor, task: str, judges: dict[str, Any]) -> dict[str, Any]:
    """Judge texts: bits of what was written (and a little after it), variety, and hits.

    `text` are the real windows, int64 (N, SEQ_LEN), with the hidden part filled; `judges` are
    "n-gram" and "gpt".
    """
    start, end = TASKS[task]
    until = min(end + N_AFTER, SEQ_LEN)
    own = text[:, start:end]
    by_counts = [
        torch.from_numpy(judges["n-gram"].log_probs(row.numpy())[start:until]).mean()
        for row in text
    ]
    by_gpt = gpt_span_log_probs(judges["gpt"], text, start, until).double().mean(dim=1)
    return {
        "n-gram bits": interval(in_bits(torch.stack(by_counts))),
        "gpt bits": interval(in_bits(by_gpt)),
        "distinct": {str(n): distinct(own, n) for n in (1, 2, 3)},
        "repeats": repeats(own),
        "right": (own == windows[:, start:end]).double().mean().item(),
    }


def interval(values: list[float]) -> list[float]:
    """Return mean and 95 % bootstrap interval over texts."""
    items = torch.tensor(values, dtype=torch.float64)
    return list(bootstrap_interval(items, generator=Generator().manual_seed(0)))


def study_generation(
    bert: BERT, gpt: GPT, ids: dict[str, Tensor], *, n: int, order: int, n_rounds: tuple[int, ...]
) -> dict[str, Any]:
    """Let BERT and GPT write, and judge all they wrote beside the real text.

    `order` is of the n-gram that judges, chosen on the validation plays by the other study; to the
    rounds of unmasking in `n_rounds` the number of masks is added.

    Returns:
        task -> real, gpt, and for BERT style -> rounds -> result of `judge`; and examples.
    """
    windows = windows_of(ids["test"], n, seed=40)
    judges = {
        "n-gram": KneserNey(order, TOKENIZER.vocab_size).fit(ids["train"].numpy()),
        "gpt": gpt,
    }
    result: dict[str, Any] = {"order": order, "n": n, "tasks": {}, "examples": {}}
    for task, (start, end) in TASKS.items():
        texts = {"real": windows, "gpt": written(gpt, windows, task, {}, 0)}
        for style, options in STYLES.items():
            for k in [k for k in n_rounds if k < end - start] + [end - start]:
                texts[f"bert, {style}, {k}"] = written(bert, windows, task, options, k)
        result["tasks"][task] = {
            "start": start,
            "end": end,
            **{name: judge(text, windows, task, judges) for name, text in texts.items()},
        }
        result["examples"][task] = {
            name: [[TOKENIZER.decode(part) for part in row.tensor_split([start, end])]
                   for row in text[:N_EXAMPLES]]
            for name, text in texts.items()
        }  # fmt: skip
        print(task, flush=True)
    return result
