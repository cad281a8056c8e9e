# SPDX-License-Identifier: MIT
"""Spelling correction with one wrong letter a line: BERT, GPT and a word-unigram corrector.

The part of `evaluation` that asks whether reading both sides repairs misprints. Every corrector may
replace one lower-case letter of a line by another one. It gets each line alone, and knows that at
most one letter is wrong.
"""

import math
import re
from collections import Counter
from typing import Any

import torch
from torch import Tensor

from pretrain.bert import BERT
from pretrain.gpt import GPT
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.statistics.intervals import wilson_interval
from pretrain_lab.tokenizers.characters import CharTokenizer

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SHORTEST, LONGEST = 30, 60
N_LINES, N_GPT_LINES = 800, 120
WORD = re.compile(r"[A-Za-z']+")


def lines_of(split: str, n: int, seed: int) -> list[str]:
    """Draw verse and prose lines of 30 to 60 characters from a split's plays."""
    lines = [
        line
        for play in load_shakespeare(split)
        for line in play.text.split("\n")
        if SHORTEST <= len(line) <= LONGEST
    ]
    generator = torch.Generator().manual_seed(seed)
    return [lines[i] for i in torch.randperm(len(lines), generator=generator)[:n].tolist()]


def misprint(line: str, generator: torch.Generator) -> tuple[str, int]:
    """Replace one lower-case letter by another one; return the line and the place."""
    places = [i for i, c in enumerate(line) if c in LETTERS]
    place = places[int(torch.randint(len(places), (), generator=generator))]
    shift = 1 + int(torch.randint(25, (), generator=generator))
    letter = LETTERS[(LETTERS.index(line[place]) + shift) % 26]
    return line[:place] + letter + line[place + 1 :], place


def word_counts() -> Counter[str]:
    """Count the words of the training plays."""
    counts: Counter[str] = Counter()
    for play in load_shakespeare("train"):
        counts.update(WORD.findall(play.text))
    return counts


def unigram_change(line: str, counts: Counter[str]) -> tuple[str, float]:
    """Make the one substitution that raises the words' unigram likelihood most.

    An unknown word counts 1/2. Returns the changed line, and the gain in nats.
    """
    best = (line, -math.inf)
    for match in WORD.finditer(line):
        word, start = match.group(), match.start()
        now = math.log(counts.get(word, 0.5))
        for i, old in enumerate(word):
            if old not in LETTERS:
                continue
            for new in LETTERS:
                other = word[:i] + new + word[i + 1 :]
                gain = math.log(counts.get(other, 0.5)) - now
                if new != old and gain > best[1]:
                    place = start + i
                    best = (line[:place] + new + line[place + 1 :], gain)
    return best


@torch.inference_mode()
def bert_change(line: str, model: BERT, tokenizer: CharTokenizer) -> tuple[str, float]:
    """Hide each letter in turn, and make the substitution that BERT prefers most.

    Returns the changed line, and log P(new | rest) - log P(old | rest), in nats.
    """
    ids = tokenizer.encode(f"\n{line}\n")
    places = torch.tensor([i + 1 for i, c in enumerate(line) if c in LETTERS])
    hidden = places[:, None] == torch.arange(len(ids))  # (n, T)
    rows = ids.expand(len(places), -1).masked_fill(hidden, tokenizer.mask_id)
    log_probs = model(rows, masked_positions=hidden).log_softmax(dim=-1)  # (n, V)
    return _best(line, places, log_probs - log_probs.gather(1, ids[places, None]), tokenizer)


@torch.inference_mode()
def gpt_change(line: str, model: GPT, tokenizer: CharTokenizer) -> tuple[str, float]:
    """Score the whole line for every substitution, and make the one with the highest likelihood.

    Returns the changed line, and its gain in nats over the line as it is.
    """
    ids = tokenizer.encode(f"\n{line}\n")
    places = torch.tensor([i + 1 for i, c in enumerate(line) if c in LETTERS])
    letters = tokenizer.encode(LETTERS)
    gains = torch.full((len(places), tokenizer.vocab_size), -math.inf)
    now = _likelihood(model, ids[None])
    for row, place in enumerate(places.tolist()):
        changed = ids.repeat(26, 1)
        changed[:, place] = letters
        gains[row, letters] = _likelihood(model, changed) - now
    return _best(line, places, gains, tokenizer)


