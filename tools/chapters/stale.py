# SPDX-License-Identifier: MIT
"""Execute the stale chapters again and renew the lock where the outputs are the same.

A copy of each stale chapter runs as in ``make run``, two at a time; no notebook is written. All
that nbval compares must be equal to what is stored, with the same cells left out by their tag, and
the pictures too, which nbval does not look at. Then ``data/runs/chapters.lock`` gets the chapter's
new hashes. Where something differs, the cell is named, and ``make run CHAPTER=…`` stores the new
outputs.
"""

import argparse
import base64
import io
import os
import re
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import takewhile
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import image
from nbformat import NotebookNode

from tools.chapters import fingerprints, receipts
from tools.chapters.run import executed
from tools.chapters.store import ROOT, ChapterError, notebook_paths, read_notebook

AT_A_TIME = 2
PNG, SVG = "image/png", "image/svg+xml"
NEAR = 8 / 255
"""How much of a colour may change at a pixel: the last bit of a number, not a line that moves."""
NEAR_POINTS = 0.05
"""How far a part of a drawing may move, in points: the last digit of its place, no more."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
_PICTURE = re.compile(r"data:image/png;base64,([\w+/=\s]+)")
UNCOMPARED = "nbval-ignore-output"


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Check the stale ones of the named chapters; return 0 if all of them are fresh now."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("chapter", nargs="?", default="", help="such as 04; default: all")
    options = parser.parse_args(arguments)
    try:
        paths = notebook_paths(root, options.chapter)
        reasons = {path: fingerprints.stale_reasons(path, root) for path in paths}
        fingerprints.tidy(root)
    except ChapterError as error:
        print(f"check stopped: {error}", file=sys.stderr)
        return 1
    stale = receipts.longest_first(path for path in paths if reasons[path])
    for path in sorted(stale):
        print(f"{path.stem}: stale: {'; '.join(reasons[path])}", flush=True)
    n_differing = sum(check_all(stale, root))
    print(f"check: {len(paths) - n_differing} of {len(paths)} chapters are fresh")
    return int(n_differing > 0)


def check_all(paths: list[Path], root: Path) -> list[bool]:
    """Execute chapters, and renew the lock or say what differs; return whether each differs.

    The result is in the order in which they end; the first notebooks are started first.
    """
    found = []
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # two kernels share the cores
    with ProcessPoolExecutor(AT_A_TIME, get_context("spawn")) as pool:
        jobs = {pool.submit(check, path, root): path for path in paths}
        for job in as_completed(jobs):
            path, (problems, files) = jobs[job], job.result()
            if not problems:
                fingerprints.store(path.stem, fingerprints.take(path, files, root), root)
                print(f"{path.stem}: the same outputs; lock renewed", flush=True)
            else:
                remedy = f"make run CHAPTER={path.name[:2]} stores what comes out now"
                print("\n    ".join([f"{path.stem}: differs; {remedy}", *problems]), flush=True)
            found.append(bool(problems))
    return found


def check(path: Path, root: Path = ROOT) -> tuple[list[str], list[str]]:
    """Execute a copy of a chapter and compare.

    Returns what differs, a line for each cell, and the data files that were opened.
    """
    try:
        found, files, _ = executed(path, root)
    except ChapterError as error:
        return [str(error)], []
    return differences(read_notebook(path), found), files


def differences(stored: NotebookNode, found: NotebookNode) -> list[str]:
    """List, a line each, the cells whose stored and new outputs or counts differ."""
    lines = []
    for index, (old, new) in enumerate(zip(stored.cells, found.cells, strict=True)):
        if old.cell_type != "code":
            continue
        if old.execution_count != new.execution_count:
            lines.append(f"cell {index}: stored count {old.execution_count}, not as executed")
        elif UNCOMPARED not in old.metadata.get("tags", []):
            difference = _difference(old.outputs, new.outputs)
            lines += [f"cell {index} [{new.execution_count}]: {difference}"] if difference else []
    return lines


def _difference(stored: list[NotebookNode], found: list[NotebookNode]) -> str:
    """Describe the first difference of two lists of outputs; empty = none."""
    if len(stored) != len(found):
        return f"{len(stored)} outputs stored, {len(found)} now"
    for old, new in zip(stored, found, strict=True):
        if _without_picture(old) != _without_picture(new):
            before, after = _lines(old), _lines(new)
            pairs = zip([*before, ""], [*after, ""], strict=False)
            one, other = next(((a, b) for a, b in pairs if a != b), ("", ""))
            letters = zip(one, other, strict=False)
            same = len(list(takewhile(lambda both: both[0] == both[1], letters)))
            start = max(0, same - 40)
            return f"stored {one[start:][:90]!r}, now {other[start:][:90]!r}"
        for kind, alike in ((PNG, _same_picture), (SVG, _same_drawing)):
            if not alike(old.get("data", {}).get(kind), new.get("data", {}).get(kind)):
                return "the picture is another one"
    return ""


def _without_picture(output: NotebookNode) -> dict[str, Any]:
    """Copy an output, its picture replaced by a word."""
    data = output.get("data", {})
    words = {kind: "a picture" for kind in (PNG, SVG) if kind in data}
    return {**output, "data": {**data, **words}}


def _lines(output: NotebookNode) -> list[str]:
    """Write an output as lines, one or more for each of its parts."""
    parts = {**_without_picture(output), **_without_picture(output)["data"]}
    parts.pop("data")
    return [f"{kind}: {line}" for kind in sorted(parts) for line in str(parts[kind]).split("\n")]


def _same_picture(stored: str | None, found: str | None) -> bool:
    """Return whether two pictures show the same, pixel by pixel, but for their last bits."""
    if stored == found or not stored or not found:
        return stored == found
    old, new = (image.imread(io.BytesIO(base64.b64decode(one))) for one in (stored, found))
    return old.shape == new.shape and bool(np.abs(old - new).max() <= NEAR)


def _same_drawing(stored: str | None, found: str | None) -> bool:
    """Return whether two SVGs show the same, part by part, but for the last digits of places."""
    if stored == found or not stored or not found:
        return stored == found
    pictures = [_PICTURE.findall(one) for one in (stored, found)]
    if len(pictures[0]) != len(pictures[1]) or not all(
        _same_picture(old, new) for old, new in zip(*pictures, strict=True)
    ):
        return False
    bare = [_PICTURE.sub("", one) for one in (stored, found)]
    if _NUMBER.sub("0", bare[0]) != _NUMBER.sub("0", bare[1]):
        return False
    old, new = (np.array([float(n) for n in _NUMBER.findall(one)]) for one in bare)
    return bool((np.abs(old - new) <= NEAR_POINTS).all())


if __name__ == "__main__":
    sys.exit(main())
