# SPDX-License-Identifier: MIT
"""Train the recorded models of the book: gpt_plays; gpt_chars, bert_chars, t5_chars, t5_subwords.

Run `python -m experiments.book_models.character_models gpt` (or `gpt_plays --seed 1`, `bert`,
`t5_chars`, `t5`) from the repository's root. A killed run goes on where it stopped, and `--extend`
adds the stages that a stored model's card does not list yet to its training. Writes
data/checkpoints/NAME.safetensors and its card NAME.json; of a model with several seeds the weights
of all but the first have the seed in their name.

gpt_plays is the book's strong GPT: larger, with a longer context, and with what has become ordinary
since 2018, rotary positions and Muon. Its weights are stored in 6 bits. bert_plays, the strong
BERT, begins with these weights: the mask comes off and the question changes. The others are small
enough to be trained again in minutes.

BERT starts with short windows, as Devlin et al. 2019 (arXiv:1810.04805, appendix A.2) did, though
for another reason: with 128 positions at once, it takes thousands of steps to find out that
neighbours matter most; with 32 it takes hundreds. GPT and BERT read equally many characters. T5
starts with short windows for the same reason; its losses are per token of the target, subword or
character, sentinels included. What is special to T5 on characters is in `t5_chars`.
"""

import argparse
import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor, nn

from experiments.book_models.hidden_gaps import HiddenGapsLM
from experiments.book_models.looking_back import RenamedLM, RepeatsLM, names_in
from experiments.book_models.stages import Stage, shortened, smooth, stages_of, train_stages
from experiments.book_models.t5_chars import (
    SPECIALS,
    RandomGaps,
    evaluate_t5_chars,
    match_sentinels,
)
from experiments.common.arm_cache import ArmCache
from experiments.common.mixed_precision import FastProducts, fast_precision
from experiments.common.records import Clock, versions
from experiments.common.special_ids import sentinels_of, special_of
from pretrain.bert import BERT, BERTConfig
from pretrain.evaluation import masked_log_probs, token_losses
from pretrain.gpt import GPT, GPTConfig
from pretrain.objectives import (
    Batch,
    CausalLM,
    MaskedLM,
    Objective,
    SpanCorruptionLM,
    corrupt_mlm,
    seq2seq_loss_sum,
)
from pretrain.span_corruption import SpanCorruption, corrupt_spans
from pretrain.t5 import T5, T5Config
from pretrain_lab.checkpoints import AnyTokenizer, load_card, load_model, save_model
from pretrain_lab.corpora.cleaning import PLAY_ALPHABET
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.paths import CHECKPOINTS
from pretrain_lab.tokenizers.characters import MASK, PAD, CharTokenizer
from pretrain_lab.tokenizers.subwords import SubwordTokenizer, load_tokenizer

