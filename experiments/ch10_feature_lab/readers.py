# SPDX-License-Identifier: MIT
"""One way to read texts with every model of the feature lab: states of words, texts and rows.

A reader cuts words into tokens one by one, puts its model's own special tokens around them and
returns the states of all layers. Published and own models of BERT's architecture, and own GPTs, run
in the book's classes; SmolLM2 runs in `transformers`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pretrain.bert import BERT
from pretrain_lab.checkpoints import load_model
from pretrain_lab.corpora.download import fetch
from pretrain_lab.hub.models import ENCODER_FOLDER, ENCODER_PACKAGE, load_smollm2
from pretrain_lab.hub.tokenizers import load_published_tokenizer
from pretrain_lab.hub.weights import from_pretrained
from pretrain_lab.interpretability.hidden_states import (
    encode_words,
    hidden_states_and_attentions,
    pool_layers,
)
from pretrain_lab.pooling import pad, pool

Words = Sequence[str]
BATCH_SIZE = 16
TITLES = {
    "minilm": "MiniLM", "smollm2": "SmolLM2", "book_bert": "book BERT", "random": "untrained",
    "plays_bert": "plays BERT", "plays_gpt": "plays GPT", "chars_gpt": "character GPT",
}  # fmt: skip


@dataclass
class Reader:
    """A model, its tokeniser and what stands around a text."""

    name: str
    model: Any
    encode: Callable[[str], list[int]]
    opening: tuple[int, ...]
    closing: tuple[int, ...]
    max_len: int
    causal: bool
    pad_id: int
    own: bool = True  # whether the model is of the book's classes

    def rows(self, texts: Sequence[Words]) -> list[tuple[list[int], list[int]]]:
        """Encode texts; return for each its ids and the place of every word's last token."""
        rows = []
        room = self.max_len - len(self.opening) - len(self.closing)
        for words in texts:
            ids, last = encode_words(self.encode, words)
            kept = [place + len(self.opening) for place in last if place < room]
            rows.append(([*self.opening, *ids[:room], *self.closing], kept))
        return rows

    def states(self, ids: Tensor, real: Tensor) -> Tensor:
        """Compute states float (N + 1, B, T, D) of ids (B, T)."""
        with torch.inference_mode():
            if self.own:
                return hidden_states_and_attentions(self.model, ids, real)[0]
            found = self.model.model(ids, attention_mask=real.long(), output_hidden_states=True)
            return torch.stack(found.hidden_states)

    def batches(self, texts: Sequence[Words]) -> Iterator[tuple[list[int], Tensor, Tensor, Any]]:
        """Yield numbers of texts, their states (N + 1, B, T, D), real tokens, and word places."""
        rows = self.rows(texts)
        order = sorted(range(len(rows)), key=lambda i: len(rows[i][0]))
        for start in range(0, len(order), BATCH_SIZE):
            chosen = order[start : start + BATCH_SIZE]
            ids, real = pad([rows[i][0] for i in chosen], self.pad_id)
            yield chosen, self.states(ids, real), real, [rows[i][1] for i in chosen]

    def word_states(
        self, texts: Sequence[Words], places: Sequence[Sequence[int]], every: int = 1
    ) -> Tensor:
        """Read chosen words of every text, float32 (layers, n, D), text by text.

        Words beyond the model's length get zeros.

        Args:
            places: For each text the numbers of the words that are wanted.
            every: Keep each such layer only, counted from the last one backwards.
        """
        found: dict[int, Tensor] = {}
        for chosen, all_states, _, lasts in self.batches(texts):
            states = all_states[(len(all_states) - 1) % every :: every]
            for row, i in enumerate(chosen):
                at = [lasts[row][p] if p < len(lasts[row]) else -1 for p in places[i]]
                part = states[:, row, at]
                part[:, torch.tensor(at) < 0] = 0
                found[i] = part.clone()
        return torch.cat([found[i] for i in range(len(texts))], dim=1)

    def mean_states(self, texts: Sequence[Words]) -> Tensor:
        """Average the states of each text; float32 (N + 1, n, D)."""
        found: dict[int, Tensor] = {}
        for chosen, states, real, _ in self.batches(texts):
            means = pool(states, real, "mean")
            found |= {i: means[:, row] for row, i in enumerate(chosen)}
        return torch.stack([found[i] for i in range(len(texts))], dim=1)

    def pooled(self, texts: Sequence[Words], poolings: Sequence[str]) -> dict[str, Tensor]:
        """Make one vector of each text in several ways; float32 (n, D or 4 D) each."""
        found: dict[str, dict[int, Tensor]] = {how: {} for how in poolings}
        for chosen, states, real, _ in self.batches(texts):
            for how in poolings:
                vectors = pool_layers(states, real, how)
                found[how] |= {i: vectors[row].clone() for row, i in enumerate(chosen)}
        return {how: torch.stack([f[i] for i in range(len(texts))]) for how, f in found.items()}


def load_reader(name: str) -> Reader:
    """Load a model by its short name, one of TITLES.

    "random" is MiniLM's architecture with weights as drawn before training.
    """
    if name == "smollm2":
        model, tokenizer = load_smollm2()

        def encode(text: str) -> list[int]:
            """Encode without special tokens."""
            return list(tokenizer.encode(text, add_special_tokens=False))

        pad_id = tokenizer.pad_token_id or 0
        return Reader(name, model, encode, (), (), 512, True, pad_id, own=False)
    own = {"book_bert": "book_bert", "plays_bert": "worldview_bert", "plays_gpt": "worldview_gpt",
           "chars_gpt": "gpt_chars"}  # fmt: skip
    if name in own:
        return _wrap(name, *load_model(own[name]))
    model = from_pretrained(fetch(ENCODER_PACKAGE) / ENCODER_FOLDER, report=lambda line: None)
    if name == "random":
        model = untrained(model)
    return _wrap(name, model, load_published_tokenizer("bert-base-uncased"))


def untrained(model: Any) -> Any:
    """Draw all weights of a model again, as before its training, with a fixed seed."""
    torch.manual_seed(0)
    return type(model)(**model.options).eval()


def _wrap(name: str, model: Any, tokenizer: Any) -> Reader:
    """Make a reader of one of the book's classes; [CLS] and [SEP] where the model knows them."""
    brackets = name in ("minilm", "random", "book_bert")
    opening = (tokenizer.cls_id,) if brackets else ()
    closing = (tokenizer.sep_id,) if brackets else ()

    def encode(text: str) -> list[int]:
        """Encode without special tokens."""
        return list(tokenizer.encode(text).tolist())

    pad_id = tokenizer.pad_id if hasattr(tokenizer, "sentinel_ids") else 0
    causal = not isinstance(model, BERT)
    return Reader(name, model, encode, opening, closing, model.config.max_len, causal, pad_id)
