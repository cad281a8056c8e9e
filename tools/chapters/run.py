# SPDX-License-Identifier: MIT
"""Execute the chapters in place and record what they read and what they cost: ``make run``.

Each notebook runs in a kernel of its own, in the folder ``chapters/``. What would differ between
two runs is removed from the stored file, and a notebook that raises or writes to the error stream
is not stored. Its hashes go to ``data/runs/chapters.lock``; times, memory and versions go to
``data/runs/receipts.json``.
"""

import argparse
import ast
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from nbformat import NotebookNode

from tools.chapters import fingerprints
from tools.chapters.receipts import Meter, store_receipt
from tools.chapters.store import (
    NOTE,
    NOTEBOOK_METADATA,
    ROOT,
    ChapterError,
    inputs,
    notebook_paths,
    read_notebook,
    read_twin,
    twin_of,
    write_notebook,
)

CELL_SECONDS = 600
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
# The kernel notes every file that Python opens for reading; what is opened by compiled code is
# noted by pretrain_lab.paths.data_file. The names start with an underscore, chapters do not see
# them.
WATCH = """
import sys as _sys
_pt_opened = set()
def _pt_watch(event, args, opened=_pt_opened):
    if event == "open" and isinstance(args[0], str) and "w" not in str(args[1] or "r"):
        opened.add(__import__("os").path.abspath(args[0]))
_sys.addaudithook(_pt_watch)
del _pt_watch
"""
OPENED = """chr(10).join(sorted({*_pt_opened, *map(
    str, getattr(_sys.modules.get("pretrain_lab.paths"), "OPENED", ())
)}))"""