SEQ_LEN = 128
STORED_BITS = 6  # of a weight of the strong models
N_VALIDATION = 64_000  # characters or tokens
RECIPES: dict[str, dict[str, Any]] = {
    "gpt_plays": {
        "shape": {
            "d_model": 256, "n_layers": 4, "n_heads": 4, "d_ff": 768, "max_len": 256,
            "positions": "rotary", "dropout": 0.1, "attention_dropout": 0.0,
        },
        "seeds": [0, 1, 2],
        "bfloat16": True,  # where the processor has it
        "renamed": 0.5,  # share of the windows with made-up names
        "stages": [
            {
                "seq_len": 128,
                "batch_size": 32,
                "fit": {
                    "n_steps": 400, "lr": 4e-3, "n_warmup": 50, "final_lr": 0.5,
                    "optimizer": "muon", "repeats": True,
                },
            },
            {
                "seq_len": 256,
                "batch_size": 16,
                "fit": {
                    "n_steps": 6_000, "lr": 6e-3, "n_warmup": 100, "final_lr": 0.0,
                    "optimizer": "muon",
                },
            },
        ],
    },
    "bert_plays": {
        "shape": {
            "d_model": 256, "n_layers": 4, "n_heads": 4, "d_ff": 768, "max_len": 128,
            "positions": "rotary", "norm": "pre",
        },
        "seeds": [0, 1, 2],
        "start": "gpt_plays",  # the weights of the same seed instead of random ones
        "bfloat16": True,  # where the processor has it
        "stages": [
            {
                "seq_len": 128,
                "batch_size": 32,
                "fit": {
                    "n_steps": 5_000, "lr": 8e-3, "n_warmup": 100, "final_lr": 0.3,
                    "optimizer": "muon", "mlm_probability": 0.3,
                },
            },
            {
                "seq_len": 128,
                "batch_size": 32,
                "fit": {
                    "n_steps": 2_800, "lr": 3e-3, "n_warmup": 100, "final_lr": 0.0,
                    "optimizer": "muon", "mlm_probability": 0.1, "longest_gap": 8,
                },
            },
            {
                "seq_len": 128,
                "batch_size": 32,
                "fit": {
                    "n_steps": 2_200, "lr": 6e-3, "n_warmup": 100, "final_lr": 0.5,
                    "optimizer": "muon", "mlm_probability": 0.2,
                },
            },
            {
                "seq_len": 128,
                "batch_size": 32,
                "fit": {
                    "n_steps": 2_000, "lr": 3e-3, "n_warmup": 100, "final_lr": 0.0,
                    "optimizer": "muon", "mlm_probability": 0.15, "longest_gap": 8,
                },
            },
        ],
    },
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
    "t5": {
        "shape": {"d_model": 96, "n_layers": 2, "n_heads": 4},
        "vocabulary": "plays_bpe",
        "stages": [
            {
                "seq_len": 16,
                "batch_size": 128,
                "fit": {
                    "n_steps": 500, "lr": 4e-2, "n_warmup": 100, "final_lr": 0.5,
                    "weight_decay": 0.01, "relative_lr": True,
                },
            },
            {
                "seq_len": 64,
                "batch_size": 32,
                "fit": {
                    "n_steps": 8_000, "lr": 4e-2, "n_warmup": 100, "final_lr": 0.02,
                    "weight_decay": 0.01, "relative_lr": True,
                },
            },
        ],
    },
    "t5_chars": {
        "shape": {"d_model": 64, "n_layers": 2, "n_heads": 4, "d_ff": 160},
        "specials": SPECIALS,
        "stages": [
            {
                "seq_len": 32,
                "batch_size": 64,
                "fit": {
                    "n_steps": 6_000, "lr": 3e-2, "n_warmup": 100, "final_lr": 0.5,
                    "weight_decay": 0.01, "relative_lr": True,
                },
            },
            {
                "seq_len": 64,
                "batch_size": 48,
                "fit": {
                    "n_steps": 6_000, "lr": 2e-2, "n_warmup": 100, "final_lr": 0.02,
                    "weight_decay": 0.01, "relative_lr": True,
                },
            },
        ],
    },
}  # fmt: skip
FILE_NAMES = {
    "gpt_plays": "gpt_plays",
    "bert_plays": "bert_plays",
    "gpt": "gpt_chars",
    "bert": "bert_chars",
    "t5_chars": "t5_chars",
    "t5": "t5_subwords",
}
OBJECTIVES = {
    "gpt_plays": "causal: on noise that repeats itself, then on text, half of it with new names",
    "bert_plays": "masked, 30 % selected, 80/10/10; then gaps of up to 8 characters, 10 % hidden; "
    "then both again, 20 % selected and 15 % hidden; from the weights of gpt_plays",
    "gpt": "causal",
    "bert": "masked, 15 % selected, 80/10/10",
    "t5_chars": "span corruption, 5 % to 40 % in spans of 3 on average",
    "t5": "span corruption, 15 % in spans of 3 on average",
}


Recipe = dict[str, Any]


class Parts(NamedTuple):
    """What a training needs."""

    model: nn.Module
    make_loss: Callable[[Stage], Objective]
    evaluate: Callable[[nn.Module], float]  # validation loss in nats per prediction


def corpus(split: str) -> str:
    """Join the plays of a split, with a blank line between two of them."""
    return "\n".join(play.text for play in load_shakespeare(split))


def gpt_parts(recipe: Recipe, tokenizer: CharTokenizer, train: Tensor, validation: Tensor) -> Parts:
    """Make the GPT, its objective and its validation loss."""
    model = GPT(GPTConfig(tokenizer.vocab_size, **recipe["shape"]))

    def make_loss(stage: Stage) -> Objective:
        """Predict the next character of noise, or in windows of the training plays."""
        if stage.repeats:
            first_id = len(tokenizer.special_ids)
            return RepeatsLM(stage.batch_size, stage.seq_len, tokenizer.vocab_size, first_id)
        size = {"batch_size": stage.batch_size, "seq_len": stage.seq_len}
        if share := recipe.get("renamed"):
            names, ways = names_in(tokenizer.decode(train)), (tokenizer.encode, tokenizer.decode)
            return RenamedLM(
                train, **size, names=names, share=share, encode=ways[0], decode=ways[1]
            )
        return CausalLM(train, **size)

    def evaluate(model: Any) -> float:
        """Score the start of the validation plays, each character with 32 or more before it."""
        seq_len = stages_of(recipe)[-1].seq_len
        return token_losses(model, validation, seq_len=seq_len, min_context=32).mean().item()

    return Parts(model, make_loss, evaluate)


