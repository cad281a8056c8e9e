# SPDX-License-Identifier: MIT
"""Train the book's BERTs on word pieces, with their masked-LM heads (BRT-R7).

Run `python -m experiments.book_models.word_models bert_words` from the repository's root. A killed
run goes on where it stopped. Writes data/checkpoints/NAME.safetensors and its card NAME.json.

Text: the speeches of the training plays, and reviews and plots of the training films, each closed
by [SEP]. A row is [CLS] and what follows the start of a sentence; tokens after the row's first
[SEP] belong to the second segment, as in BERT's pairs. There is no second objective.

The windows grow: in long ones the model takes thousands of steps to find the neighbours that tell
most about a blank, and until then it only knows how frequent each token is.

book_bert is small enough to be fine-tuned on a page. bert_words is the strong one, which fills the
blanks of the reader's own sentences: wider, trained for longer, and stored in 5 and 6 bits.

`--quick` makes a few steps of each stage, prints the losses and writes nothing.
"""

import argparse
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from experiments.book_models.stages import Stage, shortened, smooth, stages_of, train_stages
from experiments.book_models.vocabularies import RECIPES as VOCABULARIES
from experiments.book_models.vocabularies import book_texts
from experiments.common.arm_cache import ArmCache
from experiments.common.mixed_precision import FastProducts, fast_precision
from experiments.common.records import versions
from experiments.common.special_ids import special_of
from pretrain.bert import BERT, BERTConfig
from pretrain.evaluation import nats_to_bits
from pretrain.objectives import IGNORE_INDEX, MaskedBatch, Objective, corrupt_mlm
from pretrain.training import History
from pretrain_lab.checkpoints import save_model
from pretrain_lab.paths import CHECKPOINTS
from pretrain_lab.tokenizers.segments import segment_ids_of
from pretrain_lab.tokenizers.subwords import SubwordTokenizer, load_tokenizer

SEED, VOCABULARY = 1, "book_wordpiece"
RECIPES: dict[str, dict[str, Any]] = {
    "book_bert": {
        "shape": {
            "d_model": 160, "n_layers": 5, "n_heads": 5, "max_len": 128, "n_segments": 2,
            "init_std": 0.05,
        },
        "stages": [
            {
                "seq_len": 8,
                "batch_size": 256,
                "fit": {"n_steps": 600, "lr": 2.5e-3, "n_warmup": 100, "final_lr": 0.9},
            },
            {
                "seq_len": 16,
                "batch_size": 128,
                "fit": {"n_steps": 900, "lr": 2.5e-3, "n_warmup": 50, "final_lr": 0.8},
            },
            {
                "seq_len": 64,
                "batch_size": 32,
                "fit": {"n_steps": 4500, "lr": 2e-3, "n_warmup": 100, "final_lr": 0.1},
            },
            {
                "seq_len": 128,
                "batch_size": 16,
                "fit": {"n_steps": 1500, "lr": 5e-4, "n_warmup": 50, "final_lr": 0.02},
            },
        ],
    },
    "bert_words": {
        "shape": {
            "d_model": 256, "n_layers": 4, "n_heads": 4, "d_ff": 768, "max_len": 128,
            "n_segments": 2, "positions": "rotary", "norm": "pre", "dropout": 0.1,
            "attention_dropout": 0.0,
        },
        "n_bits": {"": 6, "blocks.": 5},  # of a stored weight
        "bfloat16": True,  # where the processor has it
        "stages": [
            {
                "seq_len": 16,
                "batch_size": 128,
                "fit": {
                    "n_steps": 1_000, "lr": 3e-3, "n_warmup": 100, "final_lr": 1.0,
                    "optimizer": "muon", "mlm_probability": 0.3,
                },
            },
            {
                "seq_len": 64,
                "batch_size": 32,
                "fit": {
                    "n_steps": 9_000, "lr": 3e-3, "n_warmup": 100, "final_lr": 0.2,
                    "optimizer": "muon", "mlm_probability": 0.3,
                },
            },
            {
                "seq_len": 128,
                "batch_size": 16,
                "fit": {
                    "n_steps": 2_000, "lr": 6e-4, "n_warmup": 50, "final_lr": 0.0,
                    "optimizer": "muon", "mlm_probability": 0.15,
                },
            },
        ],
    },
}  # fmt: skip
"""Every step reads 2,048 tokens, whatever the windows."""
N_VALIDATION = 20_000  # tokens of the validation rows


