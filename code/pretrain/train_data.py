# SPDX-License-Identifier: MIT
"""The text of a run of `pretrain.train`, row by row.

Implemented: rows from files, from a data set of the `datasets` library, or from the plays of this
book, and all of them as one sequence of ids. A row of a file is a line with its break, so that all
rows together are the text itself. A row of a data set is a whole text; it is followed by the
vocabulary's end of text, or by a line break where there is none. Left out: shuffling of rows, which
the writer of a file does better.
"""

import glob
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pretrain.checkpoints import AnyTokenizer
from pretrain.train_options import ConfigError, DataOptions
from pretrain.train_tokenizer import eos_of

Encode = Callable[[str], Tensor]
"""Turns a row into ids, int64 (T,), its end included."""


def find_files(patterns: Iterable[str], option: str = "data.files") -> list[Path]:
    """List the files that patterns stand for.

    Args:
        patterns: File names, in which * may stand for any characters.
        option: What the caller calls them.

    Returns:
        The files, pattern by pattern, each in alphabetical order.

    Raises:
        ConfigError: A pattern stands for no file.
    """
    found: list[Path] = []
    for pattern in patterns:
        files = sorted(Path(name) for name in glob.glob(pattern) if Path(name).is_file())
        if not files:
            raise ConfigError(
                f"{option}: expected files, got {pattern!r}, which none matches in {Path.cwd()}"
            )
        found += files
    return found


def file_rows(files: Iterable[Path]) -> Iterator[str]:
    """Read files line by line.

    Args:
        files: In UTF-8.

    Yields:
        Lines with their breaks.

    Raises:
        ConfigError: A file is not UTF-8.
    """
    for file in files:
        try:
            with file.open(encoding="utf-8") as lines:
                yield from lines
        except UnicodeDecodeError as error:
            raise ConfigError(f"data.files: expected UTF-8 in {file}, but {error}") from error


def open_dataset(data: DataOptions) -> Any:
    """Open files or a data set for one pass from the start, without reading it into memory.

    Args:
        data: Where the text is.

    Returns:
        An `IterableDataset` of the `datasets` library.

    Raises:
        ConfigError: It cannot be found, or lacks the column.
    """
    import datasets  # only those who stream need it

    datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = False  # who reads a file of their own asks no host
    try:
        if data.files:
            names = [str(path.resolve()) for path in find_files(data.files)]
            rows = datasets.load_dataset(
                "text", data_files=names, split="train", streaming=True, keep_linebreaks=True
            )
        else:
            rows = datasets.load_dataset(
                data.dataset, data.subset, split=data.split, streaming=True
            )
    except (OSError, ValueError) as error:
        where = data.dataset or ", ".join(data.files)
        raise ConfigError(f"[data]: expected a data set in {where!r}, but {error}") from error
    columns = rows.column_names
    if columns is not None and column_of(data) not in columns:
        raise ConfigError(f"data.column: expected one of {columns}, got {data.column!r}")
    return rows


def column_of(data: DataOptions) -> str:
    """Name the column with the texts, which for files is the library's own."""
    return "text" if data.files else data.column


def all_rows(data: DataOptions) -> Iterator[str]:
    """Read the training text once.

    Args:
        data: Where it is.

    Yields:
        Rows.

    Raises:
        ConfigError: It cannot be read.
    """
    if data.corpus:
        return _play_rows("train")
    if data.files:
        return file_rows(find_files(data.files))
    return (row[data.column] or "" for row in open_dataset(data))


def validation_rows(data: DataOptions) -> Iterator[str]:
    """Read the text to evaluate on; for the plays, those held out for this.

    Args:
        data: Where it is.

    Yields:
        Rows.

    Raises:
        ConfigError: It cannot be read.
    """
    if data.validation_files:
        return file_rows(find_files(data.validation_files, "data.validation_files"))
    return _play_rows("validation")


def _play_rows(split: str) -> Iterator[str]:
    """Read the plays of this book line by line."""
    from pretrain.datasets import load_shakespeare

    for play in load_shakespeare(split):
        yield from play.text.splitlines(keepends=True)


def row_encoder(tokenizer: AnyTokenizer, data: DataOptions) -> Encode:
    """Make the function that turns a row into ids.

    Args:
        tokenizer: The vocabulary.
        data: Rows of a data set get an end, lines have their own.

    Returns:
        A function from a row to int64 (T,).
    """
    if not data.dataset:
        return tokenizer.encode
    eos_id = eos_of(tokenizer)
    if eos_id is None:
        return lambda row: tokenizer.encode(row + "\n")
    return lambda row: torch.cat([tokenizer.encode(row), torch.tensor([eos_id])])


def encode_all(rows: Iterable[str], encode: Encode) -> Tensor:
    """Turn rows into one sequence.

    Args:
        rows: The text.
        encode: From `row_encoder`.

    Returns:
        int64 (L,).

    Raises:
        ConfigError: No token, or a character that the vocabulary lacks.
    """
    try:
        parts = [encode(row) for row in rows]
    except ValueError as error:
        raise ConfigError(f"[data] and [tokenizer]: {error}") from error
    ids = torch.cat(parts) if parts else torch.empty(0, dtype=torch.int64)
    if len(ids) == 0:
        raise ConfigError("[data]: expected a text with at least one token, got none")
    return ids
