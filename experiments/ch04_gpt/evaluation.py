# SPDX-License-Identifier: MIT
"""Recorded evaluation of the book's GPT for chapter 4; writes data/runs/gpt_evaluation.json.

Studies: bits per character on unseen plays against count models; samples; the model reading its own
text (exposure bias); time with and without the key-value cache.

Run: python -m experiments.ch04_gpt.evaluation
"""

import math
import re
import statistics
import time
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor

from experiments.common.records import Clock, write_run
from pretrain.evaluation import nats_to_bits, token_losses
from pretrain.generation import Sampling, generate
from pretrain.gpt import GPT
from pretrain_lab.baselines.kneser_ney import KneserNey, UnigramModel
from pretrain_lab.checkpoints import load_model
from pretrain_lab.corpora.loading import Play, load_shakespeare
from pretrain_lab.statistics.intervals import bootstrap_interval
from pretrain_lab.tokenizers.characters import CharTokenizer

MODEL = "gpt_chars"
N_CURVE = 64_000  # characters of the validation curve (experiments/book_models/character_models.py)
MIN_CONTEXT = 32  # characters before the first scored one, for every model
BLOCK_LEN = 1000  # characters in a block of the bootstrap
ORDERS = range(2, 11)
PREFIX_LEN, OWN_LEN, N_PREFIXES, BIN_LEN, N_WORDS = 64, 56, 2048, 8, 7
PROMPT = "JULIET:\n"
SAMPLING: dict[str, dict[str, Any]] = {
    "greedy": {"greedy": True},
    "temperature 0.5": {"temperature": 0.5},
    "temperature 1": {"temperature": 1.0},
    "temperature 1.5": {"temperature": 1.5},
    "top-k, k = 5": {"top_k": 5},
    "top-p, p = 0.9": {"top_p": 0.9},
    "min-p, p = 0.1": {"min_p": 0.1},
}


def char_ids(tokenizer: CharTokenizer, plays: list[Play]) -> tuple[list[Tensor], int]:
    """Encode each play, int64 (L,), and count the special ids that precede the characters."""
    return [tokenizer.encode(play.text) for play in plays], len(tokenizer.special_ids)


def joined(texts: list[Tensor], n_special: int) -> tuple[np.ndarray, np.ndarray]:
    """Concatenate texts, int64 (L,) each, for the count models: (sum of L,) ids and (P,) starts.

    `n_special` is subtracted from each id, so that characters count from 0.
    """
    starts = np.cumsum([0, *(len(text) for text in texts[:-1])])
    return torch.cat(texts).numpy() - n_special, starts


def scored_by_counts(model: Any, texts: list[Tensor], n_special: int, counts: list[int]) -> Tensor:
    """Score with a count model what the GPT scores: float64 (sum of counts,), nats per character.

    Args:
        model: A fitted count model.
        texts: int64 (L,) each.
        n_special: Subtracted from each id.
        counts: Number of characters that the GPT scored in each text.
    """
    first = MIN_CONTEXT + 1
    parts = [
        -model.log_probs(text.numpy() - n_special)[first : first + n]
        for text, n in zip(texts, counts, strict=True)
    ]
    return torch.from_numpy(np.concatenate(parts))


def gpt_losses(model: GPT, texts: list[Tensor]) -> list[Tensor]:
    """Score texts, int64 (L,), with MIN_CONTEXT characters of context or more: float64 (n,) each.

    Losses are in nats per character.
    """
    seq_len = model.config.max_len
    return [
        token_losses(model, text, seq_len=seq_len, min_context=MIN_CONTEXT).double()
        for text in texts
    ]


def interval(losses: Tensor) -> list[float]:
    """Return mean, lower and upper end of a 95 % block-bootstrap interval, in bits.

    `losses` are float64 (n,), nats, in text order.
    """
    return [nats_to_bits(value) for value in resampled(losses, block_len=BLOCK_LEN)]


def choose_order(train: tuple[np.ndarray, np.ndarray], validation: list[Tensor], n_special: int,
                 n_chars: int) -> dict[str, float]:  # fmt: skip
    """Return bits per character of Kneser-Ney on the validation plays, by order (as text).

    Args:
        train: Ids and starts of the training plays.
        validation: int64 (L,) each.
        n_special: Subtracted from each id.
        n_chars: Number of different characters.
    """
    counts = [len(text) - MIN_CONTEXT - 1 for text in validation]
    result = {}
    for order in ORDERS:
        model = KneserNey(order, n_chars).fit(*train)
        losses = scored_by_counts(model, validation, n_special, counts)
        result[str(order)] = nats_to_bits(losses.mean().item())
    return result