class Text(NamedTuple):
    """A corpus as one sequence, and where a row may start in it."""

    ids: Tensor  # int64 (L,), every text closed by [SEP]
    starts: Tensor  # int64 (n,), ascending: the first token of each sentence


def encode_texts(texts: list[str], tokenizer: SubwordTokenizer) -> Text:
    """Concatenate texts (not empty), and find where their sentences start.

    The tokenizer has [SEP], and the marks that end a sentence.
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
    """Draw B rows of T tokens, int64 (B, T): [CLS], a sentence and what follows it.

    `text` has at least seq_len = T tokens.
    """
    starts = text.starts[text.starts <= len(text.ids) - (seq_len - 1)]
    chosen = starts[torch.randint(len(starts), (batch_size,), generator=generator)]
    return F.pad(text.ids.unfold(0, seq_len - 1, 1)[chosen], (1, 0), value=cls_id)


@dataclass(frozen=True, eq=False)
class RowObjective:
    """The masked loss on such rows, in nats per selected token."""

    text: Text
    tokenizer: SubwordTokenizer
    seq_len: int
    batch_size: int
    mlm_probability: float = 0.15

    def __call__(self, model: nn.Module, generator: Generator) -> Tensor:
        """Draw rows, corrupt them and score the selected tokens."""
        special, sep_id = special_of(self.tokenizer), self.tokenizer.sep_id
        rows = draw_rows(
            self.text, self.batch_size, self.seq_len, self.tokenizer.cls_id, generator=generator
        )
        read, labels, _ = corrupt_mlm(
            rows, mlm_probability=self.mlm_probability, generator=generator, **special
        )
        selected = labels != IGNORE_INDEX
        logits = model(read, segment_ids=segment_ids_of(rows, sep_id), masked_positions=selected)
        return F.cross_entropy(logits, labels[selected])


def fixed_rows(text: Text, tokenizer: SubwordTokenizer, seq_len: int) -> tuple[Tensor, MaskedBatch]:
    """Draw the validation rows of a stage and corrupt them, the same at every call."""
    generator = Generator().manual_seed(0)
    rows = draw_rows(text, N_VALIDATION // seq_len, seq_len, tokenizer.cls_id, generator=generator)
    return rows, corrupt_mlm(rows, generator=generator, **special_of(tokenizer))


@torch.no_grad()
def validation_loss(model: Any, rows: Tensor, fixed: MaskedBatch, sep_id: int) -> float:
    """Score fixed rows, in nats per selected token."""
    selected = fixed.labels != IGNORE_INDEX
    segments, total = segment_ids_of(rows, sep_id), 0.0
    parts = (part.split(256) for part in (fixed.ids, segments, selected, fixed.labels))
    for ids, segment_ids, where, labels in zip(*parts, strict=True):
        logits = model(ids, segment_ids=segment_ids, masked_positions=where)
        total += F.cross_entropy(logits, labels[where], reduction="sum").item()
    return total / int(selected.sum())


def make_evaluate(
    text: Text, tokenizer: SubwordTokenizer, seq_len: int
) -> Callable[[nn.Module], float]:
    """Return the function that scores a stage on validation rows of its own length, and prints."""
    rows, fixed = fixed_rows(text, tokenizer, seq_len)

    def evaluate(model: nn.Module) -> float:
        """Score, print and return nats per selected token."""
        loss = validation_loss(model, rows, fixed, tokenizer.sep_id)
        seconds = round(time.process_time())
        print(f"rows of {seq_len:3}: {loss:.3f} nats, {seconds} CPU-seconds", flush=True)
        return loss

    return evaluate


def unigram_nats(texts: dict[str, Text], tokenizer: SubwordTokenizer) -> float:
    """Score validation tokens by their frequency in training, specials left out."""
    ordinary = torch.ones(tokenizer.vocab_size, dtype=torch.bool)
    ordinary[list(tokenizer.special_ids)] = False
    counts = torch.bincount(texts["train"].ids, minlength=tokenizer.vocab_size) + 1.0
    counts = counts.masked_fill(~ordinary, 0)
    unseen = texts["validation"].ids
    return -(counts / counts.sum()).log()[unseen[ordinary[unseen]]].double().mean().item()


def make_loss(
    recipe: dict[str, Any], text: Text, tokenizer: SubwordTokenizer, stage: Stage
) -> Objective:
    """Return the loss of a stage of a recipe."""
    rows = RowObjective(text, tokenizer, stage.seq_len, stage.batch_size, stage.mlm_probability)
    return FastProducts(rows) if recipe.get("bfloat16") else rows


def objective_of(recipe: dict[str, Any]) -> str:
    """Describe the objective of a recipe."""
    shares = dict.fromkeys(f"{100 * stage.mlm_probability:.0f} %" for stage in stages_of(recipe))
    how = f"{' and then '.join(shares)} selected, 80/10/10"
    return f"masked, {how}; no next-sentence prediction"


def make_card(
    model: BERT, recipe: dict[str, Any], history: History, texts: dict[str, Text], unigram: float
) -> dict[str, Any]:
    """Describe what the model was made from and how it was trained."""
    joined = "\n".join(book_texts("train"))
    return {
        "data": VOCABULARIES[VOCABULARY].data,
        "text_sha256": hashlib.sha256(joined.encode()).hexdigest(),
        "vocabulary": VOCABULARY,
        "n_train_tokens": len(texts["train"].ids),
        "objective": objective_of(recipe),
        "seed": SEED,
        "recipe": recipe,
        "n_parameters": sum(p.numel() for p in model.parameters()),
        "unigram_nats_validation": round(unigram, 4),
        "train_loss_every_100_steps_nats": smooth(history.losses),
        "first_losses_nats": [round(value, 5) for value in history.losses[:20]],
        "validation_loss_nats": [[s, round(v, 5)] for s, v in history.evaluations],
        "validation_rows": "of the stage's own length: do not compare between stages",
        "precision": str(fast_precision() if recipe.get("bfloat16") else torch.float32),
        "cpu_seconds_of_last_session": round(time.process_time()),
        "flaws": "Reads lower case only; knows plays of 1600 and film reviews of 2002.",
        "versions": versions(),
    }


class Parts(NamedTuple):
    """What a training needs."""

    model: BERT
    make_loss: Callable[[Stage], Objective]
    make_evaluate: Callable[[int], Callable[[nn.Module], float]]  # for windows of a length


def make_parts(
    recipe: dict[str, Any], tokenizer: SubwordTokenizer, texts: dict[str, Text], seed: int
) -> Parts:
    """Make what a training by a recipe needs; the model's first weights are those of the seed."""
    torch.manual_seed(seed)
    return Parts(
        BERT(BERTConfig(tokenizer.vocab_size, **recipe["shape"])),
        partial(make_loss, recipe, texts["train"], tokenizer),
        partial(make_evaluate, texts["validation"], tokenizer),
    )


