# SPDX-License-Identifier: MIT
"""Examples for fine-tuning: texts and what is asked of them, encoded and put into batches.

Papers: Devlin et al. 2019 (arXiv:1810.04805), sections 4 and 5.3, for a class, a pair, a label per
word and a span over one encoder.

Implemented: texts or pairs with a class, words with labels, a question with the span that answers
it, and batches of them. Left out: texts that must be cut, several spans or none, answers that are
written (`pretrain.text_to_text`).
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from pretrain.objectives import IGNORE_INDEX

Encoded = dict[str, Any]
"""One example: lists "input_ids" and "attention_mask" (perhaps more), and what is asked: "labels"
(a class, or a list with one label per token), or "start_positions" and "end_positions"."""


def encode_classes(
    texts: Sequence[str | tuple[str, str]], labels: Sequence[int], tokenizer: Any, **options: Any
) -> list[Encoded]:
    """Encode texts, or pairs of texts, that have one class each.

    Args:
        texts: The texts; a pair is read as first and second text.
        labels: The class of each.
        tokenizer: Of `transformers`.
        options: For the tokeniser, such as truncation=True and max_length=128.
    """
    given = [text if isinstance(text, tuple) else (text,) for text in texts]
    return [
        {**tokenizer(*text, **options), "labels": label}
        for text, label in zip(given, labels, strict=True)
    ]


def encode_tags(
    words: Sequence[str], tags: Sequence[int], tokenizer: Any, **options: Any
) -> Encoded:
    """Encode one text whose words have labels: a word's first piece takes over its label.

    Its other pieces, and special tokens, get IGNORE_INDEX: they are neither trained nor judged.

    Args:
        words: The words of the text.
        tags: The label of each.
        tokenizer: Of `transformers`, a fast one.
        options: For the tokeniser.

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
    """Encode a question and a text that holds its answer; characters become tokens.

    Args:
        question: Read first.
        context: Read second.
        start: First character of the answer in the context.
        end: Character behind the answer.
        tokenizer: Of `transformers`, a fast one.

    Returns:
        The example; its "end_positions" is the answer's last token, not the one behind. None when
        the answer is not made of whole tokens.
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

    Args:
        examples: At least one.
        pad_id: Fills the ids; labels of tokens are filled with IGNORE_INDEX, all else with 0.

    Returns:
        int64 (B, T) for each list of the examples, (B,) for each number.

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
