# SPDX-License-Identifier: MIT
"""Where the book keeps its files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The repository."""
DATA = ROOT / "data"
CHECKPOINTS = DATA / "checkpoints"
RUNS = DATA / "runs"
OPENED: set[Path] = set()
"""Data files asked for in this process."""


def data_file(*parts: str) -> Path:
    """Name a file under data/ and note that it was asked for.

    Chapters and modules reach their data through this function, so that a chapter's record of
    what it read is complete: readers written in Rust open files unseen by Python.

    Args:
        parts: Folders and file name below data/, such as "runs", "receipts.json".

    Returns:
        The path; whether it exists is the caller's business.
    """
    path = DATA.joinpath(*parts)
    OPENED.add(path)
    return path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary name beside a file, and let it take the file's place when all went well.

    So that a reader of the file sees the old content or the new, and never half of one. A process
    that is killed meanwhile leaves its temporary file, whose name ends in .part, behind.

    Args:
        path: The file, which may not exist yet; its folder is made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
