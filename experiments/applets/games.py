# SPDX-License-Identifier: MIT
"""What the three games of the pages ask, and what the models answer (REV-I1, REV-I2, BRT-I2).

Run `python -m experiments.applets.games`, with names of files for these alone. Writes
data/applets/: fill_blank.json, twelve sentences with one hidden word each, ours first, and the
answers of the strong BERT on word pieces and of two baselines; next_letter.json, lines of unseen
plays whose rest is guessed letter by letter, and the frequencies of the characters (the GPT answers
in the page); be_bert.json, the first eight blanks of bert_evaluation.json, as Chapter 5 asks them,
with the answers of its three readers and the order in which the page asks them.

The questions are drawn by `questions`.
"""

import base64
import json
import math
import re
import sys
from typing import Any

import torch
from torch import Tensor

from experiments.applets.questions import SEED, Question, draw_lines, draw_questions
from experiments.book_models.vocabularies import book_texts
from experiments.book_models.word_models import VOCABULARY, encode_texts
from experiments.ch05_bert.book_bert_evaluation import (
    BERTS,
    RECORD,
    Blanks,
    count_log_probs,
    fill_blanks,
    load_models,
)
from experiments.ch05_bert.evaluation import SEED as BERT_SEED
from experiments.ch05_bert.evaluation import SEQ_LEN
from experiments.common.records import Clock, write_run
from pretrain.evaluation import cloze_log_probs, left_log_probs
from pretrain.objectives import random_windows
from pretrain_lab.baselines.bidirectional_ngrams import BidirectionalNGram
from pretrain_lab.baselines.kneser_ney import UnigramModel
from pretrain_lab.checkpoints import load_model
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.paths import DATA, RUNS
from pretrain_lab.tokenizers.characters import CharTokenizer
from pretrain_lab.tokenizers.subwords import SubwordTokenizer, load_tokenizer

FOLDER = DATA / "applets"
N_TOP, N_WINDOWS = 8, 8
MOST_BITS = 255  # tenths of bits in one byte: a word that costs 25.5 bits or more is stored as this


def as_blank(question: Question, tokenizer: SubwordTokenizer) -> Blanks:
    """Write a question as a BERT on word pieces reads it."""
    left, word, right = (tokenizer.encode(part) for part in question[:3])
    edges = torch.tensor([tokenizer.cls_id]), torch.tensor([tokenizer.sep_id])
    ids = torch.cat([edges[0], left, word, right, edges[1]])[None]
    return Blanks(ids, torch.tensor([1 + len(left)]))


def bits_of(log_probs: Tensor) -> Tensor:
    """Turn nats of any shape into bits."""
    return -log_probs.double() / math.log(2)


