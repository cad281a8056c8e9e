# SPDX-License-Identifier: MIT
"""Train book_bert: the book's BERT on word pieces, with its masked-LM head (BRT-R7).

Run `python -m experiments.book_models.book_bert` from the repository's root. A killed run goes on
where it stopped. Writes data/checkpoints/book_bert.safetensors and its card book_bert.json.

Text: the speeches of the training plays, and reviews and plots of the training films, each closed
by [SEP]. A row is [CLS] and what follows the start of a sentence; tokens after the row's first
[SEP] belong to the second segment, as in BERT's pairs. There is no second objective.

The windows grow: in long ones the model takes thousands of steps to find the neighbours that tell
most about a blank, and until then it only knows how frequent each token is.

`--quick` makes a few steps of each stage, prints the losses and writes nothing.
"""

import argparse
import hashlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from experiments.book_models.vocabularies import RECIPES, book_texts
from experiments.common.records import versions
from pretrain.bert import BERT
from pretrain.evaluation import bits
from pretrain.objectives import IGNORE_INDEX, BatchLoss, Corrupted, corrupt_mlm, note_settings
from pretrain.run_state import History
from pretrain.training import fit
from pretrain_lab.checkpoints import save_model
from pretrain_lab.paths import CHECKPOINTS
from pretrain_lab.tokenizers.segments import segment_ids_of
from pretrain_lab.tokenizers.subwords import SubwordTokenizer, load_tokenizer

SEED = 1
NAME, VOCABULARY = "book_bert", "book_wordpiece"
SHAPE: dict[str, Any] = {
    "d_model": 160, "n_layers": 5, "n_heads": 5, "max_len": 128, "n_segments": 2, "init_std": 0.05,
}  # fmt: skip
STAGES: tuple[dict[str, Any], ...] = (
    {"seq_len": 8, "batch_size": 256,
     "fit": {"n_steps": 600, "lr": 2.5e-3, "n_warmup": 100, "final_lr": 0.9}},
    {"seq_len": 16, "batch_size": 128,
     "fit": {"n_steps": 900, "lr": 2.5e-3, "n_warmup": 50, "final_lr": 0.8}},
    {"seq_len": 64, "batch_size": 32,
     "fit": {"n_steps": 4500, "lr": 2e-3, "n_warmup": 100, "final_lr": 0.1}},
    {"seq_len": 128, "batch_size": 16,
     "fit": {"n_steps": 1500, "lr": 5e-4, "n_warmup": 50, "final_lr": 0.02}},
)  # fmt: skip
"""Every step reads 2,048 tokens, whatever the windows."""
N_VALIDATION = 20_000
"""Tokens of the validation rows."""
QUICK_STEPS = 12


class Text(NamedTuple):
    """A corpus as one sequence, and where a row may start in it."""

    ids: Tensor
    """int64 (L,), every text closed by [SEP]."""
    starts: Tensor
    """int64 (n,), ascending: the first token of each sentence."""


def special_of(tokenizer: SubwordTokenizer) -> dict[str, Any]:
    """Name what `corrupt_mlm` needs to know of the vocabulary."""
    return {
        "mask_id": tokenizer.mask_id,
        "vocab_size": tokenizer.vocab_size,
        "special_ids": tokenizer.special_ids,
    }


def encode_texts(texts: list[str], tokenizer: SubwordTokenizer) -> Text:
    """Put texts behind each other, and find where their sentences start.

    Args:
        texts: Not empty.
        tokenizer: Has [SEP], and the marks that end a sentence.
    """
    end = torch.tensor([tokenizer.sep_id])
    ids = torch.cat([torch.cat([tokenizer.encode(text), end]) for text in texts])
    closing = [tokenizer.tokens.index(mark) for mark in ".!?"]
    closes = torch.isin(ids, torch.tensor([*closing, tokenizer.sep_id]))
    opens = torch.cat([torch.tensor([True]), closes[:-1] & ~closes[1:]])
    return Text(ids, opens.nonzero().flatten())


