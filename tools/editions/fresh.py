# SPDX-License-Identifier: MIT
"""Say whether what was built is made of the files that are there now.

The key, the offline book and the readers' notebooks start from a build that takes minutes. A stamp
beside it, such as ``_build/html.inputs``, holds a fingerprint of what it was made of; as long as
that is the same, the build is used again.

    python -m tools.editions.fresh            # exit code 0 = the pages are fresh
    python -m tools.editions.fresh --begin    # before a build: drop the stamp, note what is there
    python -m tools.editions.fresh --end      # after it: what was noted becomes the stamp
"""

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.chapters.store import ROOT, digest
from tools.editions.building import REPOSITORY

INPUTS = (
    "_config.yml",
    "_toc.yml",
    "pyproject.toml",
    "requirements.txt",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "benchmarks",
    "chapters",
    "code",
    "data",
    "extensions",
    "tools",
    "_build/book.pdf",
    "_build/slides/index.html",
)
_IGNORED = {"__pycache__", ".ipynb_checkpoints"}


def main(arguments: list[str] | None = None) -> int:
    """Ask or note whether the pages are fresh; return 1 when they are not."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--begin", action="store_true", help="a build of the pages begins")
    parser.add_argument("--end", action="store_true", help="it has succeeded")
    options = parser.parse_args(arguments)
    html = ROOT / "_build" / "html"
    if options.begin:
        begin(html, ROOT)
    elif options.end:
        end(html)
    else:
        return 0 if is_fresh(html, ROOT) else 1
    return 0


def fingerprint(root: Path) -> str:
    """Hash names, sizes and times of all files that pages are made of, and what names a repository.

    Contents are not read: it takes a tenth of a second.
    """
    named = {key: value for key, value in os.environ.items() if key.startswith(REPOSITORY)}
    files = []
    for path in _files(root):
        status = path.stat()
        files.append([path.relative_to(root).as_posix(), status.st_size, status.st_mtime_ns])
    return digest([sorted(named.items()), files])


def is_fresh(built: Path, root: Path) -> bool:
    """Return whether a built folder is there and was made of what is there now."""
    stamp = _stamp(built)
    return (
        built.is_dir()
        and stamp.is_file()
        and stamp.read_text(encoding="utf-8") == fingerprint(root)
    )


def begin(built: Path, root: Path) -> None:
    """Drop a built folder's stamp, and note what the build that begins is made of."""
    _stamp(built).unlink(missing_ok=True)
    built.parent.mkdir(parents=True, exist_ok=True)
    _stamp(built).with_suffix(".begun").write_text(fingerprint(root), encoding="utf-8")


def end(built: Path) -> None:
    """Let what was noted when the build began become its stamp."""
    _stamp(built).with_suffix(".begun").replace(_stamp(built))


def _stamp(built: Path) -> Path:
    """Return the stamp's path of a built folder."""
    return built.with_name(f"{built.name}.inputs")


def _files(root: Path) -> Iterator[Path]:
    """Walk over the files that pages are made of, in order."""
    for name in INPUTS:
        path = root / name
        if path.is_file():
            yield path
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(set(folders) - _IGNORED)
            yield from (Path(folder) / one for one in sorted(names))


if __name__ == "__main__":
    sys.exit(main())
