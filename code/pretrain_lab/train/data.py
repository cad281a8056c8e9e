# SPDX-License-Identifier: MIT
"""The ids of a run of `pretrain_lab.train`, and the windows that samples are cut from.

A row of a data set is followed by the vocabulary's end of text, or by a line break where there is
none. Consecutive and streamed windows are the same: window n starts n * seq_len tokens into the
text, which begins anew where it ends.

Left out: shuffling of rows; reading of different parts of a stream by different processes. Every
process reads all of it and takes its own windows, so that their number changes nothing.
"""

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Generator, Tensor

from pretrain.objectives import random_windows
from pretrain_lab.checkpoints import AnyTokenizer
from pretrain_lab.train.files import column_of, open_dataset
from pretrain_lab.train.options import ConfigError, DataOptions
from pretrain_lab.train.tokenizer import eos_of

Encode = Callable[[str], Tensor]
"""Turns a row into ids, int64 (T,), its end included."""


def row_encoder(tokenizer: AnyTokenizer, data: DataOptions) -> Encode:
    """Make the function from a row to ids; rows of a data set get an end, lines have one."""
    if not data.dataset:
        return tokenizer.encode
    eos_id = eos_of(tokenizer)
    if eos_id is None:
        return lambda row: tokenizer.encode(row + "\n")
    return lambda row: torch.cat([tokenizer.encode(row), torch.tensor([eos_id])])


def encode_all(rows: Iterable[str], encode: Encode, complaint: Callable[[], str] = str) -> Tensor:
    """Turn rows into one sequence, int64 (L,); `complaint` says more of a row that cannot be.

    Raises:
        ConfigError: No token, or a character that the vocabulary lacks.
    """
    try:
        parts = [encode(row) for row in rows]
    except ValueError as error:
        raise ConfigError(f"[data] and [tokenizer]: {complaint() or error}") from error
    ids = torch.cat(parts) if parts else torch.empty(0, dtype=torch.int64)
    if len(ids) == 0:
        raise ConfigError("[data]: expected a text with at least one token, got none")
    return ids


def in_chunks(rows: Iterable[str], n_characters: int = 20_000) -> Iterator[str]:
    """Join rows, so that fewer texts are encoded.

    For vocabularies that are learned here, none of whose tokens crosses a line break, and for text
    whose rows are lines.
    """
    held, n_held = [], 0
    for row in rows:
        held.append(row)
        n_held += len(row)
        if n_held >= n_characters:
            yield "".join(held)
            held, n_held = [], 0
    if held:
        yield "".join(held)


class RandomWindows:
    """Windows of a text in memory, each at a place that its generator draws."""

    def __init__(self, ids: Tensor, *, window_len: int, where: str = "") -> None:
        """Keep a text, int64 (L,), which must be as long as a window; `where` it is, for that."""
        if len(ids) < window_len:
            way_out = f"data.seq_len={max(2, len(ids) // 2)}"
            if where and len(ids) < 8:
                way_out = "training.evaluate_every=0"
            raise ConfigError(
                f"data.seq_len: expected a text of at least {window_len} tokens, got {len(ids)}"
                f"{where}; more text, or --set {way_out}"
            )
        self.ids, self.window_len = ids, window_len

    def read(self, number: int, generator: Generator) -> Tensor:
        """Draw a window, int64 (window_len,); the sample's number in the run does not matter."""
        return random_windows(self.ids, 1, self.window_len, generator=generator)[0]


class ConsecutiveWindows:
    """Windows of a text in memory, one after another, and again from the start."""

    def __init__(self, ids: Tensor, *, seq_len: int, window_len: int) -> None:
        """Keep a text, int64 (L,); windows start seq_len tokens apart."""
        self.ids, self.seq_len, self.window_len = ids, seq_len, window_len

    def read(self, number: int, generator: Generator) -> Tensor:
        """Cut out the window of a sample, int64 (window_len,); nothing is drawn."""
        start = number * self.seq_len
        return self.ids[torch.arange(start, start + self.window_len) % len(self.ids)]


class StreamedWindows:
    """The same windows, of a text that is read as far as they need and then forgotten."""

    def __init__(
        self, open_rows: Callable[[], Any], encode: Encode, *, seq_len: int, window_len: int
    ) -> None:
        """Open the stream at its start; windows start seq_len tokens apart.

        `open_rows` gives an object with rows to go through and `state_dict` and `load_state_dict`,
        for one pass.
        """
        self.open_rows, self.encode = open_rows, encode
        self.seq_len, self.window_len = seq_len, window_len
        self._first = 0  # place of the first token that is held, counted over all passes
        self._held = torch.empty(0, dtype=torch.int64)
        self._open()

    def read(self, number: int, generator: Generator) -> Tensor:
        """Cut out the window of a sample, int64 (window_len,), reading on where it is not held yet.

        Raises:
            ValueError: The window was forgotten.
            ConfigError: A pass through the text gave no token.
        """
        start = number * self.seq_len - self._first
        if start < 0:
            raise ValueError(
                f"expected a window from token {self._first} on, got {number * self.seq_len}"
            )
        self._fill(start + self.window_len)
        return self._held[start : start + self.window_len].clone()

    def forget(self, number: int) -> None:
        """Let go of the text before the window of a sample, also of text that was not read yet."""
        n_past = number * self.seq_len - self._first
        self._fill(n_past)
        self._held = self._held[n_past:].clone()
        self._first += n_past

    def position(self) -> tuple[dict[str, Any], Tensor]:
        """Say where the stream stands: JSON values, and the tokens held, int64 (n,)."""
        place = {"first": self._first, "rows": copy.deepcopy(self._rows.state_dict())}
        return place, self._held

    def go_to(self, place: dict[str, Any], held: Tensor) -> None:
        """Put the stream where another one stood, as its `position` said."""
        self._first, self._held = int(place["first"]), held.clone()
        self._open(place["rows"])

    def _open(self, state: dict[str, Any] | None = None) -> None:
        """Start a pass, at its start or where a state says."""
        self._rows = self.open_rows()
        if state is not None:
            self._rows.load_state_dict(state)
        self._iterator: Iterator[str] = iter(self._rows)
        self._pass_is_empty = state is None

    def _fill(self, n_tokens: int) -> None:
        """Read rows until so many tokens are held."""
        parts, n_held = [self._held], len(self._held)
        while n_held < n_tokens:
            row = next(self._iterator, None)
            if row is None:
                if self._pass_is_empty:
                    raise ConfigError("[data]: expected a text with at least one token, got none")
                self._open()
                continue
            parts.append(self._encode(row))
            n_held += len(parts[-1])
            self._pass_is_empty &= len(parts[-1]) == 0
        self._held = torch.cat(parts)

    def _encode(self, row: str) -> Tensor:
        """Turn a row into ids, and say where a character that cannot be written came from."""
        try:
            return self.encode(row)
        except ValueError as error:
            raise ConfigError(f"[data] and [tokenizer]: {error}") from error


Windows = RandomWindows | ConsecutiveWindows | StreamedWindows


class DatasetRows:
    """One pass through a data set, as texts."""

    def __init__(self, data: DataOptions) -> None:
        """Open it."""
        self._dataset, self._column = open_dataset(data), column_of(data)

    def __iter__(self) -> Iterator[str]:
        """Give the texts, one a row."""
        rows: Iterable[dict[str, str]] = self._dataset
        return (row[self._column] or "" for row in rows)

    def state_dict(self) -> dict[str, Any]:
        """Say which row comes next."""
        state: dict[str, Any] = self._dataset.state_dict()
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on at the row of a state."""
        self._dataset.load_state_dict(state)
