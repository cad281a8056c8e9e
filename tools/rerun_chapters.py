# SPDX-License-Identifier: MIT
"""Execute chapters elsewhere and compare them with the stored ones: ``make rerun``.

The chapters stay as they are. Threads, folder, cores, memory, user and interpreter can be chosen
(:mod:`kernel_settings`). Every combination of ``--threads`` and ``--from`` is run; texts are
compared byte for byte, images by bytes and pixels (:mod:`comparing`). A small server for notebooks
such as Binder's, whose repository is read-only, is simulated by one command:

    make rerun OPTIONS="--one-core --memory-gb 2 --python OTHER/bin/python --read-only-data \
        --from root chapters --record binder.json"

Memory is limited by a control group where this process may make one; a kernel that needs more is
killed, as it would be there. Elsewhere the peak is measured and judged.
"""

import argparse
import json
import os
import sys
import tempfile
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from chapters import ROOT, ChapterError, notebook_paths, read_notebook
from comparing import Comparison, compare
from kernel_settings import (
    Setting,
    SettingError,
    environment,
    folder_of,
    make_home,
    make_manager,
    probe,
)
from memory_groups import MemoryGroup, make_group
from receipts import Meter
from run_chapters import clean, make_client, process_id, run_cells

INTO = ROOT / "_build" / "rerun"


def main(arguments: list[str] | None = None) -> int:
    """Execute the chapters that the command line names, once under each setting.

    Args:
        arguments: Command-line words; None = those of this process.

    Returns:
        0 when every run equals the stored chapter, 1 otherwise, 2 when a setting cannot be had.
    """
    options = _parser().parse_args(arguments)
    try:
        paths = [path for name in options.chapter or [""] for path in notebook_paths(ROOT, name)]
        with tempfile.TemporaryDirectory(prefix="rerun-", ignore_cleanup_errors=True) as scratch:
            Path(scratch).chmod(0o755)  # another user must pass through it
            return _run_all(paths, _settings(options), options, Path(scratch))
    except (ChapterError, SettingError) as error:
        print(f"rerun stopped: {error}", file=sys.stderr)
        return 2


