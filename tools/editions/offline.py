# SPDX-License-Identifier: MIT
"""Pack the built pages for reading without a network: ``make offline``.

``_build/pretraining-paradigms.zip`` holds one folder; its ``index.html`` opens in a browser from a
disk, with search, formulas and applets, and the notebooks that the pages offer are in it. Left out
is what only a server can give: the applets' modules and models, which are in the same folder a
second time as scripts. Two packs of the same pages are equal, byte for byte.
"""

import argparse
import sys
import zipfile
from pathlib import Path

from tools.chapters.store import ROOT, ChapterError

NAME = "pretraining-paradigms"
FOR_SERVERS = (".mjs", ".gz", ".buildinfo", ".inv")
FOLDER_FOR_SERVERS = ".doctrees"
TIME = (1980, 1, 1, 0, 0, 0)  # the first that a zip file knows; the same for every file
READ_ME = """\
Pre-training Paradigms: BERT, GPT and T5

Unpack this folder and open index.html in a browser. Everything is in it: no page asks a network
for anything. The interactive parts work too.

The licences of the book and of all that it brings: _static/licences.txt
"""


def main(arguments: list[str] | None = None) -> int:
    """Pack the pages that `make book` built; return 1 when there are none."""
    parser = argparse.ArgumentParser(description="Pack the built pages into one file.")
    parser.add_argument("--html", type=Path, default=ROOT / "_build" / "html")
    parser.add_argument("--to", type=Path, default=ROOT / "_build" / f"{NAME}.zip")
    options = parser.parse_args(arguments)
    try:
        n_files = pack(options.html, options.to)
    except ChapterError as error:
        print(f"offline: {error}", file=sys.stderr)
        return 1
    megabytes = options.to.stat().st_size / 1e6
    print(f"offline: {n_files} files, {megabytes:.1f} MB, in {options.to}")
    return 0


def pack(html: Path, target: Path) -> int:
    """Write the zip file, replacing `target` when it is complete; return how many files it holds.

    Raises:
        ChapterError: There are no built pages.
    """
    if not (html / "index.html").is_file():
        raise ChapterError(f"expected built pages in {html}: run make book first")
    part = target.with_suffix(".part")
    part.parent.mkdir(parents=True, exist_ok=True)
    files = [path for path in sorted(html.rglob("*")) if is_packed(path.relative_to(html))]
    files = [path for path in files if path.is_file()]
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        _add(packed, "README.txt", READ_ME.encode())
        for path in files:
            _add(packed, path.relative_to(html).as_posix(), path.read_bytes())
    part.replace(target)
    return len(files) + 1


def is_packed(path: Path) -> bool:
    """Return whether a file, relative to the pages' folder, is of use without a server."""
    return path.parts[0] != FOLDER_FOR_SERVERS and not path.name.endswith(FOR_SERVERS)


def _add(packed: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Add one file with a fixed time and fixed rights."""
    entry = zipfile.ZipInfo(f"{NAME}/{name}", TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    packed.writestr(entry, content)


if __name__ == "__main__":
    raise SystemExit(main())
