# SPDX-License-Identifier: MIT
"""What the recorded studies of chapter 5 share: text, one small recipe, blanks.

Every arm of every study has the same size, sees the same windows of the training plays in the
same order for a given seed, and takes the same number of steps.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from pretrain.bert import BERT, BERTConfig
from pretrain.gpt import GPT, GPTConfig
from pretrain.objectives import Objective, random_windows
from pretrain.training import Evaluate, History, OptimConfig, fit
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.tokenizers.characters import CharTokenizer

SEEDS = (0, 1, 2)
SEQ_LEN = 32
N_STEPS = 2000
RECIPE: dict[str, Any] = {
    "d_model": 64, "n_layers": 2, "n_heads": 4, "norm": "post", "init_std": 0.08,
    "seq_len": SEQ_LEN, "batch_size": 64, "n_steps": N_STEPS, "lr": 5e-3, "n_warmup": 200,
    "final_lr": 0.02,
}  # fmt: skip


def load_ids(tokenizer: CharTokenizer | None = None) -> tuple[CharTokenizer, dict[str, Tensor]]:
    """Encode the plays of "train", "validation" and "test" as one long sequence each, int64 (L,).

    `tokenizer` None = one of all characters of the plays.
    """
    texts = {
        split: "\n".join(play.text for play in load_shakespeare(split))
        for split in ("train", "validation", "test")
    }
    tokenizer = tokenizer or CharTokenizer.from_text("".join(texts.values()))
    return tokenizer, {split: tokenizer.encode(text) for split, text in texts.items()}


def middle_blanks(ids: Tensor, n: int, *, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Draw windows with one blank in the middle, SEQ_LEN // 2 characters to its left.

    Returns windows int64 (n, SEQ_LEN), places int64 (n,), answers int64 (n,).
    """
    generator = torch.Generator().manual_seed(seed)
    windows = random_windows(ids, n, SEQ_LEN, generator=generator)
    places = torch.full((n,), SEQ_LEN // 2)
    return windows, places, windows[:, SEQ_LEN // 2]


def new_model(kind: type[GPT] | type[BERT], vocab_size: int, seed: int) -> Any:
    """Make an untrained model of the studies' size, for V token ids."""
    torch.manual_seed(seed)
    shape = {key: RECIPE[key] for key in ("d_model", "n_layers", "n_heads", "norm", "init_std")}
    config = GPTConfig if kind is GPT else BERTConfig
    return kind(config(vocab_size, max_len=SEQ_LEN, **shape))  # type: ignore[arg-type]


def train(
    model: Any,
    loss: Objective,
    *,
    seed: int,
    n_steps: int = N_STEPS,
    lr: float = RECIPE["lr"],
    evaluate: Callable[[nn.Module], float] | None = None,
    evaluate_every: int = 100,
) -> History:
    """Train with the studies' recipe and return the history; evaluate now and then, if asked."""
    return fit(
        model,
        loss,
        OptimConfig(lr=lr, n_warmup=RECIPE["n_warmup"], final_lr=RECIPE["final_lr"]),
        n_steps=n_steps,
        generator=torch.Generator().manual_seed(1000 + seed),
        hooks=[Evaluate(evaluate, every=evaluate_every)] if evaluate else [],
    )
