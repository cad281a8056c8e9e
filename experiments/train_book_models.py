"""Train the two recorded character models of the book: gpt_chars and bert_chars.

Run `python experiments/train_book_models.py gpt` (or `bert`) from the repository's root. A killed
run goes on where it stopped. Writes data/checkpoints/NAME.safetensors and its card NAME.json.

BERT starts with short windows, as Devlin et al. 2019 (arXiv:1810.04805, appendix A.2) did, though
for another reason: with 128 positions at once, it takes thousands of steps to find out that
neighbours matter most; with 32 it takes hundreds. Both models read equally many characters.
"""

import argparse
import hashlib
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

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
from pretrain.training import History, fit

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
        "fit": {"n_steps": 9_000, "lr": 5e-3, "n_warmup": 200, "final_lr": 0.02},
        "short_windows": {
            "seq_len": 32,
            "batch_size": 64,
            "fit": {"n_steps": 3_000, "lr": 5e-3, "n_warmup": 200, "final_lr": 0.5},
        },
    },
}


class Stage(NamedTuple):
    """One part of a training: its windows and its schedule."""

    seq_len: int
    batch_size: int
    fit: dict[str, Any]


class Parts(NamedTuple):
    """What a training needs."""

    model: nn.Module
    make_loss: Callable[[int, int], BatchLoss]
    """Makes the objective for a window length and a batch size."""
    evaluate: Callable[[nn.Module], float]
    """Validation loss in nats per predicted character."""


def stages(recipe: dict[str, Any]) -> list[Stage]:
    """Give the stages of a recipe in the order in which they are trained."""
    short = [Stage(**recipe["short_windows"])] if "short_windows" in recipe else []
    return [*short, Stage(SEQ_LEN, recipe["batch_size"], recipe["fit"])]


def corpus(split: str) -> str:
    """Join the plays of a split, with a blank line between two of them."""
    return "\n".join(play.text for play in load_shakespeare(split))


def gpt_parts(tokenizer: CharTokenizer, train: Tensor, validation: Tensor) -> Parts:
    """Make the GPT, its objective and its validation loss."""
    model = GPT(tokenizer.vocab_size, **RECIPES["gpt"]["shape"])

    def make_loss(seq_len: int, batch_size: int) -> BatchLoss:
        """Predict the next character in windows of the training plays."""
        return causal_lm_loss(train, batch_size=batch_size, seq_len=seq_len)

    def evaluate(model: Any) -> float:
        """Score the start of the validation plays, each character with 32 or more before it."""
        return token_losses(model, validation, seq_len=SEQ_LEN, min_context=32).mean().item()

    return Parts(model, make_loss, evaluate)


def bert_parts(tokenizer: CharTokenizer, train: Tensor, validation: Tensor) -> Parts:
    """Make the BERT, its objective and its validation loss."""
    model = BERT(tokenizer.vocab_size, **RECIPES["bert"]["shape"])
    special: dict[str, Any] = {
        "mask_id": tokenizer.mask_id,
        "vocab_size": tokenizer.vocab_size,
        "special_ids": tokenizer.special_ids,
    }
    windows = validation.unfold(0, SEQ_LEN, SEQ_LEN)
    fixed = corrupt_mlm(windows, generator=Generator().manual_seed(0), **special)

    def make_loss(seq_len: int, batch_size: int) -> BatchLoss:
        """Restore selected characters in windows of the training plays."""
        return masked_lm_loss(train, batch_size=batch_size, seq_len=seq_len, **special)

    def evaluate(model: Any) -> float:
        """Score one fixed corruption of the start of the validation plays."""
        log_probs, answers = masked_log_probs(model, fixed.ids, fixed.labels)
        return -log_probs.gather(-1, answers[:, None]).mean().item()

    return Parts(model, make_loss, evaluate)


def run_file(name: str, stage: int) -> Path:
    """Name the file that a killed run of this seed goes on from."""
    return Path(tempfile.gettempdir()) / f"pretrain_{name}_seed{SEED}_stage{stage}.safetensors"


def train(name: str, parts: Parts) -> History:
    """Run the stages of a recipe, each with its own optimiser and schedule.

    Args:
        name: "gpt" or "bert".
        parts: The model is changed in place.

    Returns:
        Losses and evaluations of all stages, steps counted through.
    """
    whole = History()
    generator = Generator().manual_seed(SEED)
    for i, stage in enumerate(stages(RECIPES[name])):
        history = fit(
            parts.model,
            parts.make_loss(stage.seq_len, stage.batch_size),
            generator=generator,
            evaluate=parts.evaluate,
            evaluate_every=500,
            checkpoint=run_file(name, i),
            checkpoint_every=500,
            **stage.fit,
        )
        n_before = len(whole.losses)
        whole.losses += history.losses
        whole.evaluations += [(n_before + step, loss) for step, loss in history.evaluations]
    return whole


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
    text, validation = corpus("train"), corpus("validation")
    tokenizer = CharTokenizer(sorted(PLAY_ALPHABET))
    torch.manual_seed(SEED)
    make_parts = gpt_parts if name == "gpt" else bert_parts
    parts = make_parts(tokenizer, tokenizer.encode(text), tokenizer.encode(validation)[:64_000])
    started = time.process_time()
    history = train(name, parts)
    card = {
        "data": "Shakespeare, training plays (data/README.md)",
        "text_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "n_train_characters": len(text),
        "objective": "causal" if name == "gpt" else "masked, 15 % selected, 80/10/10",
        "seed": SEED,
        "recipe": RECIPES[name],
        "n_parameters": sum(p.numel() for p in parts.model.parameters()),
        "train_loss_every_100_steps_nats": smooth(history.losses),
        "first_losses_nats": [round(value, 5) for value in history.losses[:20]],
        "validation_loss_nats": [[s, round(v, 5)] for s, v in history.evaluations],
        "cpu_seconds_of_last_session": round(time.process_time() - started),
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
    }
    save_model(CHECKPOINTS / f"{name}_chars.safetensors", parts.model, tokenizer, card)  # type: ignore[arg-type]
    for i in range(len(stages(RECIPES[name]))):
        run_file(name, i).unlink(missing_ok=True)  # or the next run would find itself done
    print(f"{name}_chars: validation loss {history.evaluations[-1][1]:.4f} nats per character")


if __name__ == "__main__":
    main()
