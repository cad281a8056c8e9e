# SPDX-License-Identifier: MIT
"""Two lessons that teach a GPT to look back: noise that repeats itself, and made-up names.

To write a name again, a model must find where it stood, by the letters before, and copy what came
next. Plain plays hardly teach this: the reward is small, and a GPT that reads 26 plays again and
again knows their names by heart. So it first reads random characters that repeat, where nothing
else can be learned; and then plays in which half of the windows have names of their own.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn

from pretrain.objectives import IGNORE_INDEX, Batch, CausalLM, causal_targets, cross_entropy_sum

WORD = re.compile(r"[A-Za-z]+")
SHORTEST = 3  # letters of a name


@dataclass(frozen=True, eq=False)
class RepeatsLM:
    """A GPT predicts random ids from the moment at which they begin to repeat.

    A row draws `shortest` to `longest` ids from `first_id` on, and says them again and again.
    """

    batch_size: int
    seq_len: int
    vocab_size: int
    first_id: int
    shortest: int = 16
    longest: int = 64

    def draw(self, generator: Generator) -> Batch:
        """Make inputs and labels, int64 (B, T) each; what cannot be known is not asked."""
        rows, labels = [], []
        for _ in range(self.batch_size):
            n = int(torch.randint(self.shortest, self.longest + 1, (), generator=generator))
            ids = torch.randint(self.first_id, self.vocab_size, (n,), generator=generator)
            row = ids.repeat(self.seq_len // n + 2)[: self.seq_len + 1]
            rows.append(row)
            labels.append(row.where(torch.arange(len(row)) >= n, IGNORE_INDEX))
        inputs, _ = causal_targets(torch.stack(rows))
        return Batch(inputs, torch.stack(labels)[:, 1:])

    def __call__(self, model: nn.Module, generator: Generator) -> Tensor:
        """Give the mean loss of a batch, in nats."""
        batch = self.draw(generator)
        n_asked = int((batch.labels != IGNORE_INDEX).sum())
        return cross_entropy_sum(model(batch.inputs), batch.labels) / n_asked


def names_in(text: str) -> list[str]:
    """List the names of a text, sorted: words with a capital that it never has in lower case."""
    words = set(WORD.findall(text))
    return sorted({w.lower() for w in words if w[0].isupper() and len(w) >= SHORTEST} - words)


def made_up(length: int, names: list[str], generator: Generator) -> str:
    """Join the beginning of one name and the end of another, both drawn, to `length` letters."""
    n_first = (length + 1) // 2
    while True:
        first, last = (names[int(torch.randint(len(names), (), generator=generator))] for _ in "12")
        if len(first) >= n_first and len(last) >= length - n_first:
            return first[:n_first] + last[len(last) - (length - n_first) :]


def rename(text: str, names: list[str], generator: Generator) -> str:
    """Give every name in a text a made-up one of the same length, the same at each place."""
    known, new = set(names), dict[str, str]()

    def replaced(match: re.Match[str]) -> str:
        """Write the new name of a word as the word is written; leave other words as they are."""
        word = match[0]
        if not word[0].isupper() or word.lower() not in known:
            return word
        if word.lower() not in new:
            new[word.lower()] = made_up(len(word), names, generator)
        name = new[word.lower()]
        return name.upper() if word.isupper() else name.capitalize()

    return WORD.sub(replaced, text)


@dataclass(frozen=True, eq=False)
class RenamedLM(CausalLM):
    """A GPT predicts each next character; in a share of the windows the names are made up."""

    names: list[str]
    share: float
    encode: Callable[[str], Tensor]
    decode: Callable[[Tensor], str]

    def corrupt(self, windows: Tensor, generator: Generator) -> Batch:
        """Rename the windows, int64 (B, T + 1), that are drawn for it."""
        drawn = torch.rand(len(windows), generator=generator) < self.share
        rows = [
            self.encode(rename(self.decode(row), self.names, generator)) if chosen else row
            for row, chosen in zip(windows, drawn.tolist(), strict=True)
        ]
        return super().corrupt(torch.stack(rows), generator)