def _likelihood(model: GPT, rows: Tensor) -> Tensor:
    """Sum the log-probabilities of all characters but the first, (n,) nats."""
    log_probs = model(rows[:, :-1]).log_softmax(dim=-1)
    return log_probs.gather(-1, rows[:, 1:, None])[..., 0].sum(dim=1)


def _best(line: str, places: Tensor, gains: Tensor, tokenizer: CharTokenizer) -> tuple[str, float]:
    """Make the change to another letter with the largest gain; gains are (n, V)."""
    letters = tokenizer.encode(LETTERS)
    old = tokenizer.encode(line)[places - 1]
    allowed = gains[:, letters].masked_fill(letters[None] == old[:, None], -math.inf)
    flat = int(allowed.argmax())
    place, letter = int(places[flat // 26]) - 1, LETTERS[flat % 26]
    return line[:place] + letter + line[place + 1 :], float(allowed.max())


def judge_correctors(
    gpt: GPT, bert: BERT, tokenizer: CharTokenizer, share: int = 1
) -> dict[str, Any]:
    """Repair misprinted lines, and leave clean ones alone, with every corrector.

    A corrector changes a line only when its gain exceeds a threshold, chosen on clean lines of
    the validation plays so that one in twenty is changed there.

    Returns:
        Per corrector: shares repaired when a misprint is known to be there, over all and split by
        whether the misprint makes a known word; and with the threshold, shares of misprinted lines
        repaired and of clean lines changed.
    """
    counts = word_counts()
    correctors = {
        "unigram": (lambda line: unigram_change(line, counts), N_LINES // share),
        "bert": (lambda line: bert_change(line, bert, tokenizer), N_LINES // share),
        "gpt": (lambda line: gpt_change(line, gpt, tokenizer), N_GPT_LINES // share),
    }
    clean = lines_of("test", N_LINES // share, 31)
    generator = torch.Generator().manual_seed(32)
    wrong = [misprint(line, generator) for line in clean]
    real = [_known_word_at(line, place, counts) for line, place in wrong]
    result: dict[str, Any] = {"n_known_word": sum(real), "n": len(clean)}
    for name, (change, n) in correctors.items():
        tuning = sorted(change(line)[1] for line in lines_of("validation", n, 33))
        threshold = tuning[int(0.95 * n)]
        fixes = [change(line) for line, _ in wrong[:n]]
        alarms = sum(change(line)[1] > threshold for line in clean[:n])
        hits = [fix == line for (fix, _), line in zip(fixes, clean, strict=False)]
        kept = [h and gain > threshold for h, (_, gain) in zip(hits, fixes, strict=True)]
        known = [h for h, r in zip(hits, real, strict=False) if r]
        other = [h for h, r in zip(hits, real, strict=False) if not r]
        result[name] = {
            "n": n,
            "repaired": _share(hits),
            "repaired_known_word": _share(known),
            "repaired_other": _share(other),
            "threshold_nats": threshold,
            "repaired_with_threshold": _share(kept),
            "clean_changed": list(wilson_interval(alarms, n)),
        }
    return result


def _share(hits: list[bool]) -> list[float] | None:
    """Return the share of hits with its Wilson interval, or None for no trials."""
    return list(wilson_interval(sum(hits), len(hits))) if hits else None


def _known_word_at(line: str, place: int, counts: Counter[str]) -> bool:
    """Return whether the word around a place was seen in training."""
    for match in WORD.finditer(line):
        if match.start() <= place < match.end():
            return match.group() in counts
    return False
