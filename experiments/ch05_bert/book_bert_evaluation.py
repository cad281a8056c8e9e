# SPDX-License-Identifier: MIT
"""The book's word-piece BERTs on unseen plays and on reviews of unseen films (BRT-R7).

Run `python -m experiments.ch05_bert.book_bert_evaluation` after `book_models.word_models`. Writes
data/runs/book_bert_evaluation.json: single blanks in speeches of the test plays and in review
sentences of the test films, judged in bits and by the best guesses, against frequencies, a count
model that reads both sides, and an untrained encoder; the same ones on the forty everyday gaps of
data/everyday_gaps.toml; and the eight best fillings of some sentences of ours. There are two BERTs:
book_bert, which a page can fine-tune, and bert_words, the strong one.

A blank hides one token of one text, which may be a word, a piece of a word or a mark.

`--quick` asks few blanks and writes nothing.
"""

import argparse
import json
import math
import tomllib
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor

from experiments.book_models.vocabularies import book_texts
from experiments.book_models.word_models import RECIPES, VOCABULARY, Text, encode_texts
from experiments.ch05_bert.evaluation import n_gram_log_probs, score
from experiments.common.records import Clock, rounded, write_run
from pretrain.bert import BERT, BERTConfig
from pretrain_lab.baselines.bidirectional_ngrams import BidirectionalNGram
from pretrain_lab.checkpoints import load_model
from pretrain_lab.corpora.loading import load_reviews, load_shakespeare
from pretrain_lab.paths import ROOT
from pretrain_lab.pooling import pad
from pretrain_lab.statistics.intervals import bootstrap_interval, wilson_interval
from pretrain_lab.tokenizers.subwords import SubwordTokenizer, load_tokenizer

BERTS = {"bert": "book_bert", "strong": "bert_words"}
"""Name in the record -> stored model."""
RECORD = "book_bert_evaluation"
SHAPE = RECIPES["book_bert"]["shape"]
SEED = 41


@dataclass(frozen=True)
class Plan:
    """How many blanks are asked, and how many choose the counts."""

    n_blanks: int = 1000
    n_choice: int = 400

    @classmethod
    def quick(cls) -> "Plan":
        """Ask few."""
        return cls(40, 40)


ORDERS = ((1, 1), (2, 1), (2, 2))
"""Neighbours of a blank on the left and on the right; more do not fit the count model's codes."""
KINDS = ("word", "piece", "mark")
SENTENCES: tuple[tuple[str, str, str], ...] = (
    ("plays", "My lord, the ___ is dead.", "king"),
    ("plays", "Give me thy ___, and farewell.", "hand"),
    ("plays", "I will not ___ to him, sir.", "speak"),
    ("plays", "What news from ___, good cousin?", "france"),
    ("plays", "She is my daughter, and I am her ___.", "father"),
    ("films", "This is one of the best ___ of the year.", "films"),
    ("films", "A dull and predictable ___ with no surprises.", "comedy"),
    ("films", "The story is thin, but the ___ do their best.", "actors"),
    ("films", "It is too long, and it is not very ___.", "funny"),
    ("others", "The doctor said that ___ was tired.", "he"),
    ("others", "The nurse said that ___ was tired.", "she"),
    ("others", "We opened the ___ and looked at the garden.", "door"),
)
"""Sentences of our own, of what the model has read or not, and a word that would fit."""


class Blanks(NamedTuple):
    """Texts with one token each that is asked for."""

    ids: Tensor  # int64 (n, T), [CLS] text [SEP], padded
    places: Tensor  # int64 (n,), where the token stands

    @property
    def hidden(self) -> Tensor:
        """Mark the places, bool (n, T)."""
        return self.places[:, None] == torch.arange(self.ids.shape[1])

    @property
    def answers(self) -> Tensor:
        """Return the tokens that are asked for, int64 (n,)."""
        return self.ids[self.hidden]


def texts_of(domain: str, split: str) -> list[str]:
    """Return texts of one domain: speeches with their speakers, or review sentences."""
    if domain == "reviews":
        return [review.sentence for review in load_reviews(split)]
    plays = load_shakespeare(split)
    return [f"{s.speaker}:\n{s.text}" for play in plays for s in play.speeches]


def draw_blanks(texts: list[str], tokenizer: SubwordTokenizer, n: int, seed: int) -> Blanks:
    """Draw n texts, cut to the model's length, and one token of each, all tokens equally likely."""
    room = SHAPE["max_len"] - 2
    encoded = [tokenizer.encode(text)[:room] for text in texts]
    lens = torch.tensor([len(ids) for ids in encoded])
    ends = lens.cumsum(dim=0)
    token = torch.randint(int(ends[-1]), (n,), generator=Generator().manual_seed(seed))
    which = torch.searchsorted(ends, token, right=True)
    cls, sep = torch.tensor([tokenizer.cls_id]), torch.tensor([tokenizer.sep_id])
    rows = [torch.cat([cls, encoded[i], sep]) for i in which.tolist()]
    ids, _ = pad(rows, tokenizer.pad_id)
    return Blanks(ids, token - (ends - lens)[which] + 1)