def load_texts(tokenizer: SubwordTokenizer) -> dict[str, Text]:
    """Load what is read and what the training is watched on."""
    return {split: encode_texts(book_texts(split), tokenizer) for split in ("train", "validation")}


def main() -> None:
    """Train a model and write it with its card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=sorted(RECIPES))
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    name, quick, recipe = options.model, options.quick, RECIPES[options.model]
    tokenizer = load_tokenizer(VOCABULARY)
    texts = load_texts(tokenizer)
    unigram = unigram_nats(texts, tokenizer)
    print(f"{len(texts['train'].ids):,} training tokens; frequencies alone: {unigram:.3f} nats")
    parts = make_parts(recipe, tokenizer, texts, SEED)
    cache, planned = ArmCache(name, [SEED, recipe], keep=not quick), stages_of(recipe)
    history = train_stages(
        parts.model,
        shortened(planned) if quick else planned,
        parts.make_loss,
        parts.make_evaluate,
        cache,
        seed=SEED,
        evaluate_every=250,
    )
    if quick:
        print("quick: nothing written")
        return
    card = make_card(parts.model, recipe, history, texts, unigram)
    file = CHECKPOINTS / f"{name}.safetensors"
    save_model(file, parts.model, tokenizer, card, n_bits=recipe.get("n_bits"))
    cache.forget()
    last = nats_to_bits(history.evaluations[-1][1])
    print(f"{name}: validation loss {last:.3f} bits per selected token")


if __name__ == "__main__":
    main()