def top(log_probs: Tensor, tokens: tuple[str, ...]) -> list[list[Any]]:
    """Return the likeliest tokens of one row with their probabilities."""
    best = log_probs.exp().topk(N_TOP)
    return [
        [tokens[i], p] for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


def in_bytes(bits: Tensor) -> str:
    """Write costs, float (n,), as one byte each, in tenths of a bit, in base 64."""
    tenths = (10 * bits).round().clamp(0, MOST_BITS).to(torch.uint8)
    return base64.b64encode(bytes(tenths.tolist())).decode()


def fill_blank() -> dict[str, Any]:
    """Ask BERT, counts from both sides and frequencies about twelve hidden words."""
    tokenizer = load_tokenizer(VOCABULARY)
    questions = draw_questions(tokenizer)
    train = encode_texts(book_texts("train"), tokenizer)
    models = load_models(tokenizer, train)
    record = json.loads((RUNS / f"{RECORD}.json").read_text(encoding="utf-8"))
    recorded = record["counts"]["chosen"]
    reach = [int(digit) for digit in re.findall(r"\d+", recorded)]
    counts = BidirectionalNGram(reach[0], reach[1], tokenizer.vocab_size).fit(train.ids.numpy())
    whole = [i for i, token in enumerate(tokenizer.tokens) if re.fullmatch("[a-z]+", token)]
    items = []
    for question in sorted(questions, key=lambda one: one.source != "ours"):
        blank = as_blank(question, tokenizer)
        ways = {
            "bert": fill_blanks(models["strong"], blank, tokenizer)[0],
            "counts": count_log_probs(counts, blank, tokenizer)[0],
            "unigram": models["unigram"],
        }
        truth = blank.answers
        items.append({
            **question._asdict(),
            "bits": {name: bits_of(found[truth]).item() for name, found in ways.items()},
            "top": top(ways["bert"], tokenizer.tokens),
            "top_counts": top(ways["counts"], tokenizer.tokens),
            "words": in_bytes(bits_of(ways["bert"])[whole]),
        })  # fmt: skip
    return {
        "question": "Which word is hidden? words: bits of each of `vocabulary`, tenths in bytes",
        "model": BERTS["strong"], "counts": recorded, "seed": SEED,
        "vocab_size": tokenizer.vocab_size,
        "vocabulary": " ".join(tokenizer.tokens[i] for i in whole), "items": items,
    }  # fmt: skip


def train_ids(tokenizer: CharTokenizer) -> Tensor:
    """Encode the training plays."""
    return tokenizer.encode("\n".join(play.text for play in load_shakespeare("train")))


def next_letter() -> dict[str, Any]:
    """Draw the lines, and count the characters of the training plays."""
    tokenizer = load_model("gpt_chars")[1]
    unigram = UnigramModel(tokenizer.vocab_size).fit(train_ids(tokenizer).numpy())
    first = len(tokenizer.special_ids)
    ids = torch.arange(first, tokenizer.vocab_size)
    bits = bits_of(torch.from_numpy(unigram.log_probs(ids.numpy())))
    return {
        "question": "Which character comes next? unigram: bits of each of `characters`",
        "seed": SEED, "characters": "".join(tokenizer.tokens[first:]),
        "unigram": bits.tolist(), "lines": draw_lines(),
    }  # fmt: skip


def worth_of_the_right_side(item: dict[str, Any]) -> float:
    """Return what BERT, which reads on, saves against GPT, which does not, in bits."""
    bits: dict[str, float] = item["bits"]
    return bits["gpt"] - bits["bert"]


def order_of_play(items: list[dict[str, Any]]) -> list[int]:
    """Begin with the gap where the right side buys most; the others stay in their order."""
    first = max(range(len(items)), key=lambda i: worth_of_the_right_side(items[i]))
    return [first, *(i for i in range(len(items)) if i != first)]


def be_bert() -> dict[str, Any]:
    """Ask the three readers of Chapter 5 about its first eight blanks."""
    (gpt, tokenizer), (bert, _) = load_model("gpt_chars"), load_model("bert_chars")
    test = tokenizer.encode("\n".join(play.text for play in load_shakespeare("test")))
    generator = torch.Generator().manual_seed(BERT_SEED)
    n_record = json.loads((RUNS / "bert_evaluation.json").read_text(encoding="utf-8"))
    n_blanks = n_record["blanks"]["n"]
    windows = random_windows(test, n_blanks, SEQ_LEN, generator=generator)[:N_WINDOWS]
    middle = SEQ_LEN // 2
    places, truths = torch.full((N_WINDOWS,), middle), windows[:, middle]
    frequency = torch.bincount(train_ids(tokenizer), minlength=tokenizer.vocab_size)
    readers = {
        "unigram": (frequency / frequency.sum()).log().expand(N_WINDOWS, -1),
        "gpt": left_log_probs(gpt, windows, places),
        "bert": cloze_log_probs(bert, windows, places, mask_id=tokenizer.mask_id),
    }
    items = [
        {
            "left": tokenizer.decode(row[:middle]), "right": tokenizer.decode(row[middle + 1 :]),
            "truth": tokenizer.tokens[truth],
            "bits": {name: bits_of(found[i, truth]).item() for name, found in readers.items()},
            "top": {name: top(readers[name][i], tokenizer.tokens) for name in ("gpt", "bert")},
        }
        for i, (row, truth) in enumerate(zip(windows, truths.tolist(), strict=True))
    ]  # fmt: skip
    characters = "".join(tokenizer.tokens[len(tokenizer.special_ids) :])
    return {
        "question": "Which character is hidden? The first blanks of bert_evaluation.json",
        "seed": BERT_SEED, "characters": characters, "order": order_of_play(items), "items": items,
    }  # fmt: skip


GAMES = {"fill_blank": fill_blank, "next_letter": next_letter, "be_bert": be_bert}


def main() -> None:
    """Ask everything, or what the command line names, and write the files."""
    for name in sys.argv[1:] or GAMES:
        clock = Clock()
        write_run(name, GAMES[name](), clock, folder=FOLDER)


if __name__ == "__main__":
    main()