def count_windows(ids: np.ndarray, order: int, n_chars: int) -> int:
    """Count the different windows of 1 to `order` characters: what a count model must store.

    `ids` are int64 (T,), characters from 0.
    """
    total, codes = 0, np.zeros(len(ids), dtype=np.int64)
    for length in range(order):
        codes = codes[: len(ids) - length] * n_chars + ids[length:]
        total += len(np.unique(codes))
    return total


def curve_levels(
    models: dict[str, KneserNey], tokenizer: CharTokenizer, seq_len: int
) -> dict[str, float]:
    """Return bits per character of count models on the validation text of the model card's curve.

    `seq_len` is the number of characters that the GPT reads at once.
    """
    plays = [play.text for play in load_shakespeare("validation")]
    ids = tokenizer.encode("\n".join(plays))[:N_CURVE].numpy() - len(tokenizer.special_ids)
    step = seq_len - MIN_CONTEXT
    n_scored = (N_CURVE - MIN_CONTEXT - 1) // step * step
    scored = slice(MIN_CONTEXT + 1, MIN_CONTEXT + 1 + n_scored)
    return {
        name: nats_to_bits(-model.log_probs(ids)[scored].mean()) for name, model in models.items()
    }


def compare(model: GPT, tokenizer: CharTokenizer) -> dict[str, Any]:
    """Compare the GPT with count models on the test plays."""
    texts, n_special = char_ids(tokenizer, load_shakespeare("test"))
    train = joined(char_ids(tokenizer, load_shakespeare("train"))[0], n_special)
    validation = char_ids(tokenizer, load_shakespeare("validation"))[0]
    n_chars = tokenizer.vocab_size - n_special
    by_order = choose_order(train, validation, n_special, n_chars)
    best_order = int(min(by_order, key=by_order.__getitem__))
    order_5, best = (KneserNey(order, n_chars).fit(*train) for order in (5, best_order))
    by_play = gpt_losses(model, texts)
    counts = [len(losses) for losses in by_play]
    losses = {
        "uniform": torch.full((sum(counts),), math.log(n_chars), dtype=torch.float64),
        "unigram": scored_by_counts(UnigramModel(n_chars).fit(*train), texts, n_special, counts),
        "kneser_ney_5": scored_by_counts(order_5, texts, n_special, counts),
        "kneser_ney_best": scored_by_counts(best, texts, n_special, counts),
        "gpt": torch.cat(by_play),
    }
    plays = [play.title for play in load_shakespeare("test")]
    per_play = {
        name: [nats_to_bits(part.mean().item()) for part in values.split(counts)]
        for name, values in losses.items()
        if name in ("kneser_ney_best", "gpt")
    }
    return {
        "min_context": MIN_CONTEXT, "block_len": BLOCK_LEN, "n_scored": sum(counts),
        "validation_bits_by_order": by_order, "best_order": best_order,
        "n_parameters": sum(p.numel() for p in model.parameters()),
        "n_windows": count_windows(train[0], best_order, n_chars),
        "curve_levels": curve_levels(
            {"kneser_ney_5": order_5, "kneser_ney_best": best}, tokenizer, model.config.max_len
        ),
        "test_bits": {name: interval(values) for name, values in losses.items()},
        "test_bits_below": {
            name: interval(losses[name] - losses["gpt"])
            for name in ("kneser_ney_5", "kneser_ney_best")
        },
        "plays": plays, "test_bits_per_play": per_play,
    }  # fmt: skip


def sample_texts(model: GPT, tokenizer: CharTokenizer, *, n_new_tokens: int) -> dict[str, Any]:
    """Continue one prompt under each sampling rule, until a blank line ends the speech."""
    prompt, stop = tokenizer.encode(PROMPT)[None], tokenizer.encode("\n\n").tolist()
    texts = {}
    for name, rule in SAMPLING.items():
        generator = None if "greedy" in rule else Generator().manual_seed(1)
        ids = generate(model, prompt, n_new_tokens, Sampling(generator, **rule), stop_ids=stop)
        texts[name] = tokenizer.decode(ids[0, prompt.shape[1] :])
    return {"prompt": PROMPT, "n_new_tokens": n_new_tokens, "seed": 1, "texts": texts}


def true_texts(texts: list[Tensor], space_id: int) -> Tensor:
    """Cut evenly spaced stretches of the test plays, int64 (N_PREFIXES, PREFIX_LEN + OWN_LEN).

    Each prefix ends with a space; no stretch crosses from one text, int64 (L,), to the next.
    """
    stretches = torch.cat([text.unfold(0, PREFIX_LEN + OWN_LEN, 1) for text in texts])
    starts = (stretches[:, PREFIX_LEN - 1] == space_id).nonzero()[:, 0]
    return stretches[starts[torch.linspace(0, len(starts) - 1, N_PREFIXES).long()]]


