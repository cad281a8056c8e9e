# SPDX-License-Identifier: MIT
"""Which pronoun a published decoder expects after a word.

A decoder has no blanks: both sentences are written out, and the more probable one wins. The words
and templates are those of `pretrain_lab.interpretability.pronoun_bias`, which also asks the book's
BERT, in the chapter.
"""

from collections import Counter
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from experiments.book_models.vocabularies import book_texts
from pretrain_lab.hub.models import load_smollm2
from pretrain_lab.interpretability.pronoun_bias import GROUPS, PRONOUNS, TEMPLATES, sentences

SETTINGS: dict[str, Any] = {"templates": TEMPLATES, "groups": GROUPS}
NEAR = 12  # words after an occupation in which pronouns are counted


@torch.no_grad()
def text_log_probs(model: Any, rows: list[Tensor]) -> Tensor:
    """Return the log-probability of each text after its first token, in nats, (N,)."""
    ids = pad_sequence(rows, batch_first=True)
    scores = model(input_ids=ids).logits[:, :-1].log_softmax(dim=-1)
    each = scores.gather(-1, ids[:, 1:, None])[..., 0]
    places = torch.arange(ids.shape[1] - 1)
    real = places < torch.tensor([len(row) - 1 for row in rows])[:, None]
    return (each * real).sum(dim=1)


def ask_decoder() -> dict[str, list[float]]:
    """Return log P(with "she") - log P(with "he") for each word and template."""
    model, tokenizer = load_smollm2()
    words = [word for group in GROUPS.values() for word in group]
    found = {}
    for word in words:
        texts = [text[0].upper() + text[1:] for p in PRONOUNS for text in sentences(word, p)]
        rows = [torch.tensor(tokenizer(text)["input_ids"]) for text in texts]
        she, he = text_log_probs(model, rows).unflatten(0, (2, -1))
        found[word] = (she - he).tolist()
    return found


def count_pronouns() -> dict[str, dict[str, int]]:
    """Count pronouns soon after each word in the text that the book's BERT was trained on."""
    words = {word for group in GROUPS.values() for word in group}
    found = {word: Counter[str]() for word in words}
    for text in book_texts("train"):
        tokens = text.lower().replace(",", " ").replace(".", " ").split()
        for i, token in enumerate(tokens):
            if token in words:
                found[token].update(t for t in tokens[i + 1 : i + 1 + NEAR] if t in PRONOUNS)
    return {word: {p: found[word][p] for p in PRONOUNS} for word in sorted(words)}