def draw_rows(
    text: Text, batch_size: int, seq_len: int, cls_id: int, *, generator: Generator
) -> Tensor:
    """Draw rows of the form [CLS], a sentence and what follows it.

    Args:
        text: At least seq_len tokens long.
        batch_size: Number of rows B.
        seq_len: Length T of each, [CLS] included.
        cls_id: Id of [CLS].
        generator: Source of randomness.

    Returns:
        int64 (B, T).
    """
    starts = text.starts[text.starts <= len(text.ids) - (seq_len - 1)]
    chosen = starts[torch.randint(len(starts), (batch_size,), generator=generator)]
    return F.pad(text.ids.unfold(0, seq_len - 1, 1)[chosen], (1, 0), value=cls_id)


def row_loss(
    text: Text, tokenizer: SubwordTokenizer, *, batch_size: int, seq_len: int
) -> BatchLoss:
    """Make the masked loss on such rows, in nats per selected token."""
    special, sep_id = special_of(tokenizer), tokenizer.sep_id

    def loss(model: nn.Module, generator: Generator) -> Tensor:
        """Draw rows, corrupt them and score the selected tokens."""
        rows = draw_rows(text, batch_size, seq_len, tokenizer.cls_id, generator=generator)
        read, labels, _ = corrupt_mlm(rows, generator=generator, **special)
        selected = labels != IGNORE_INDEX
        logits = model(read, segment_ids=segment_ids_of(rows, sep_id), predict=selected)
        return F.cross_entropy(logits, labels[selected])

    settings = {"batch_size": batch_size, "seq_len": seq_len, "vocabulary": VOCABULARY}
    return note_settings(loss, text.ids, kind="masked rows", **settings)