def bert_parts(
    recipe: Recipe, tokenizer: CharTokenizer, train: Tensor, validation: Tensor
) -> Parts:
    """Make the BERT, its objective and its validation loss."""
    model = BERT(BERTConfig(tokenizer.vocab_size, **recipe["shape"]))
    special = special_of(tokenizer)
    seq_len = stages_of(recipe)[-1].seq_len
    windows = validation.unfold(0, seq_len, seq_len)
    fixed = corrupt_mlm(windows, generator=Generator().manual_seed(0), **special)

    def make_loss(stage: Stage) -> Objective:
        """Restore selected characters, or whole gaps, in windows of the training plays."""
        if stage.longest_gap:
            return HiddenGapsLM(
                train,
                stage.batch_size,
                stage.seq_len,
                mask_id=tokenizer.mask_id,
                hidden_share=stage.mlm_probability,
                longest=stage.longest_gap,
            )
        return MaskedLM(
            train,
            batch_size=stage.batch_size,
            seq_len=stage.seq_len,
            mlm_probability=stage.mlm_probability,
            **special,
        )

    def evaluate(model: Any) -> float:
        """Score one fixed corruption of the start of the validation plays."""
        log_probs, answers = masked_log_probs(model, fixed.ids, fixed.labels)
        return -log_probs.gather(-1, answers[:, None]).mean().item()

    return Parts(model, make_loss, evaluate)


def t5_parts(
    recipe: Recipe, tokenizer: SubwordTokenizer, train: Tensor, validation: Tensor
) -> Parts:
    """Make the T5, its objective and its validation loss."""
    model = T5(T5Config(tokenizer.vocab_size, **recipe["shape"]))
    spans = SpanCorruption(**sentinels_of(tokenizer))
    seq_len = stages_of(recipe)[-1].seq_len
    windows = validation.unfold(0, seq_len, seq_len)
    # Counts of spans are fixed, so all targets are equally long and nothing is padded.
    fixed = corrupt_spans(windows, spans, generator=Generator().manual_seed(0))

    def make_loss(stage: Stage) -> Objective:
        """Write the spans that were cut out of windows of the training plays."""
        return SpanCorruptionLM(
            train, batch_size=stage.batch_size, seq_len=stage.seq_len, spans=spans
        )

    def evaluate(model: Any) -> float:
        """Score one fixed corruption of the start of the validation plays."""
        batches = zip(fixed.inputs.split(100), fixed.targets.split(100), strict=True)
        losses = [seq2seq_loss_sum(model, Batch(*batch)).item() for batch in batches]
        return sum(losses) / fixed.targets.numel()

    return Parts(model, make_loss, evaluate)


def t5_chars_parts(
    recipe: Recipe, tokenizer: CharTokenizer, train: Tensor, validation: Tensor
) -> Parts:
    """Make the T5 on characters, its objective and its validation loss."""
    model = T5(T5Config(tokenizer.vocab_size, **recipe["shape"]))
    match_sentinels(model)
    seq_len = stages_of(recipe)[-1].seq_len
    return Parts(
        model,
        lambda stage: RandomGaps(train, tokenizer, stage.seq_len, stage.batch_size),
        partial(evaluate_t5_chars, windows=validation.unfold(0, seq_len, seq_len),
                tokenizer=tokenizer),
    )  # fmt: skip


PARTS: dict[str, Callable[..., Parts]] = {
    "gpt_plays": gpt_parts,
    "bert_plays": bert_parts,
    "gpt": gpt_parts,
    "bert": bert_parts,
    "t5_chars": t5_chars_parts,
    "t5": t5_parts,
}


def tokenizer_of(name: str) -> AnyTokenizer:
    """Return the tokeniser of a model: a stored vocabulary, or the characters of the plays."""
    if vocabulary := RECIPES[name].get("vocabulary"):
        return load_tokenizer(vocabulary)
    return CharTokenizer(sorted(PLAY_ALPHABET), RECIPES[name].get("specials", (PAD, MASK)))


def seeds_of(name: str) -> list[int]:
    """List the seeds of a model; the first one's file has the plain name."""
    seeds: list[int] = RECIPES[name].get("seeds", [1])
    return seeds


def file_of(name: str, seed: int) -> str:
    """Name the file of a model's seed, without ending."""
    return FILE_NAMES[name] + (f"_{seed}" if seed != seeds_of(name)[0] else "")


def begin_with(model: nn.Module, trained: nn.Module) -> None:
    """Give a model all weights of a trained one; those that only it has stay as they are.

    Source: Gisserot-Boukhlef et al. 2025 (arXiv:2507.00994): predict the next token first, then
        restore hidden ones.
    """
    given = trained.state_dict()
    if homeless := sorted(given.keys() - model.state_dict().keys()):
        raise ValueError(
            f"expected a model with all weights of the trained one, got one without {homeless}"
        )
    model.load_state_dict(given, strict=False)


