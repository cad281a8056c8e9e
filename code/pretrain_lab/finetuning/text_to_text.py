# SPDX-License-Identifier: MIT
"""Text to text: every task is trained by the same loss and answered by the same decoding.

A target is encoded with a blank before it, as a word inside a text is: with the book's
vocabularies, "head" after a blank is another token than "head" at a text's start.

Paper: Raffel et al. 2020 (arXiv:1910.10683), sections 2.4 (prefixes) and 3.5.2 (mixing).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn

from pretrain.generation import Sampling, generate_seq2seq
from pretrain.objectives import IGNORE_INDEX, Objective, Pair, collate, seq2seq_loss_sum
from pretrain.t5 import T5
from pretrain_lab.tasks.text_to_text import Example
from pretrain_lab.tokenizers.subwords import SubwordTokenizer


def encode_text(text: str, tokenizer: SubwordTokenizer, max_len: int) -> Tensor:
    """Encode one text and close it: int64 (T,), 1 <= T <= max_len.

    What is too long loses its end, never its prefix.

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
    """Encode sources, and targets with a blank before them; lengths include the closing token.

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


@dataclass(frozen=True, eq=False)
class TaskObjective:
    """A T5 learns one task from examples that are drawn at random, with replacement.

    Called with a model and a generator, it gives the mean loss in nats per token of the targets,
    ends included.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 2.4: one loss for all tasks.
    """

    pairs: Sequence[Pair]  # encoded examples of the training split
    batch_size: int  # examples in a batch B
    pad_id: int

    def __post_init__(self) -> None:
        """Refuse what draws nothing."""
        if not self.pairs or self.batch_size < 1:
            raise ValueError(
                "expected at least one example and batch_size >= 1, got "
                f"{len(self.pairs)} and {self.batch_size}"
            )

    def __call__(self, model: nn.Module, generator: Generator) -> Tensor:
        """Draw examples and score their targets."""
        chosen = torch.randint(len(self.pairs), (self.batch_size,), generator=generator).tolist()
        batch = collate([self.pairs[i] for i in chosen], pad_id=self.pad_id)
        n_predicted = int((batch.labels != IGNORE_INDEX).sum())
        return seq2seq_loss_sum(model, batch, pad_id=self.pad_id) / n_predicted


def task_loss(
    examples: Sequence[Example],
    tokenizer: SubwordTokenizer,
    *,
    batch_size: int,
    max_source_len: int,
    max_target_len: int,
) -> TaskObjective:
    """Make the objective of one task from its training examples; lengths include the closing token.

    Raises:
        ValueError: No example, or a length or batch_size below 1.
    """
    pairs = encode_examples(
        examples, tokenizer, max_source_len=max_source_len, max_target_len=max_target_len
    )
    return TaskObjective(pairs, batch_size, tokenizer.pad_id)


@dataclass(frozen=True, eq=False)
class Mixture:
    """One of several objectives at each step.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 3.5.2. differs: there, examples of all
        tasks stand in one batch, so that a task with longer targets weighs more; here a batch
        holds one task, and its proportion is its share of the steps.
    """

    objectives: Mapping[str, Objective]
    proportions: Mapping[str, float]  # of the steps that each gets, by the same names; > 0, any sum

    def __post_init__(self) -> None:
        """Refuse other names, and a proportion that is not positive and finite."""
        given = torch.tensor([float(share) for share in self.proportions.values()])
        positive = bool(((given > 0) & given.isfinite()).all())
        if set(self.objectives) != set(self.proportions) or not self.objectives or not positive:
            raise ValueError(
                f"expected proportions > 0 of {sorted(self.objectives)}, got "
                f"{dict(self.proportions)}"
            )

    def __call__(self, model: nn.Module, generator: Generator) -> Tensor:
        """Draw a task, and score a batch of it: mean loss in nats per token."""
        names = list(self.objectives)
        shares = torch.tensor([float(self.proportions[name]) for name in names])
        drawn = int(torch.multinomial(shares, 1, generator=generator))
        return self.objectives[names[drawn]](model, generator)


def predict(
    model: T5,
    tokenizer: SubwordTokenizer,
    sources: Sequence[str],
    *,
    max_source_len: int,
    max_new_tokens: int,
    batch_size: int = 64,
) -> list[str]:
    """Answer each source (prefix and text) greedily, with dropout off; lengths include the end.

    An answer comes without its end and the blanks around it; special tokens that the model writes
    appear by their names.

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
        written = generate_seq2seq(
            model, inputs, max_new_tokens, Sampling(greedy=True), attention_mask=mask,
            eos_id=tokenizer.eos_id, pad_id=tokenizer.pad_id,
        )  # fmt: skip
        answers += [_answer(row.tolist(), tokenizer) for row in written]
    return answers


def _answer(ids: list[int], tokenizer: SubwordTokenizer) -> str:
    """Write ids as text, up to the first end."""
    end = ids.index(tokenizer.eos_id) if tokenizer.eos_id in ids else len(ids)
    return tokenizer.decode(ids[:end]).strip()
