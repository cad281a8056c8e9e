"""Train the two recorded character models of the book: gpt_chars and bert_chars.

Run `python experiments/train_book_models.py gpt` (or `bert`) from the repository's root. A killed
run goes on where it stopped. Writes data/checkpoints/NAME.safetensors and its card NAME.json.
"""

import argparse
import hashlib
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Generator, Tensor, nn

from pretrain.bert import BERT
from pretrain.checkpoints import save_model
from pretrain.cleaning import PLAY_ALPHABET
from pretrain.datasets import load_shakespeare
from pretrain.evaluation import masked_log_probs, token_losses
from pretrain.gpt import GPT
from pretrain.objectives import BatchLoss, causal_lm_loss, corrupt_mlm, masked_lm_loss
from pretrain.paths import CHECKPOINTS
from pretrain.tokenization import CharTokenizer
from pretrain.training import fit

SEED = 1
SEQ_LEN = 128
RECIPES: dict[str, dict[str, Any]] = {
    "gpt": {
        "shape": {"d_model": 64, "n_layers": 3, "n_heads": 4, "max_len": SEQ_LEN, "init_std": 0.08},
        "batch_size": 16,
        "fit": {"n_steps": 12_000, "lr": 1e-2, "n_warmup": 200, "final_lr": 0.02},
    },
    "bert": {
        "shape": {"d_model": 64, "n_layers": 3, "n_heads": 4, "max_len": SEQ_LEN, "init_std": 0.08},
        "batch_size": 16,
        "fit": {"n_steps": 12_000, "lr": 3e-3, "n_warmup": 500, "final_lr": 0.02},
    },
}


def corpus(split: str) -> str:
    """Join the plays of a split, with a blank line between two of them."""
    return "\n".join(play.text for play in load_shakespeare(split))


def gpt_parts(
    tokenizer: CharTokenizer, train: Tensor, validation: Tensor
) -> tuple[nn.Module, BatchLoss, Callable[[nn.Module], float]]:
    """Make the GPT, its objective and its validation loss (nats per character)."""
    recipe = RECIPES["gpt"]
    model = GPT(tokenizer.vocab_size, **recipe["shape"])
    loss = causal_lm_loss(train, batch_size=recipe["batch_size"], seq_len=SEQ_LEN)

    def evaluate(model: Any) -> float:
        """Score the start of the validation plays, each character with 32 or more before it."""
        return token_losses(model, validation, seq_len=SEQ_LEN, min_context=32).mean().item()

    return model, loss, evaluate


def bert_parts(
    tokenizer: CharTokenizer, train: Tensor, validation: Tensor
) -> tuple[nn.Module, BatchLoss, Callable[[nn.Module], float]]:
    """Make the BERT, its objective and its validation loss (nats per selected character)."""
    recipe = RECIPES["bert"]
    model = BERT(tokenizer.vocab_size, **recipe["shape"])
    special: dict[str, Any] = {
        "mask_id": tokenizer.mask_id,
        "vocab_size": tokenizer.vocab_size,
        "special_ids": tokenizer.special_ids,
    }
    loss = masked_lm_loss(train, batch_size=recipe["batch_size"], seq_len=SEQ_LEN, **special)
    windows = validation.unfold(0, SEQ_LEN, SEQ_LEN)
    fixed = corrupt_mlm(windows, generator=Generator().manual_seed(0), **special)

    def evaluate(model: Any) -> float:
        """Score one fixed corruption of the start of the validation plays."""
        log_probs, answers = masked_log_probs(model, fixed.ids, fixed.labels)
        return -log_probs.gather(-1, answers[:, None]).mean().item()

    return model, loss, evaluate


def smooth(losses: list[float], width: int = 100) -> list[float]:
    """Average consecutive losses, so that the card stays small."""
    return [
        round(sum(losses[i : i + width]) / len(losses[i : i + width]), 4)
        for i in range(0, len(losses), width)
    ]


def main() -> None:
    """Train one of the two models and write it with its card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=sorted(RECIPES))
    name = parser.parse_args().model
    train, validation = corpus("train"), corpus("validation")
    tokenizer = CharTokenizer(sorted(PLAY_ALPHABET))
    torch.manual_seed(SEED)
    parts = gpt_parts if name == "gpt" else bert_parts
    model, loss, evaluate = parts(
        tokenizer, tokenizer.encode(train), tokenizer.encode(validation)[:64_000]
    )
    started = time.process_time()
    history = fit(
        model,
        loss,
        generator=Generator().manual_seed(SEED),
        evaluate=evaluate,
        evaluate_every=500,
        checkpoint=Path(tempfile.gettempdir()) / f"pretrain_{name}_chars.safetensors",
        checkpoint_every=500,
        **RECIPES[name]["fit"],
    )
    card = {
        "data": "Shakespeare, training plays (data/README.md)",
        "text_sha256": hashlib.sha256(train.encode()).hexdigest(),
        "n_train_characters": len(train),
        "objective": "causal" if name == "gpt" else "masked, 15 % selected, 80/10/10",
        "seed": SEED,
        "recipe": RECIPES[name],
        "n_parameters": sum(p.numel() for p in model.parameters()),
        "train_loss_every_100_steps_nats": smooth(history.losses),
        "first_losses_nats": [round(value, 5) for value in history.losses[:20]],
        "validation_loss_nats": [[s, round(v, 5)] for s, v in history.evaluations],
        "cpu_seconds_of_last_session": round(time.process_time() - started),
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
    }
    save_model(CHECKPOINTS / f"{name}_chars.safetensors", model, tokenizer, card)  # type: ignore[arg-type]
    print(f"{name}_chars: validation loss {history.evaluations[-1][1]:.4f} nats per character")


if __name__ == "__main__":
    main()
