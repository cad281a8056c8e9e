# SPDX-License-Identifier: MIT
"""Text to text: every task is trained by the same loss and answered by the same decoding.

Paper: Raffel et al. 2020 (arXiv:1910.10683), sections 2.4 (prefixes) and 3.5.2 (mixing).

Implemented: batches of `pretrain_lab.tasks.text_to_text`, a mixture of losses (span corruption,
from `pretrain.objectives`, can be one of them), and answers as strings. Left out: proportions that
follow the sizes of the data sets.

A target is encoded with a blank before it, as a word inside a text is: with the book's
vocabularies, "head" after a blank is another token than "head" at a text's start.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Generator, Tensor, nn

from pretrain.generation import generate_from
from pretrain.objectives import BatchLoss, Pair, collate, note_settings, seq2seq_loss
from pretrain.t5 import T5
from pretrain_lab.tasks.text_to_text import Example
from pretrain_lab.tokenizers.subwords import SubwordTokenizer


def encode_text(text: str, tokenizer: SubwordTokenizer, max_len: int) -> Tensor:
    """Encode one text and close it.

    Args:
        text: Any text; an empty one gives only the end.
        tokenizer: With an end-of-sequence id.
        max_len: Most tokens, the end included; what is too long loses its end, never its prefix.

    Returns:
        int64 (T,), 1 <= T <= max_len.

    Raises:
        ValueError: max_len < 1.
    """
    if max_len < 1:
        raise ValueError(f"expected max_len >= 1, got {max_len}")
    end = torch.tensor([tokenizer.eos_id])
    return torch.cat([tokenizer.encode(text)[: max_len - 1], end])


def encode_examples(
    examples: Sequence[Example],
    tokenizer: SubwordTokenizer,
    *,
    max_source_len: int,
    max_target_len: int,
) -> list[Pair]:
    """Encode sources, and targets with a blank before them.

    Args:
        examples: The examples.
        tokenizer: With an end-of-sequence id.
        max_source_len: Most tokens of a source, the end included.
        max_target_len: Most tokens of a target, the end included.

    Returns:
        One pair for each example.

    Raises:
        ValueError: A length below 1.
    """
    return [
        Pair(
            encode_text(example.source, tokenizer, max_source_len),
            encode_text(" " + example.target, tokenizer, max_target_len),
        )
        for example in examples
    ]


def task_loss(
    examples: Sequence[Example],
    tokenizer: SubwordTokenizer,
    *,
    batch_size: int,
    max_source_len: int,
    max_target_len: int,
) -> BatchLoss:
    """Make the loss of one task on examples that are drawn at random, with replacement.

    Args:
        examples: Of the training split, at least one.
        tokenizer: With padding and end-of-sequence ids.
        batch_size: Examples in a batch B.
        max_source_len: Most tokens of a source, the end included.
        max_target_len: Most tokens of a target, the end included.

    Returns:
        A function of model and generator; mean loss in nats per token of the targets, ends
        included.

    Raises:
        ValueError: No example, or a length or batch_size below 1.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 2.4: one loss for all tasks.
    """
    if not examples or batch_size < 1:
        raise ValueError(
            "expected at least one example and batch_size >= 1, got "
            f"{len(examples)} and {batch_size}"
        )
    lens = {"max_source_len": max_source_len, "max_target_len": max_target_len}
    pairs = encode_examples(examples, tokenizer, **lens)

    def loss(model: nn.Module, generator: Generator) -> Tensor:
        """Draw examples and score their targets."""
        chosen = torch.randint(len(pairs), (batch_size,), generator=generator).tolist()
        batch = collate([pairs[i] for i in chosen], pad_id=tokenizer.pad_id)
        return seq2seq_loss(model, *batch, pad_id=tokenizer.pad_id)

    ids = torch.cat([part for pair in pairs for part in pair])
    return note_settings(loss, ids, kind="task", batch_size=batch_size, **lens)


def mixture_loss(losses: Mapping[str, BatchLoss], proportions: Mapping[str, float]) -> BatchLoss:
    """Make a loss that takes one of several at each step.

    Args:
        losses: By the name of the task; each must know its settings (`note_settings`).
        proportions: Of the steps that each task gets, by the same names; > 0, any sum.

    Returns:
        A function of model and generator; mean loss in nats per token of the drawn task's batch.

    Raises:
        ValueError: Other names, a proportion that is not positive and finite, or a loss without
            settings.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 3.5.2. differs: there, examples of all
        tasks stand in one batch, so that a task with longer targets weighs more; here a batch
        holds one task, and its proportion is its share of the steps.
    """
    given = torch.tensor([float(share) for share in proportions.values()])
    positive = bool(((given > 0) & given.isfinite()).all())
    if set(losses) != set(proportions) or not losses or not positive:
        raise ValueError(f"expected proportions > 0 of {sorted(losses)}, got {dict(proportions)}")
    unknown = [name for name, loss in losses.items() if not hasattr(loss, "settings")]
    if unknown:
        raise ValueError(f"expected losses that know their settings, {unknown} do not")
    names = list(losses)
    shares = torch.tensor([float(proportions[name]) for name in names])

    def loss(model: nn.Module, generator: Generator) -> Tensor:
        """Draw a task, and score a batch of it."""
        drawn = int(torch.multinomial(shares, 1, generator=generator))
        return losses[names[drawn]](model, generator)

    parts = {f"{name}.{k}": v for name in names for k, v in vars(losses[name])["settings"].items()}
    # The parts' own settings tell their data apart; the mixture has none but its shares.
    return note_settings(loss, shares, kind="mixture", proportions=dict(proportions), **parts)


def predict(
    model: T5,
    tokenizer: SubwordTokenizer,
    sources: Sequence[str],
    *,
    max_source_len: int,
    max_new_tokens: int,
    batch_size: int = 64,
) -> list[str]:
    """Answer each source greedily.

    Args:
        model: Dropout is switched off meanwhile.
        tokenizer: Its vocabulary.
        sources: Prefix and text of each question.
        max_source_len: Most tokens of a source that are read, the end included.
        max_new_tokens: Most tokens of an answer, the end included.
        batch_size: Questions at once.

    Returns:
        One answer for each source, without its end and the blanks around it; special tokens that
        the model writes appear by their names.

    Raises:
        ValueError: max_source_len or batch_size below 1, or max_new_tokens below 0.
    """
    if batch_size < 1:
        raise ValueError(f"expected batch_size >= 1, got {batch_size}")
    encoded = [encode_text(source, tokenizer, max_source_len) for source in sources]
    answers = []
    for start in range(0, len(encoded), batch_size):
        part = [Pair(source, source) for source in encoded[start : start + batch_size]]
        inputs, _, mask = collate(part, pad_id=tokenizer.pad_id)
        written = generate_from(
            model, inputs, max_new_tokens, attention_mask=mask, eos_id=tokenizer.eos_id,
            pad_id=tokenizer.pad_id, greedy=True,
        )  # fmt: skip
        answers += [_answer(row.tolist(), tokenizer) for row in written]
    return answers


def _answer(ids: list[int], tokenizer: SubwordTokenizer) -> str:
    """Write ids as text, up to the first end."""
    end = ids.index(tokenizer.eos_id) if tokenizer.eos_id in ids else len(ids)
    return tokenizer.decode(ids[:end]).strip()