@torch.inference_mode()
def fill_blanks(model: BERT, blanks: Blanks, tokenizer: SubwordTokenizer) -> Tensor:
    """Return the model's log-probabilities for the hidden token of each row, float (n, V)."""
    parts = []
    for rows, where in zip(blanks.ids.split(64), blanks.hidden.split(64), strict=True):
        read = rows.masked_fill(where, tokenizer.mask_id)
        logits = model(read, rows != tokenizer.pad_id, masked_positions=where)
        parts.append(logits.log_softmax(dim=-1))
    return torch.cat(parts)


def count_log_probs(
    model: BidirectionalNGram, blanks: Blanks, tokenizer: SubwordTokenizer
) -> Tensor:
    """Fill the same blanks by counts; [CLS] reads as the [SEP] that closes the text before."""
    ids = blanks.ids.masked_fill(blanks.ids == tokenizer.pad_id, -1)
    ids = ids.masked_fill(ids == tokenizer.cls_id, tokenizer.sep_id)
    return n_gram_log_probs(model, ids, blanks.hidden)


def choose_count_model(
    train: Text, blanks: Blanks, tokenizer: SubwordTokenizer
) -> tuple[BidirectionalNGram, dict[str, Any]]:
    """Fit the count models and keep the one with the fewest bits on validation blanks."""
    tried: dict[str, float] = {}
    models = {}
    for order in ORDERS:
        model = BidirectionalNGram(*order, tokenizer.vocab_size).fit(train.ids.numpy())
        name = f"{order[0]} left, {order[1]} right"
        log_probs = count_log_probs(model, blanks, tokenizer)
        tried[name], models[name] = score(log_probs, blanks.answers)["bits"][0], model
    best = min(tried, key=lambda name: tried[name])
    return models[best], {"chosen": best, "validation_bits": tried}


def kind_of(tokenizer: SubwordTokenizer) -> Tensor:
    """Sort the vocabulary into KINDS, int64 (V,)."""
    kinds = [
        1 if token.startswith("##") else 0 if token[0].isalnum() else 2
        for token in tokenizer.tokens
    ]
    return torch.tensor(kinds)


def fill_in_all_ways(
    models: dict[str, Any], blanks: Blanks, tokenizer: SubwordTokenizer
) -> dict[str, Tensor]:
    """Return every way's log-probabilities for the hidden tokens, float (n, V).

    `models` are those of BERTS, "untrained", "counts" and "unigram" (log-probabilities, (V,)).
    """
    return {
        **{name: fill_blanks(models[name], blanks, tokenizer) for name in (*BERTS, "untrained")},
        "counts": count_log_probs(models["counts"], blanks, tokenizer),
        "unigram": models["unigram"].expand(len(blanks.ids), -1),
    }


def judge_domain(
    domain: str, models: dict[str, Any], tokenizer: SubwordTokenizer, n: int
) -> dict[str, Any]:
    """Ask every way of filling about the same n blanks of "plays" or "reviews"."""
    blanks = draw_blanks(texts_of(domain, "test"), tokenizer, n, SEED)
    answers = blanks.answers
    ways = fill_in_all_ways(models, blanks, tokenizer)
    kinds = kind_of(tokenizer)[answers]
    return {
        "n": n,
        "ways": {name: score(log_probs, answers) for name, log_probs in ways.items()},
        "ahead_of_counts_bits": {
            name: _lead((_nats(ways["counts"], answers) - _nats(ways[name], answers)) / math.log(2))
            for name in BERTS
        },
        "kinds": {
            kind: {name: score(lp[kinds == i], answers[kinds == i]) for name, lp in ways.items()}
            for i, kind in enumerate(KINDS)
            if int((kinds == i).sum()) > 1
        },
        "share_unknown": float((answers == tokenizer.unk_id).double().mean()),
    }


def _lead(gaps: Tensor) -> list[float]:
    """Average differences, (n,), with an interval."""
    return list(bootstrap_interval(gaps, generator=Generator().manual_seed(0)))


def _nats(log_probs: Tensor, answers: Tensor) -> Tensor:
    """Return -log P of each answer, float64 (n,)."""
    return -log_probs.gather(1, answers[:, None])[:, 0].double()