@torch.inference_mode()
def own_losses(model: GPT, texts: Tensor) -> Tensor:
    """Score continuations with the GPT itself, float64 (N, OWN_LEN), bits.

    `texts` are int64 (N, PREFIX_LEN + OWN_LEN).
    """
    log_probs = model(texts[:, :-1]).double().log_softmax(dim=-1)
    taken = log_probs.gather(-1, texts[:, 1:, None])[..., 0]
    return -taken[:, -OWN_LEN:] / math.log(2)


def words_of(text: str) -> list[str]:
    """Split into complete words in lower case; the last one, perhaps cut off, is dropped."""
    return re.findall(r"[a-z'-]+(?=[^a-z'-])", text.lower())


def unknown_words(continuations: list[str], known: set[str]) -> Tensor:
    """Mark which of the first N_WORDS words of each continuation the training plays lack.

    Continuations start at the start of a word. Returns float64 (n, N_WORDS), 1 = unknown;
    continuations with fewer words are left out.
    """
    rows = [words_of(text)[:N_WORDS] for text in continuations]
    marks = [[float(word not in known) for word in row] for row in rows if len(row) == N_WORDS]
    return torch.tensor(marks, dtype=torch.float64)


def exposure(model: GPT, tokenizer: CharTokenizer) -> dict[str, Any]:
    """Measure the model on true prefixes and on prefixes that it wrote itself.

    Returns, by distance from the last true character, the model's own loss in bits per character
    and the share of words that the training plays lack, with 95 % intervals.
    """
    texts, _ = char_ids(tokenizer, load_shakespeare("test"))
    known = set(words_of(" ".join(play.text for play in load_shakespeare("train")) + " "))
    true = true_texts(texts, tokenizer.ids[" "])
    given = true[:, :PREFIX_LEN]
    versions = {
        "true": true,
        "sampled": generate(model, given, OWN_LEN, Sampling(Generator().manual_seed(2))),
        "greedy": generate(model, given, OWN_LEN, Sampling(greedy=True)),
    }
    own = {kind: own_losses(model, ids).mean(dim=0) for kind, ids in versions.items()}
    unknown = {
        kind: unknown_words([tokenizer.decode(row) for row in ids[:, PREFIX_LEN:]], known)
        for kind, ids in versions.items()
    }
    rise = unknown["sampled"][:, 1:].mean(dim=1) - unknown["sampled"][:, 0]
    return {
        "prefix_len": PREFIX_LEN, "own_len": OWN_LEN, "n_prefixes": N_PREFIXES,
        "bin_len": BIN_LEN, "n_words": N_WORDS,
        "own_bits": {k: v.view(-1, BIN_LEN).mean(dim=1).tolist() for k, v in own.items()},
        "unknown_share": {k: [resampled(c) for c in v.T] for k, v in unknown.items()},
        "unknown_rise_after_first_word": resampled(rise),
    }  # fmt: skip


def resampled(values: Tensor, *, block_len: int = 1) -> list[float]:
    """Return a mean with the lower and upper end of its 95 % bootstrap interval.

    `values` are float64 (n,); `block_len` neighbours are drawn together.
    """
    generator = Generator().manual_seed(0)
    return list(
        bootstrap_interval(values, generator=generator, n_resamples=2000, block_len=block_len)
    )


def time_cache(model: GPT, *, n_runs: int = 7) -> dict[str, Any]:
    """Time greedy generation up to the full context, with and without the cache, in alternation.

    Returns the number of tokens made and the median ratio of CPU times over `n_runs` pairs of runs.
    """
    prompt = torch.full((1, 1), model.embeddings.token.num_embeddings - 1)
    n_new_tokens = model.config.max_len - 1
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(n_runs):
        for use_cache in (True, False):
            start = time.process_time()
            generate(model, prompt, n_new_tokens, Sampling(greedy=True), use_cache=use_cache)
            seconds[use_cache].append(time.process_time() - start)
    ratio = statistics.median(seconds[False]) / statistics.median(seconds[True])
    return {"n_new_tokens": n_new_tokens, "n_runs": n_runs, "cpu_time_ratio": ratio}


def main() -> None:
    """Run all studies and write the record."""
    clock = Clock()
    model, tokenizer = load_model(MODEL)
    record = {
        "model": MODEL,
        "comparison": compare(model, tokenizer),
        "samples": sample_texts(model, tokenizer, n_new_tokens=160),
        "exposure": exposure(model, tokenizer),
        "cache": time_cache(model),
    }
    write_run("gpt_evaluation", record, clock)


if __name__ == "__main__":
    main()
