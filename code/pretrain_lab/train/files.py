# SPDX-License-Identifier: MIT
"""The text of a run of `pretrain_lab.train`, as rows.

A row of a file is a line with its break, so that all rows together are the text itself, but that
the breaks of Windows become single newlines. A row of a data set is a whole text.
"""

import glob
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pretrain_lab.train.options import ConfigError, DataOptions


def find_files(patterns: Iterable[str], option: str = "data.files") -> list[Path]:
    """List the files that patterns with * stand for, those of each in alphabetical order.

    A folder stands for its .txt files, ~ for the home folder. The name of a file or folder that is
    there is no pattern, whatever brackets it has.

    Raises:
        ConfigError: A pattern stands for no file.
    """
    found: list[Path] = []
    for pattern in patterns:
        path = Path(pattern).expanduser()
        wanted = str(path)
        if path.exists():
            wanted = glob.escape(wanted) + ("/*.txt" if path.is_dir() else "")
        files = sorted(Path(name) for name in glob.glob(wanted) if Path(name).is_file())
        if not files:
            raise ConfigError(
                f"{option}: expected files, got {pattern!r}, which no file fits in {Path.cwd()}"
                + (f": the folder holds no *.txt, so name {path}/*" if path.is_dir() else "")
            )
        found += files
    return found


def file_rows(files: Iterable[Path], option: str = "data.files") -> Iterator[str]:
    """Read files line by line, breaks included; a mark of byte order is no text.

    Raises:
        ConfigError: A file is not UTF-8, or no text at all; the message begins with the option
            that names it.
    """
    for file in files:
        try:
            with file.open(encoding="utf-8-sig") as lines:
                for line in lines:
                    if "\0" in line:
                        raise ConfigError(f"{option}: expected text, but {file} holds zero bytes")
                    yield line
        except UnicodeDecodeError:
            raise ConfigError(f"{option}: {_not_utf8(file)}") from None


def _not_utf8(file: Path) -> str:
    """Say what a file that is not UTF-8 may be, and how to save it as UTF-8."""
    with file.open("rb") as content:
        start = content.read(100_000)
    is_wide = start[:2] in (b"\xff\xfe", b"\xfe\xff")
    if b"\0" in start and not is_wide:
        return f"expected text, but {file} holds zero bytes: it is a binary file"
    old = "utf-16" if is_wide else "latin1"
    new = file.with_name(f"{file.stem}-utf8{file.suffix}")
    return f"expected UTF-8 in {file}; save it so: iconv -f {old} -t utf-8 {file} > {new}"


def open_dataset(data: DataOptions) -> Any:
    """Open files or a data set, for one pass, as an `IterableDataset` of the `datasets` library.

    Raises:
        ConfigError: It cannot be found, or lacks the column.
    """
    import datasets  # only those who stream need it

    datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = False  # who reads a file of their own asks no host
    try:
        if data.files:
            names = [glob.escape(str(path.resolve())) for path in find_files(data.files)]
            rows = datasets.load_dataset(
                "text", data_files=names, split="train", streaming=True, keep_linebreaks=True,
                encoding="utf-8-sig",
            )  # fmt: skip
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
    """Read the rows of the training text once, those that are held out included."""
    if data.corpus:
        return _play_rows("train")
    if data.files:
        return file_rows(find_files(data.files))
    return (row[data.column] or "" for row in open_dataset(data))


def validation_rows(data: DataOptions) -> Iterator[str]:
    """Read the rows to evaluate on; for the plays, those held out for this."""
    if data.validation_files:
        option = "data.validation_files"
        return file_rows(find_files(data.validation_files, option), option)
    return _play_rows("validation")


def _play_rows(split: str) -> Iterator[str]:
    """Read the plays of this book line by line."""
    from pretrain_lab.corpora.loading import load_shakespeare

    for play in load_shakespeare(split):
        yield from play.text.splitlines(keepends=True)


def hold_out(rows: list[str], share: float) -> tuple[list[str], list[str]]:
    """Cut a share of the characters off the end of a text, whole rows where that comes near.

    Returns:
        The rows before the cut, and those behind it. No character is in both.
    """
    wanted = int(share * sum(map(len, rows)))
    first, n_held = len(rows), 0
    while first > 0 and n_held + len(rows[first - 1]) <= wanted:
        first -= 1
        n_held += len(rows[first])
    missing = wanted - n_held
    if missing <= n_held or not first:  # the row before the cut is not much of the share
        return rows[:first], rows[first:]
    row = rows[first - 1]
    return [*rows[: first - 1], row[:-missing]], [row[-missing:], *rows[first:]]


def complaint_of(files: Iterable[Path], encode: Callable[[str], Any]) -> str:
    """Say what is wrong with the first row that cannot be encoded, and in which line of which file.

    Empty when all can be.
    """
    for file in files:
        for number, row in enumerate(file_rows([file]), start=1):
            try:
                encode(row)
            except ValueError as error:
                return f"{file}, line {number}: {error}"
    return ""