@dataclass(frozen=True)
class Rerun:
    """What one run showed."""

    comparison: Comparison
    error: str | None
    """What stopped the run or exceeded its limit; None = nothing."""
    receipt: dict[str, float]
    """"wall" and "cpu" in seconds, "peak" in megabytes, as :class:`receipts.Meter` has them."""
    memory: dict[str, Any]
    """Where memory was limited: "limited_by" what, "over_limit", and "group_peak" in megabytes."""

    @property
    def passed(self) -> bool:
        """Whether nothing failed and nothing differed."""
        return self.error is None and not self.comparison.differing

    def record(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {"passed": self.passed, **asdict(self.comparison), "error": self.error,
                **self.receipt, **self.memory}  # fmt: skip

    def __str__(self) -> str:
        """Say it in a line, and a few for each difference and error."""
        known = {**self.receipt, **self.memory}
        costs = [f"{k} {known[k]}" for k in ("wall", "cpu", "peak", "group_peak") if k in known]
        lines = [f"{self.comparison.summary()}; {', '.join(costs)}"]
        lines += [str(one) for one in self.comparison.differing]
        lines += [self.error] if self.error else []
        return "    " + "\n".join(lines).replace("\n", "\n    ")


def rerun(
    path: Path, setting: Setting, scratch: Path, into: Path = INTO, root: Path = ROOT
) -> Rerun:
    """Execute one chapter under a setting, and compare it with the stored one.

    Args:
        path: The stored notebook, which stays as it is.
        setting: How its kernel is started.
        scratch: Folder for the kernel's home and description; others may pass through it.
        into: Folder for the executed notebook.
        root: The repository.

    Returns:
        The comparison, the error, the costs.

    Raises:
        SettingError: The setting cannot be had here.
    """
    stored = read_notebook(path)
    found = _without_outputs(stored)
    group = None
    if setting.memory_mb:
        group = make_group(int(setting.memory_mb * 1e6), f"{scratch.name}-{os.urandom(4).hex()}")
    try:
        error, receipt = _execute(found, path, setting, scratch, group, root)
        error, memory = _judged(error, receipt, setting, group)
    finally:
        if group:
            group.remove()
    clean(found)
    into.mkdir(parents=True, exist_ok=True)
    nbformat.write(found, into / f"{path.stem} ({setting.label()}).ipynb")
    plain = error and error.replace(str(root), ".")  # a record names no folder of one machine
    return Rerun(compare(stored, found), plain, receipt, memory)


def _execute(
    notebook: NotebookNode,
    path: Path,
    setting: Setting,
    scratch: Path,
    group: MemoryGroup | None,
    root: Path,
) -> tuple[str | None, dict[str, float]]:
    """Run the cells; give the error, if one stopped them, and what the run cost."""
    manager = make_manager(setting, scratch, group)
    client = make_client(notebook, folder_of(setting, root), manager, setting.cell_seconds)
    started = client.setup_kernel(
        env=environment(setting, make_home(setting, scratch)), cleanup_kc=True
    )
    meter, error = None, None
    try:
        with started:
            meter = Meter(process_id(client))
            with meter:
                run_cells(client, notebook, path)
    except ChapterError as failed:
        error = str(failed)
    except RuntimeError as failed:  # nbclient's word for a kernel that does not come up
        error = f"{path.name}: the kernel did not start: {failed}"
    return error, meter.receipt() if meter else {}


def _judged(
    error: str | None, receipt: dict[str, float], setting: Setting, group: MemoryGroup | None
) -> tuple[str | None, dict[str, Any]]:
    """Find a kernel that needed more memory than it may; say how the limit was held."""
    limit = setting.memory_mb
    if limit is None:
        return error, {}
    memory: dict[str, Any] = {"limited_by": "control group" if group else "measured"}
    if group and (group_peak := group.peak_mb()) is not None:
        memory["group_peak"] = round(group_peak)
    peak = receipt.get("peak", 0.0)
    over = None
    if group and group.kills():
        over = f"killed for needing more than {limit:.0f} MB"
    elif not group and peak > limit:
        over = f"needed {peak:.0f} MB, more than {limit:.0f} MB"
    memory["over_limit"] = over is not None
    return "; ".join(filter(None, (over, error))) or None, memory


def _run_all(
    paths: list[Path], settings: list[Setting], options: argparse.Namespace, scratch: Path
) -> int:
    """Run every chapter under every setting; print and record each run as it ends."""
    seen = {setting: probe(setting, scratch) for setting in settings}
    n_runs = failed = 0
    for path, setting in product(paths, settings):
        print(f"{path.stem}, {setting.label()}: running …", flush=True)
        run = rerun(path, setting, scratch, options.into)
        print(run, flush=True)
        failed += not run.passed
        n_runs += 1
        if options.record:
            described = {"chapter": path.stem, "setting": _described(setting)}
            _add_to_record(options.record, {**described, "seen": seen[setting], **run.record()})
    print(f"rerun: {n_runs - failed} of {n_runs} runs equal the stored chapters")
    return int(failed > 0)


def _described(setting: Setting) -> dict[str, Any]:
    """Turn a setting into JSON values; an interpreter's path is one machine's and stays out."""
    known = asdict(setting)
    return {**known, "python": "own" if known["python"] == sys.executable else "foreign"}


def _add_to_record(path: Path, run: dict[str, Any]) -> None:
    """Add a run to the record; it replaces an older one of its chapter under its setting."""
    unit = {"wall": "seconds", "cpu": "CPU-seconds", "peak": "megabytes, all processes"}
    unit |= {"group_peak": "megabytes, with files that the system keeps in memory for them"}
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []
    runs = [old for old in runs if not all(old[key] == run[key] for key in ("chapter", "setting"))]
    runs = sorted([*runs, run], key=lambda one: one["chapter"])  # keeps the order of settings
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"unit": unit, "runs": runs}, indent=1) + "\n", encoding="utf-8")


def _without_outputs(notebook: NotebookNode) -> NotebookNode:
    """Copy a notebook as if it had not run yet."""
    copy = nbformat.from_dict(json.loads(json.dumps(notebook)))
    for cell in copy.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return copy


def _settings(options: argparse.Namespace) -> list[Setting]:
    """Combine what the command line asks for."""
    return [
        Setting(
            threads, place, options.one_core, options.memory_gb and options.memory_gb * 1e3,
            options.read_only_data, options.python, options.cell_seconds,
        )
        for place, threads in product(options.places, options.threads)
    ]  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("chapter", nargs="*", help="such as 04 13; default: all")
    parser.add_argument("--threads", type=int, nargs="+", default=[1], metavar="N")
    parser.add_argument(
        "--from", dest="places", nargs="+", choices=("root", "chapters"), default=["chapters"],
        help="working folder of the kernel",
    )  # fmt: skip
    parser.add_argument("--one-core", action="store_true", help="keep the kernel on one core")
    parser.add_argument("--memory-gb", type=float, metavar="N", help="limit, in 10⁹ bytes")
    parser.add_argument(
        "--python", type=os.path.abspath, default=sys.executable, metavar="PATH",
        help="interpreter whose ipykernel runs the cells",
    )  # fmt: skip
    parser.add_argument("--read-only-data", action="store_true", help="as a user without rights")
    parser.add_argument("--cell-seconds", type=int, default=600, metavar="N", help="at most")
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="add the results to a JSON file"
    )
    parser.add_argument("--into", type=Path, default=INTO, help="folder for executed notebooks")
    return parser


if __name__ == "__main__":
    sys.exit(main())
