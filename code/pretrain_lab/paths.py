# SPDX-License-Identifier: MIT
"""Where the book keeps its files."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "data"
CHECKPOINTS = DATA / "checkpoints"
RUNS = DATA / "runs"
OPENED: set[Path] = set()
"""Data files asked for in this process."""


def data_file(*parts: str) -> Path:
    """Name a file under data/ and note that it was asked for.

    Chapters and modules reach their data through this function, so that a chapter's record of what
    it read is complete: readers written in Rust open files unseen by Python. Whether the file
    exists is the caller's business.

    Raises:
        FileNotFoundError: The package was installed without the repository that holds the data.
    """
    if not DATA.is_dir():
        raise FileNotFoundError(
            f"expected the book's data in {DATA}, found none: the package was installed without "
            "its repository. Clone the repository, and in it: pip install --editable ."
        )
    path = DATA.joinpath(*parts)
    OPENED.add(path)
    return path