def fixed_rows(text: Text, tokenizer: SubwordTokenizer, seq_len: int) -> tuple[Tensor, Corrupted]:
    """Draw the validation rows of a stage and corrupt them, the same at every call."""
    generator = Generator().manual_seed(0)
    rows = draw_rows(text, N_VALIDATION // seq_len, seq_len, tokenizer.cls_id, generator=generator)
    return rows, corrupt_mlm(rows, generator=generator, **special_of(tokenizer))


@torch.no_grad()
def validation_loss(model: Any, rows: Tensor, fixed: Corrupted, sep_id: int) -> float:
    """Score fixed rows, in nats per selected token."""
    selected = fixed.labels != IGNORE_INDEX
    segments, total = segment_ids_of(rows, sep_id), 0.0
    parts = (part.split(256) for part in (fixed.ids, segments, selected, fixed.labels))
    for ids, segment_ids, where, labels in zip(*parts, strict=True):
        logits = model(ids, segment_ids=segment_ids, predict=where)
        total += F.cross_entropy(logits, labels[where], reduction="sum").item()
    return total / int(selected.sum())


def make_evaluate(
    text: Text, tokenizer: SubwordTokenizer, seq_len: int
) -> Callable[[nn.Module], float]:
    """Make the function that judges a stage on validation rows of its own length, and tells."""
    rows, fixed = fixed_rows(text, tokenizer, seq_len)

    def evaluate(model: nn.Module) -> float:
        """Score, print and return nats per selected token."""
        loss = validation_loss(model, rows, fixed, tokenizer.sep_id)
        seconds = round(time.process_time())
        print(f"rows of {seq_len:3}: {loss:.3f} nats, {seconds} CPU-seconds", flush=True)
        return loss

    return evaluate


def run_file(stage: int) -> Path:
    """Name the file that a killed run goes on from."""
    return Path(tempfile.gettempdir()) / f"pretrain_{NAME}_seed{SEED}_stage{stage}.safetensors"


def train(
    model: nn.Module, texts: dict[str, Text], tokenizer: SubwordTokenizer, *, quick: bool
) -> History:
    """Run the stages, each with its own optimiser and schedule.

    Args:
        model: Changed in place.
        texts: "train" and "validation".
        tokenizer: The vocabulary of both.
        quick: Whether to make a few steps only and keep no files.

    Returns:
        Losses and evaluations of all stages, steps counted through.
    """
    whole, generator = History(), Generator().manual_seed(SEED)
    for i, stage in enumerate(STAGES):
        size = {"batch_size": stage["batch_size"], "seq_len": stage["seq_len"]}
        short = {"n_steps": QUICK_STEPS, "n_warmup": QUICK_STEPS} if quick else {}
        history = fit(
            model,
            row_loss(texts["train"], tokenizer, **size),
            generator=generator,
            evaluate=make_evaluate(texts["validation"], tokenizer, stage["seq_len"]),
            evaluate_every=250,
            checkpoint=None if quick else run_file(i),
            checkpoint_every=100,
            progress=False,
            **{**stage["fit"], **short},
        )
        n_before = len(whole.losses)
        whole.losses += history.losses
        whole.evaluations += [(n_before + step, loss) for step, loss in history.evaluations]
    return whole


def unigram_nats(texts: dict[str, Text], tokenizer: SubwordTokenizer) -> float:
    """Score validation tokens by their frequency in training, specials left out."""
    ordinary = torch.ones(tokenizer.vocab_size, dtype=torch.bool)
    ordinary[list(tokenizer.special_ids)] = False
    counts = torch.bincount(texts["train"].ids, minlength=tokenizer.vocab_size) + 1.0
    counts = counts.masked_fill(~ordinary, 0)
    unseen = texts["validation"].ids
    return -(counts / counts.sum()).log()[unseen[ordinary[unseen]]].double().mean().item()


def smooth(losses: list[float], width: int = 100) -> list[float]:
    """Average consecutive losses, so that the card stays small."""
    return [
        round(sum(losses[i : i + width]) / len(losses[i : i + width]), 4)
        for i in range(0, len(losses), width)
    ]


def make_card(
    model: BERT, history: History, texts: dict[str, Text], unigram: float
) -> dict[str, Any]:
    """Say what the model was made from and how it was trained."""
    joined = "\n".join(book_texts("train"))
    return {
        "data": RECIPES[VOCABULARY].data,
        "text_sha256": hashlib.sha256(joined.encode()).hexdigest(),
        "vocabulary": VOCABULARY,
        "n_train_tokens": len(texts["train"].ids),
        "objective": "masked, 15 % selected, 80/10/10; no next-sentence prediction",
        "seed": SEED,
        "recipe": {"shape": SHAPE, "stages": list(STAGES)},
        "n_parameters": sum(p.numel() for p in model.parameters()),
        "unigram_nats_validation": round(unigram, 4),
        "train_loss_every_100_steps_nats": smooth(history.losses),
        "first_losses_nats": [round(value, 5) for value in history.losses[:20]],
        "validation_loss_nats": [[s, round(v, 5)] for s, v in history.evaluations],
        "validation_rows": "of the stage's own length: do not compare between stages",
        "cpu_seconds_of_last_session": round(time.process_time()),
        "flaws": "Reads lower case only; knows plays of 1600 and film reviews of 2002.",
        "versions": versions(),
    }


def main() -> None:
    """Train the model and write it with its card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    tokenizer = load_tokenizer(VOCABULARY)
    texts = {s: encode_texts(book_texts(s), tokenizer) for s in ("train", "validation")}
    unigram = unigram_nats(texts, tokenizer)
    print(f"{len(texts['train'].ids):,} training tokens; frequencies alone: {unigram:.3f} nats")
    torch.manual_seed(SEED)
    model = BERT(tokenizer.vocab_size, **SHAPE)
    history = train(model, texts, tokenizer, quick=quick)
    if quick:
        print("quick: nothing written")
        return
    save_model(
        CHECKPOINTS / f"{NAME}.safetensors",
        model,
        tokenizer,
        make_card(model, history, texts, unigram),
    )
    for i in range(len(STAGES)):
        run_file(i).unlink(missing_ok=True)  # or the next run would find itself done
    last = bits(history.evaluations[-1][1])
    print(f"{NAME}: validation loss {last:.3f} bits per selected token")


if __name__ == "__main__":
    main()
