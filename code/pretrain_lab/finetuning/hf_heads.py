# SPDX-License-Identifier: MIT
"""Fine-tune models of `transformers`: encoded examples, loss and answers for every kind of head.

Papers: Devlin et al. 2019 (arXiv:1810.04805), sections 4 and 5.3, for one new layer per task;
Reimers and Gurevych 2019 (arXiv:1908.10084) for the mean of the states, where `transformers`' own
classifier reads the first one. The training itself is `pretrain.training.fit`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from pretrain.evaluation import eval_mode
from pretrain.objectives import IGNORE_INDEX
from pretrain_lab.finetuning.sequence_classification import Passes
from pretrain_lab.pooling import pool

Encoded = dict[str, Any]
"""One example: lists "input_ids" and "attention_mask" (perhaps more), and what is asked: "labels"
(a class, or a list with one label per token), or "start_positions" and "end_positions"."""


def encode_classes(
    texts: Sequence[str | tuple[str, str]], labels: Sequence[int], tokenizer: Any, **options: Any
) -> list[Encoded]:
    """Encode texts, or pairs of texts, that have one class each; options go to the tokenizer."""
    given = [text if isinstance(text, tuple) else (text,) for text in texts]
    return [
        {**tokenizer(*text, **options), "labels": label}
        for text, label in zip(given, labels, strict=True)
    ]


def encode_tags(
    words: Sequence[str], tags: Sequence[int], tokenizer: Any, **options: Any
) -> Encoded:
    """Encode one text whose words have labels: a word's first piece takes over its label.

    Its other pieces, and special tokens, get IGNORE_INDEX: they are neither trained nor judged. The
    tokenizer is a fast one of `transformers`, which gets the options.

    Raises:
        ValueError: Another number of labels than of words.

    Source: Devlin et al. 2019 (arXiv:1810.04805), section 5.3.
    """
    if len(words) != len(tags):
        raise ValueError(f"expected a label for each of {len(words)} words, got {len(tags)}")
    encoded = tokenizer(list(words), is_split_into_words=True, **options)
    places = encoded.word_ids()
    first = [place is not None and place != before for before, place in _with_last(places)]
    labels = [
        tags[place] if is_first else IGNORE_INDEX
        for place, is_first in zip(places, first, strict=True)
    ]
    return {**encoded, "labels": labels}


def encode_span(
    question: str, context: str, start: int, end: int, tokenizer: Any
) -> Encoded | None:
    """Encode a question and the text that holds its answer; None unless the answer is whole tokens.

    `start` is the answer's first character, `end` the one behind it, while "end_positions" is its
    last token. The tokenizer is a fast one of `transformers`.
    """
    encoded = tokenizer(question, context)
    first, last = (encoded.char_to_token(at, sequence_index=1) for at in (start, end - 1))
    if first is None or last is None:
        return None
    return {**encoded, "start_positions": first, "end_positions": last}


def _with_last(places: Sequence[int | None]) -> Iterable[tuple[int | None, int | None]]:
    """Pair each item with the one before it."""
    return zip([None, *places[:-1]], places, strict=True)


def collate(examples: Sequence[Encoded], pad_id: int) -> dict[str, Tensor]:
    """Put examples into one batch, padded on the right to the longest.

    Ids are filled with `pad_id`, labels of tokens with IGNORE_INDEX, all else with 0. Lists become
    int64 (B, T), numbers (B,).

    Raises:
        ValueError: No example.
    """
    if not examples:
        raise ValueError("expected at least one example, got none")
    fillings = {"input_ids": pad_id, "labels": IGNORE_INDEX}
    batch = {}
    for name, first in examples[0].items():
        values = [torch.tensor(example[name]) for example in examples]
        batch[name] = (
            pad_sequence(values, batch_first=True, padding_value=fillings.get(name, 0))
            if isinstance(first, list)
            else torch.stack(values)
        )
    return batch


class SentenceClassifier(nn.Module):
    """An encoder of `transformers` and one new layer over the mean of its states."""

    def __init__(self, encoder: Any, n_classes: int, *, pooling: str = "mean") -> None:
        """Put an untrained layer on an encoder, which is not copied: training changes it.

        The encoder gives `last_hidden_state`; pooling is "mean" (of the real tokens) or "first".
        """
        super().__init__()
        self.encoder, self.pooling = encoder, pooling
        self.dropout = nn.Dropout(getattr(encoder.config, "hidden_dropout_prob", 0.0))
        self.classifier = nn.Linear(encoder.config.hidden_size, n_classes)
        nn.init.normal_(self.classifier.weight, std=0.02)
        nn.init.zeros_(self.classifier.bias)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        labels: Tensor | None = None,
        **others: Tensor,
    ) -> dict[str, Tensor]:
        """Score the classes of each text, and compare with its label where one is given.

        Ids and mask are int64 (B, T), padding on the right, 1 = real token; labels are int64 (B,);
        `others` is what else the encoder reads, such as token_type_ids. Returns "logits",
        float (B, C), and, with labels, "loss": mean nats per text.
        """
        states = self.encoder(input_ids, attention_mask, **others).last_hidden_state
        pooled = pool(states, attention_mask.bool(), self.pooling)
        logits = self.classifier(self.dropout(pooled))
        if labels is None:
            return {"logits": logits}
        return {"loss": F.cross_entropy(logits, labels), "logits": logits}


def hf_loss(examples: Sequence[Encoded], *, batch_size: int, pad_id: int) -> Passes:
    """Make the objective of a model on labelled examples, pass after pass, for one training.

    It is the model's own loss of each batch.

    Raises:
        ValueError: No example.
    """
    if not examples:
        raise ValueError("expected at least one example, got none")
    lengths = [len(example["input_ids"]) for example in examples]
    return Passes(examples, lengths, batch_size, pad_id, _own_loss)


def _own_loss(model: nn.Module, batch: list[Encoded], pad_id: int) -> Tensor:
    """Let the model score some examples."""
    loss: Tensor = model(**collate(batch, pad_id))["loss"]
    return loss


@torch.no_grad()
def predict_hf(
    model: nn.Module,
    examples: Sequence[Encoded],
    read: Callable[[Any, Encoded, int], Any],
    *,
    pad_id: int,
    batch_size: int = 32,
) -> list[Any]:
    """Ask a model about all examples, in their order, with dropout off and without what is asked.

    Examples of like length share a batch. `read` takes the model's output for a batch, an example
    and its row, and gives an answer.
    """
    order = sorted(range(len(examples)), key=lambda i: len(examples[i]["input_ids"]))
    found: dict[int, Any] = {}
    with eval_mode(model):
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            asked = [_unlabelled(examples[i]) for i in rows]
            output = model(**collate(asked, pad_id))
            found |= {i: read(output, examples[i], row) for row, i in enumerate(rows)}
    return [found[i] for i in range(len(examples))]


def _unlabelled(example: Encoded) -> Encoded:
    """Leave out what is asked."""
    hidden = ("labels", "start_positions", "end_positions")
    return {name: value for name, value in example.items() if name not in hidden}


def decode_class(output: Any, example: Encoded, row: int) -> int:
    """Give the class with the highest score; arguments as `predict_hf` passes them."""
    return int(output["logits"][row].argmax())


def decode_tags(output: Any, example: Encoded, row: int) -> list[int]:
    """Give a label for each word, read at its first piece; called by `predict_hf`."""
    chosen = output["logits"][row].argmax(dim=-1).tolist()
    labels = example["labels"]
    return [tag for tag, label in zip(chosen, labels, strict=False) if label != IGNORE_INDEX]


def decode_span(output: Any, example: Encoded, row: int, *, max_len: int = 12) -> tuple[int, int]:
    """Give the best span of the second text: first and last token, at most `max_len` tokens.

    Both ends are chosen together, so that no span ends before it starts. The output holds
    start_logits and end_logits, (B, T); the example's token_type_ids tell the two texts apart.

    Source: Devlin et al. 2019 (arXiv:1810.04805), section 4.2.
    """
    n_tokens = len(example["input_ids"]) - 1  # without the last [SEP]
    start, end = (output[f"{side}_logits"][row, :n_tokens] for side in ("start", "end"))
    scores = start[:, None] + end[None, :]
    place = torch.arange(n_tokens)
    length = place[None, :] - place[:, None]  # (start, end)
    second = torch.tensor(example["token_type_ids"][:n_tokens]).bool()
    fit = (length >= 0) & (length < max_len) & second[:, None] & second[None, :]
    first, last = divmod(int(scores.masked_fill(~fit, -torch.inf).argmax()), n_tokens)
    return first, last