def one_blank(sentence: str, word: str, gap: str, tokenizer: SubwordTokenizer) -> Blanks:
    """Encode a sentence with one gap, in which a word stands that is to be found.

    Raises:
        ValueError: The word is not one token.
    """
    left, right = (tokenizer.encode(part) for part in sentence.split(gap))
    answer = tokenizer.encode(word)
    if len(answer) != 1:
        raise ValueError(f"expected a word of one token for {sentence!r}, got {word!r}")
    cls, sep = torch.tensor([tokenizer.cls_id]), torch.tensor([tokenizer.sep_id])
    return Blanks(torch.cat([cls, left, answer, right, sep])[None], torch.tensor([1 + len(left)]))


def judge_everyday(models: dict[str, Any], tokenizer: SubwordTokenizer) -> dict[str, Any]:
    """Ask every way of filling the forty everyday gaps: the rank of each word, and five guesses."""
    gaps = tomllib.loads((ROOT / "data/everyday_gaps.toml").read_text())["gap"]
    rows: list[dict[str, Any]] = []
    for gap in gaps:
        blank = one_blank(gap["text"], gap["word"], "_", tokenizer)
        ways = fill_in_all_ways(models, blank, tokenizer)
        own = {name: lp[0, blank.answers] for name, lp in ways.items()}
        rows.append({
            **gap,
            "rank": {name: 1 + int((lp > own[name]).sum()) for name, lp in ways.items()},
            "top5": {
                name: [tokenizer.tokens[i] for i in ways[name][0].topk(5).indices.tolist()]
                for name in (*BERTS, "counts")
            },
        })  # fmt: skip
    hits = {
        name: torch.tensor([row["rank"][name] <= 5 for row in rows]).double()
        for name in rows[0]["rank"]
    }
    return {
        "n": len(rows),
        "top5": {
            name: list(wilson_interval(int(found.sum()), len(rows))) for name, found in hits.items()
        },
        "ahead_of_counts": {name: _lead(hits[name] - hits["counts"]) for name in BERTS},
        "gaps": rows,
    }


def fill_sentences(model: BERT, tokenizer: SubwordTokenizer) -> list[dict[str, Any]]:
    """Return the eight best fillings of our own sentences, and the rank of the word that fits."""
    filled = []
    for domain, sentence, word in SENTENCES:
        blank = one_blank(sentence, word, "___", tokenizer)
        log_probs = fill_blanks(model, blank, tokenizer)[0]
        top = log_probs.exp().topk(8)
        best = zip(top.indices.tolist(), top.values.tolist(), strict=True)
        own = log_probs[blank.answers]
        filled.append({
            "domain": domain, "sentence": sentence, "word": word, "prob": own.exp().item(),
            "rank": 1 + int((log_probs > own).sum()),
            "top": [[tokenizer.tokens[i], p] for i, p in best],
        })  # fmt: skip
    return filled


def load_models(tokenizer: SubwordTokenizer, train: Text) -> dict[str, Any]:
    """Load the recorded models, and make those that have not learned a context."""
    torch.manual_seed(SEED)
    models: dict[str, Any] = {"untrained": BERT(BERTConfig(tokenizer.vocab_size, **SHAPE)).eval()}
    for name, stored in BERTS.items():
        models[name], own = load_model(stored)
        if own.tokens != tokenizer.tokens:
            raise ValueError(f"expected {stored} to have the vocabulary {VOCABULARY}")
    counts = torch.bincount(train.ids, minlength=tokenizer.vocab_size) + 1.0
    counts[list(tokenizer.special_ids)] = 1e-9
    return {**models, "unigram": (counts / counts.sum()).log()}


def main() -> None:
    """Ask everything and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    clock = Clock()
    tokenizer = load_tokenizer(VOCABULARY)
    train = encode_texts(book_texts("train"), tokenizer)
    models = load_models(tokenizer, train)
    plan = Plan.quick() if quick else Plan()
    choice = draw_blanks(book_texts("validation"), tokenizer, plan.n_choice, SEED + 1)
    models["counts"], counts = choose_count_model(train, choice, tokenizer)
    n_words = tokenizer.vocab_size - len(tokenizer.special_ids)
    result = {
        "question": "What do the book's word-piece BERTs write into blanks of unseen texts?",
        "unit": "bits per hidden token; shares",
        "interval": "95 %; bootstrap over blanks for bits, Wilson for shares",
        "models": BERTS,
        "n_parameters": {n: sum(p.numel() for p in models[n].parameters()) for n in BERTS},
        "chance_bits": torch.tensor(float(n_words)).log2().item(),
        "counts": counts,
        "domains": {
            d: judge_domain(d, models, tokenizer, plan.n_blanks) for d in ("plays", "reviews")
        },
        "everyday": judge_everyday(models, tokenizer),
        "sentences": {name: fill_sentences(models[name], tokenizer) for name in BERTS},
    }
    if quick:
        print(json.dumps(rounded(result, 3), indent=1))
        return
    write_run(RECORD, result, clock)


if __name__ == "__main__":
    main()