def make_parts(
    name: str, recipe: Recipe, tokenizer: AnyTokenizer, text: str, validation: str, seed: int
) -> Parts:
    """Make what a training by a recipe needs; the model's first weights are those of the seed."""
    torch.manual_seed(seed)
    parts = PARTS[name](
        recipe, tokenizer, tokenizer.encode(text), tokenizer.encode(validation)[:N_VALIDATION]
    )
    if "start" in recipe:
        given = seed if seed in seeds_of(recipe["start"]) else seeds_of(recipe["start"])[0]
        begin_with(parts.model, load_model(file_of(recipe["start"], given))[0])
    if not recipe.get("bfloat16"):
        return parts
    return parts._replace(make_loss=lambda stage: FastProducts(parts.make_loss(stage)))


def stages_done(card: dict[str, Any], recipe: Recipe) -> int:
    """Count the stages of a stored training; those of a recipe must begin with them."""
    done, planned = card["recipe"]["stages"], recipe["stages"]
    if done != planned[: len(done)] or len(done) == len(planned):
        raise ValueError(f"expected stages after the {len(done)} of the card, got {planned}")
    return len(done)


def joined_histories(card: dict[str, Any], later: dict[str, Any]) -> dict[str, Any]:
    """Give the losses and times of a training and of its extension as those of one training."""
    key, times = "validation_loss_nats", ("cpu_seconds_of_last_session", "seconds_of_last_session")
    steps_before = card[key][-1][0]
    return {
        "first_losses_nats": card["first_losses_nats"],
        **{name: card[name] + later[name] for name in ("train_loss_every_100_steps_nats", *times)},
        key: card[key] + [[steps_before + step, loss] for step, loss in later[key]],
        "extended": f"The stages after step {steps_before} began with the stored weights.",
    }


def main() -> None:
    """Train one of the models and write it with its card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=sorted(RECIPES))
    parser.add_argument("--seed", type=int, help="one of the model's; none = its first")
    parser.add_argument("--extend", action="store_true", help="add stages to a stored training")
    parser.add_argument("--quick", action="store_true", help="a few steps; writes nothing")
    options = parser.parse_args()
    name, quick = options.model, options.quick
    seed = seeds_of(name)[0] if options.seed is None else options.seed
    if seed not in seeds_of(name):
        parser.error(f"expected --seed in {seeds_of(name)}, got {seed}")
    recipe, stem = RECIPES[name], file_of(name, seed)
    text, validation = corpus("train"), corpus("validation")
    tokenizer = tokenizer_of(name)
    parts = make_parts(name, recipe, tokenizer, text, validation, seed)
    stored = load_card(stem) if options.extend else None
    n_done = stages_done(stored, recipe) if stored else 0
    if stored:
        parts.model.load_state_dict(load_model(stem)[0].state_dict())
    cache, clock = ArmCache(stem, [seed, recipe], keep=not quick), Clock()
    planned = stages_of(recipe)[n_done:]
    history = train_stages(
        parts.model,
        shortened(planned) if quick else planned,
        parts.make_loss,
        lambda _: parts.evaluate,
        cache,
        seed=seed + 100 * n_done,  # other windows than before
        evaluate_every=500,
    )
    unit = "token of the target" if name.startswith("t5") else "character"
    print(f"{stem}: validation loss {history.evaluations[-1][1]:.4f} nats per {unit}")
    if quick:
        return
    n_tokens = {"n_train_tokens": len(tokenizer.encode(text))} if "vocabulary" in recipe else {}
    card = {
        "data": "Shakespeare, training plays (data/README.md)",
        "text_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "n_train_characters": len(text),
        **n_tokens,
        "objective": OBJECTIVES[name],
        "seed": seed,
        "recipe": recipe,
        "n_parameters": sum(p.numel() for p in parts.model.parameters()),
        "train_loss_every_100_steps_nats": smooth(history.losses),
        "first_losses_nats": [round(value, 5) for value in history.losses[:20]],
        "validation_loss_nats": [[s, round(v, 5)] for s, v in history.evaluations],
        "cpu_seconds_of_last_session": clock.seconds()["cpu_seconds"],
        "seconds_of_last_session": clock.seconds()["seconds"],
        "precision": str(fast_precision() if recipe.get("bfloat16") else torch.float32),
        "n_threads": torch.get_num_threads(),
        "versions": versions(),
    }
    if stored:
        card |= joined_histories(stored, card)
    file = CHECKPOINTS / f"{stem}.safetensors"
    n_bits = STORED_BITS if "seeds" in recipe else None
    save_model(file, parts.model, tokenizer, card, n_bits=n_bits)  # type: ignore[arg-type]
    cache.forget()


if __name__ == "__main__":
    main()