def main(arguments: list[str] | None = None) -> int:
    """Execute the chapters that the command line names; return 0 if all ran and were stored."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("chapter", nargs="?", default="", help="such as 04; default: all")
    parser.add_argument("--stale", action="store_true", help="only chapters whose inputs changed")
    options = parser.parse_args(arguments)
    try:
        for path in notebook_paths(ROOT, options.chapter):
            if options.stale and not fingerprints.stale_reasons(path):
                print(f"{path.stem}: fresh")
                continue
            print(f"{path.stem}: running …", flush=True)
            receipt = run_chapter(path)
            store_receipt(path.stem, receipt)
            print("    " + ", ".join(f"{key} {value}" for key, value in receipt.items()))
    except ChapterError as error:
        print(f"run stopped: {error}", file=sys.stderr)
        return 1
    return 0


def run_chapter(path: Path) -> dict[str, float]:
    """Execute one notebook, store its outputs, and put its hashes into the lock.

    Returns its wall seconds, CPU seconds and peak memory in megabytes.

    Raises:
        ChapterError: As for :func:`executed`.
    """
    notebook, files, receipt = executed(path)
    write_notebook(path, notebook)
    fingerprints.store(path.stem, fingerprints.take(path, files))
    return receipt


def executed(path: Path, root: Path = ROOT) -> tuple[NotebookNode, list[str], dict[str, float]]:
    """Execute a copy of a notebook, as it would be stored; the file stays as it is.

    Returns:
        The copy, the data files that it opened, and its receipt.

    Raises:
        ChapterError: The twin is newer, a cell raised or wrote to the error stream, or what the
            chapter reaches was edited meanwhile, so that nobody knows which code ran.
    """
    notebook = read_notebook(path)
    if inputs(notebook) != inputs(read_twin(twin_of(path))):
        raise ChapterError(f"{path.name} differs from its twin: make sync first")
    before = fingerprints.definition_fingerprints(path, root)
    try:
        files, receipt = execute(notebook, path, root)
    except RuntimeError:  # two kernels that start at once may take the same free port
        files, receipt = execute(notebook, path, root)
    clean(notebook)
    refuse_noise(notebook, path.name)
    if fingerprints.definition_fingerprints(path, root) != before:
        raise ChapterError(f"{path.name}: its packages were edited while it ran; start it again")
    return notebook, files, receipt


def execute(
    notebook: NotebookNode, path: Path, root: Path = ROOT
) -> tuple[list[str], dict[str, float]]:
    """Run every code cell of a notebook in a fresh kernel, in place; `path` is for messages.

    Returns the data files that it opened, relative to the repository, and its receipt.

    Raises:
        ChapterError: A cell raised, took more than ten minutes, or its kernel died.
    """
    client = NotebookClient(
        notebook,
        kernel_name=NOTEBOOK_METADATA["kernelspec"]["name"],
        timeout=CELL_SECONDS,
        record_timing=False,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(root / "chapters")}},
    )
    with client.setup_kernel(), Meter(_process_id(client)) as meter:
        _silently(client, WATCH)
        client.reset_execution_trackers()
        for index, cell in enumerate(notebook.cells):
            try:
                client.execute_cell(cell, index)
            except CellExecutionError as error:
                message = _COLOURS.sub("", str(error))
                raise ChapterError(f"{path.name}, cell {index} raised:\n{message}") from error
            except (TimeoutError, DeadKernelError) as error:
                raise ChapterError(f"{path.name}, cell {index}: {error}") from error
        opened = ast.literal_eval(_silently(client, "", OPENED)).split("\n")
    return data_files(opened, root), meter.receipt()


def _process_id(client: NotebookClient) -> int:
    """Return the process id of a started kernel."""
    provisioner: Any = client.km and client.km.provisioner
    return int(provisioner.process.pid)


def clean(notebook: NotebookNode) -> None:
    """Remove, in place, what differs between runs, and widget views (they need foreign scripts)."""
    notebook.metadata = nbformat.from_dict(
        {**NOTEBOOK_METADATA, NOTE: notebook.metadata.get(NOTE, {})}
    )
    for cell in notebook.cells:
        if cell.cell_type == "code":
            for name in ("execution", "collapsed", "scrolled", "ExecuteTime"):
                cell.metadata.pop(name, None)
            for output in cell.outputs:
                output.get("data", {}).pop(WIDGET_VIEW, None)
            cell.outputs = joined([one for one in cell.outputs if one.get("data") != {}])


def joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Join, in place, adjacent pieces of one stream: where a stream is cut depends on timing."""
    whole: list[NotebookNode] = []
    for one in outputs:
        last = whole[-1] if whole else NotebookNode(output_type="none")
        if one.output_type == last.output_type == "stream" and one.name == last.name:
            last.text += one.text
        else:
            whole.append(one)
    return whole


def refuse_noise(notebook: NotebookNode, name: str) -> None:
    """Refuse a notebook with output on the error stream: warnings and progress bars are no result.

    Raises:
        ChapterError: A cell wrote to it.
    """
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "stream" and output.name == "stderr":
                raise ChapterError(
                    f"{name}, cell [{cell.execution_count}] wrote to the error stream:\n"
                    f"{output.text[:500]}"
                )


def data_files(opened: list[str], root: Path = ROOT) -> list[str]:
    """Keep the files below ``data/``, as paths relative to the repository with forward slashes."""
    data = root / "data"
    inside = {Path(one) for one in opened if Path(one).is_relative_to(data)}
    return sorted(path.relative_to(root).as_posix() for path in inside if path.is_file())


def _silently(client: NotebookClient, code: str, expression: str = "None") -> str:
    """Run code in the kernel without a trace in the notebook; return an expression's repr."""
    kernel: Any = client.kc
    request = kernel.execute(
        code, silent=False, store_history=False, user_expressions={"value": expression}
    )
    content = (client.wait_for_reply(request) or {})["content"]
    value = content.get("user_expressions", {}).get("value", {})
    if content["status"] != "ok" or value.get("status") != "ok":
        raise ChapterError(f"the kernel could not be watched: {content}")
    return str(value["data"]["text/plain"])


if __name__ == "__main__":
    sys.exit(main())
