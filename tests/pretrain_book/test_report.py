# SPDX-License-Identifier: MIT
"""Reported numbers: one string for the cell and for the page."""

from types import SimpleNamespace

import nbclient
import nbformat
import numpy as np
import pytest
import torch

from pretrain_book import report as module
from pretrain_book.report import compare_with_page, hold_to_band, report, report_interval
from pretrain_lab import progress
from pretrain_lab.progress import is_interactive


@pytest.fixture(autouse=True)
def glued(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Act as in the first cell of a runner's kernel, and collect what is glued."""
    records: dict[str, object] = {}

    def collect(key, value, display):
        assert display is False  # or the number would show twice
        records[key] = value

    monkeypatch.setattr("myst_nb.glue", collect)
    monkeypatch.setattr(module, "_reported", {})
    _run_in(monkeypatch, count=1, allow_stdin=False)
    return records


def _run_in(monkeypatch, count, allow_stdin):
    parent = {"content": {"allow_stdin": allow_stdin}}
    kernel = SimpleNamespace(get_parent=lambda channel: parent)
    shell = SimpleNamespace(execution_count=count, kernel=kernel)
    for part in (module, progress):
        monkeypatch.setattr(part, "running_shell", lambda: shell)


def test_the_printed_and_the_glued_string_are_one(glued, capsys):
    report("bpc", 1.4449, unit="bits per character")
    report_interval("gap", 0.5, 0.41, 0.63, ".1f", "nats")
    assert capsys.readouterr().out == "bpc: 1.44 bits per character\ngap: 0.5 [0.4, 0.6] nats\n"
    assert glued == {"bpc": "1.44 bits per character", "gap": "0.5 [0.4, 0.6] nats"}


@pytest.mark.parametrize(
    ("value", "fmt", "unit", "shown"),
    [
        (190_000, ",", "parameters", "190,000 parameters"),
        (np.float32(0.5), ".1%", "", "50.0%"),
        (57.81, ".1f", "%", "57.8 %"),
        (torch.tensor([2.5]), ".2f", "", "2.50"),
        ("it's a word", ".2f", "", "it's a word"),
    ],
)
def test_values_of_all_kinds_are_formatted(glued, value, fmt, unit, shown):
    report("value", value, fmt, unit)
    assert glued == {"value": shown}


@pytest.mark.parametrize("key", ["", "two words", "a:b", "1st", "naïve", "a::b"])
def test_a_malformed_key_is_refused(key):
    with pytest.raises(ValueError, match="expects a key of letters"):
        report(key, 1.0)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), torch.tensor(-torch.inf)])
def test_a_number_that_is_not_finite_is_refused(value):
    with pytest.raises(ValueError, match="'loss' expects a finite number"):
        report("loss", value)


def test_a_format_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="does not fit fmt 'd'"):
        report("loss", 1.5, fmt="d")


def test_an_interval_out_of_order_is_refused():
    with pytest.raises(ValueError, match=r"low 2\.00, estimate 1\.00, high 3\.00"):
        report_interval("loss", 1, 2, 3)


def test_a_key_with_two_values_is_refused_and_glued_once_otherwise(glued, monkeypatch):
    report("loss", 1.0)
    glued.clear()
    _run_in(monkeypatch, count=2, allow_stdin=False)
    report("loss", 1.001)
    assert glued == {}  # the same string again: printed, but the page takes a key only once
    with pytest.raises(ValueError, match=r"already stands for '1\.00', got '2\.00'"):
        report("loss", 2.0)


def test_a_reader_may_change_a_cell_and_run_it_again(glued, monkeypatch):
    _run_in(monkeypatch, count=3, allow_stdin=True)
    report("loss", 1.0)
    with pytest.raises(ValueError, match="already stands for"):
        report("loss", 2.0)  # twice in one cell is a mistake there, too
    _run_in(monkeypatch, count=4, allow_stdin=True)
    report("loss", 2.0)
    assert glued == {"loss": "2.00"}


def test_a_plain_script_only_prints(glued, monkeypatch, capsys):
    monkeypatch.setattr(module, "running_shell", lambda: None)
    report("loss", 1.0)
    assert capsys.readouterr().out == "loss: 1.00\n"
    assert glued == {}


def test_without_the_books_tools_it_only_prints(glued, monkeypatch, capsys):
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    report("loss", 1.0)
    assert capsys.readouterr().out == "loss: 1.00\n"
    assert glued == {}


def test_only_a_front_end_that_lets_the_cell_ask_is_interactive(monkeypatch):
    assert not is_interactive()
    _run_in(monkeypatch, count=1, allow_stdin=True)
    assert is_interactive()
    monkeypatch.setattr(progress, "running_shell", lambda: None)
    assert not is_interactive()


def test_outside_of_ipython_there_is_no_shell(monkeypatch):
    monkeypatch.undo()
    assert progress.running_shell() is None
    monkeypatch.delitem(progress.sys.modules, "IPython", raising=False)
    assert progress.running_shell() is None


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_a_notebook_stores_one_visible_line_and_one_hidden_record():
    source = "from pretrain_book.report import report\nreport('bpc', 1.4449, unit='bits')"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    nbclient.NotebookClient(notebook, kernel_name="python3").execute()
    line, record = notebook.cells[0].outputs
    assert line == {"output_type": "stream", "name": "stdout", "text": "bpc: 1.44 bits\n"}
    assert dict(record.data) == {"application/papermill.record/text/plain": "'1.44 bits'"}
    assert record.metadata.scrapbook.name == "bpc"


def test_a_live_run_is_held_to_the_band_of_the_page():
    hold_to_band("loss at the end (nats)", torch.tensor(1.7), 1.6, 1.8)
    hold_to_band("share", 1, 1, 1)
    for value in (1.59, 1.81, float("nan")):
        with pytest.raises(ValueError, match=r"loss at the end expected in 1\.6 to 1\.8, got"):
            hold_to_band("loss at the end", value, 1.6, 1.8)


@pytest.mark.parametrize(
    ("value", "end"),
    [(1.7, "1.7, inside this page's band, 1.6 to 1.8\n"), (2.5, "when you change something\n")],
)
def test_a_readers_run_is_compared_and_never_refused(
    value: float, end: str, capsys: pytest.CaptureFixture[str]
):
    compare_with_page("loss at the end", value, 1.6, 1.8)
    printed = capsys.readouterr().out
    assert printed.startswith(f"loss at the end: {value}, ")
    assert printed.endswith(end)
