# SPDX-License-Identifier: MIT
"""Chapters executed elsewhere: what is equal, what differs, and what the settings do."""

import base64
import io
import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import nbformat
import numpy as np
import pytest
from matplotlib import image
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output
from PIL import Image
from test_checks_bite import png

import comparing
import kernel_settings
import memory_groups
import rerun_chapters
from kernel_settings import Setting, SettingError

may_change_user = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("setpriv") is None,
    reason="only root can become a user without rights",
)


@pytest.fixture
def book(planted: Path) -> Path:
    """The planted chapter's repository, with a folder of data and one for the kernel's files."""
    root = planted.parent.parent
    for name in ("data", "scratch"):
        (root / name).mkdir()
    (root / "data" / "numbers.txt").write_text("3 4\n", encoding="utf-8")
    return root


def run(book: Path, **settings: object) -> rerun_chapters.Rerun:
    """Execute the planted chapter under a setting."""
    path = book / "chapters" / "07_planted.ipynb"
    setting = Setting(**settings)  # type: ignore[arg-type]
    return rerun_chapters.rerun(path, setting, book / "scratch", book / "into", book)


def plant(book: Path, source: str, *, output: str | None = None) -> None:
    """Replace the first code cell of the planted chapter, and what it printed."""
    path = book / "chapters" / "07_planted.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[1].source = source
    if output is not None:
        notebook.cells[1].outputs = [new_output("stream", name="stdout", text=output)]
    nbformat.write(notebook, path)


def code(*outputs: NotebookNode, count: int | None = 1) -> NotebookNode:
    """Make a notebook of one executed cell."""
    return new_notebook(cells=[new_code_cell("x", outputs=list(outputs), execution_count=count)])


def printed(text: str, stream: str = "stdout") -> NotebookNode:
    """Make a piece of printed text."""
    return new_output("stream", name=stream, text=text)


def shown(kind: str, content: str, **metadata: object) -> NotebookNode:
    """Make a displayed output."""
    return new_output("display_data", {kind: content}, metadata=metadata)


class TestComparison:
    def test_pieces_of_a_stream_are_one_text(self):
        stored = code(printed("one\ntwo\n"), shown("text/html", "<p>"))
        found = code(printed("one\n"), shown("text/html", "<p>"), printed("two\n"))
        assert comparing.compare(stored, found).identical == 1

    @pytest.mark.parametrize(
        ("stored", "found", "kind"),
        [
            (printed("a\nb 1.47\n"), printed("a\nb 1.48\n"), "stream stdout"),
            (printed("a"), printed("a\n"), "stream stdout"),
            (printed("a"), printed("a", "stderr"), "stream stdout"),
            (shown("text/html", "<b>1</b>"), shown("text/html", "<b>2</b>"), "text/html"),
            (shown("text/plain", "1"), shown("text/plain", "1 "), "text/plain"),
        ],
    )
    def test_every_byte_counts(self, stored: NotebookNode, found: NotebookNode, kind: str):
        result = comparing.compare(code(stored), code(found))
        assert result.identical == 0
        assert [(one.cell, one.kind) for one in result.differing] == [(0, kind)]

    def test_the_first_line_that_differs_is_quoted(self):
        result = comparing.compare(code(printed("a\nb 1.47\n")), code(printed("a\nb 1.48\n")))
        assert str(result.differing[0]) == (
            "cell 0, stream stdout\n  stored: line 2: 'b 1.47'\n  found:  line 2: 'b 1.48'"
        )

    def test_a_long_line_is_quoted_around_the_difference(self):
        stored, found = ("x" * 5000 + end for end in ("1", "2"))
        quoted = comparing.first_difference(stored, found)
        assert [len(one) < 200 and one[-2] for one in quoted] == ["1", "2"]

    def test_a_missing_output_is_named(self):
        result = comparing.compare(code(shown("text/html", "<p>")), code())
        assert (result.differing[0].stored, result.differing[0].found) == (
            "line 1: '<p>'",
            "nothing",
        )

    def test_a_glued_value_has_its_name(self):
        kind = "application/papermill.record/text/plain"
        one, other = (shown(kind, v, scrapbook={"name": "loss"}) for v in ("1", "2"))
        assert comparing.compare(code(one), code(other)).differing[0].kind == (
            "glued 'loss', text/plain"
        )

    def test_without_the_press_nothing_is_glued_and_the_printed_text_counts(self):
        glued = shown("application/papermill.record/text/plain", "1", scrapbook={"name": "loss"})
        assert comparing.compare(code(printed("1"), glued), code(printed("1"))).identical == 1
        assert comparing.compare(code(printed("1"), glued), code(printed("2"))).identical == 0

    def test_images_are_compared_by_bytes_then_by_pixels(self):
        picture = png(4)
        stream = io.BytesIO()
        Image.open(io.BytesIO(base64.b64decode(picture))).save(stream, "png", compress_level=0)
        repacked = base64.b64encode(stream.getvalue()).decode()
        stored = code(shown("image/png", picture))
        assert comparing.compare(stored, code(shown("image/png", picture))).images_same_bytes == 1
        same = comparing.compare(stored, code(shown("image/png", repacked)))
        assert (same.images_same_pixels, same.identical) == (1, 1)
        other = comparing.compare(stored, code(shown("image/png", png(5))))
        assert (other.images_differing, other.identical) == (1, 0)
        assert other.differing[0].found == "all of its pixels differ"

    def test_the_pixels_that_differ_are_counted(self):
        pngs = []
        for red in (0, 255):
            pixels = np.zeros((3, 5, 3), dtype=np.uint8)
            pixels[1, 2, 0] = red
            stream = io.BytesIO()
            image.imsave(stream, pixels, format="png")
            pngs.append(base64.b64encode(stream.getvalue()).decode())
        assert comparing.differing_pixels(*pngs) == 1

    def test_a_new_cell_above_changes_counts_and_no_result(self):
        result = comparing.compare(code(printed("a")), code(printed("a"), count=2))
        assert (result.identical, result.differing) == (1, [])

    def test_cells_that_did_not_run_are_not_called_identical(self):
        result = comparing.compare(code(), code(count=None))
        assert (result.identical, result.not_run) == (0, 1)

    def test_other_cells_are_refused(self):
        with pytest.raises(ValueError, match="their sources differ"):
            comparing.compare(code(), new_notebook())


@pytest.mark.slow
class TestRun:
    def test_an_identical_run_passes_and_nothing_is_written_in_place(self, book: Path):
        before = (book / "chapters" / "07_planted.ipynb").read_bytes()
        done = run(book, place="root")
        assert done.passed, done
        assert (done.comparison.identical, done.comparison.differing) == (2, [])
        assert done.receipt["cpu"] > 0
        assert (book / "chapters" / "07_planted.ipynb").read_bytes() == before
        assert [p.name for p in (book / "into").iterdir()] == [
            "07_planted (1 thread, from root).ipynb"
        ]

    def test_a_planted_difference_is_found_and_named(self, book: Path):
        plant(book, 'total = 7\nprint(f"total: {total}")', output="total: 8\n")
        done = run(book)
        assert not done.passed
        assert [one.cell for one in done.comparison.differing] == [1]
        assert "stored: line 1: 'total: 8'\n      found:  line 1: 'total: 7'" in str(done)
        assert done.record()["differing"][0]["kind"] == "stream stdout"

    def test_an_error_is_recorded_and_the_cells_after_it_did_not_run(self, book: Path):
        plant(book, "1 / 0", output="")
        done = run(book)
        assert "ZeroDivisionError" in str(done.error)
        assert (done.comparison.not_run, done.passed) == (1, False)
        assert done.receipt["wall"] > 0

    def test_a_kernel_that_dies_is_recorded(self, book: Path):
        plant(book, "import os\nos.kill(os.getpid(), 9)")
        assert str(run(book).error) == "07_planted.ipynb, cell 1: its kernel died"

    def test_a_cell_that_takes_too_long_is_recorded(self, book: Path):
        plant(book, "import time\ntime.sleep(60)")
        assert str(run(book, cell_seconds=1).error) == "07_planted.ipynb, cell 1: over 1 s"

    def test_threads_folder_and_core_are_as_asked_for(self, book: Path):
        see = "import os\nprint(os.environ['OMP_NUM_THREADS'], os.path.basename(os.getcwd()))"
        plant(book, see, output="3 chapters\n")
        assert run(book, threads=3).comparison.identical == 1  # the other cell lacks its total
        seen = kernel_settings.probe(Setting(threads=3), book / "scratch", book)
        assert seen["threads"] == 3
        assert seen["package"] == "another copy"  # not the planted repository's

    @pytest.mark.skipif(shutil.which("taskset") is None, reason="a command of Linux")
    def test_one_core_is_one(self, book: Path):
        see = "import os\ntotal = 7\nprint(len(os.sched_getaffinity(0)))"
        plant(book, see, output="1\n")
        assert run(book, one_core=True).passed

    @pytest.mark.parametrize("way", ["control group", "measured"])
    def test_more_memory_than_the_limit_is_reported(
        self, book: Path, way: str, monkeypatch: pytest.MonkeyPatch
    ):
        if way == "measured":
            monkeypatch.setattr(rerun_chapters, "make_group", lambda *_: None)
        hold = "import time\ntotal = 7\nheld = b'x' * 400_000_000\ntime.sleep(0.5)"
        plant(book, hold + '\nprint("total: 7")')
        done = run(book, memory_mb=300)
        if way == "control group" and done.memory["limited_by"] == "measured":
            pytest.skip("no control group can be made here")
        assert done.memory["limited_by"] == way
        assert (done.memory["over_limit"], done.passed) == (True, False)
        expected = "killed for needing more than 300 MB" if way == "control group" else "needed "
        assert str(done.error).startswith(expected)

    def test_less_memory_than_the_limit_passes(self, book: Path):
        done = run(book, memory_mb=2000)
        assert done.passed
        assert not done.memory["over_limit"]

    @may_change_user
    def test_a_user_without_rights_reads_the_data_and_cannot_write_it(self, book: Path):
        see = """\
            from pathlib import Path
            data, total = Path("../data"), 7
            for file in (data / "numbers.txt", data / "new.txt", Path.home() / "own.txt"):
                try:
                    _ = file.open("a")
                    print(file.name, "can be written")
                except PermissionError:
                    print(file.name, "cannot be written")
            print((data / "numbers.txt").read_text())"""
        says = "numbers.txt cannot be written\nnew.txt cannot be written\nown.txt can be written\n"
        plant(book, see.replace(" " * 12, ""), output=says + "3 4\n\n")
        done = run(book, read_only=True)
        assert done.passed, done
        assert (book / "data" / "numbers.txt").read_text() == "3 4\n"

    @may_change_user
    def test_data_that_everybody_may_write_are_found(self, book: Path):
        (book / "data" / "numbers.txt").chmod(0o666)
        with pytest.raises(SettingError, match=r"data/ can still be written: data/numbers\.txt"):
            kernel_settings.probe(Setting(read_only=True), book / "scratch", book)

    def test_the_command_goes_on_after_a_failure_and_records_all(
        self, book: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ):
        good = book / "chapters" / "07_planted.ipynb"
        shutil.copy(good, book / "chapters" / "08_planted.ipynb")
        plant(book, "1 / 0", output="")
        monkeypatch.setattr(
            rerun_chapters,
            "notebook_paths",
            lambda _, name: sorted((book / "chapters").glob(f"{name}*.ipynb")),
        )
        record = book / "record.json"
        words = ["07", "08", "--record", str(record), "--into", str(book / "into")]
        assert rerun_chapters.main(words) == 1
        runs = json.loads(record.read_text(encoding="utf-8"))["runs"]
        assert [(one["chapter"], one["passed"]) for one in runs] == [
            ("07_planted", False),
            ("08_planted", True),
        ]
        assert runs[0]["setting"]["python"] == "own"
        assert {"python", "torch", "ipykernel"} <= set(runs[0]["seen"]["versions"])
        assert "rerun: 1 of 2 runs equal the stored chapters" in capsys.readouterr().out
        shutil.copy(book / "chapters" / "08_planted.ipynb", good)
        assert rerun_chapters.main(["07", *words[2:]]) == 0
        again = json.loads(record.read_text(encoding="utf-8"))["runs"]
        assert [one["passed"] for one in again] == [True, True]  # replaced, and the other kept
        assert again[1] == runs[1]


class TestSettings:
    def test_only_root_changes_the_user(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(os, "geteuid", lambda: 1000, raising=False)
        with pytest.raises(SettingError, match="which only root may do"):
            kernel_settings.wrapped(["true"], Setting(read_only=True))

    @pytest.mark.parametrize("wrong", [{"threads": 0}, {"memory_mb": 0.0}, {"python": "/no/such"}])
    def test_impossible_settings_are_refused(self, wrong: dict[str, object]):
        with pytest.raises(SettingError, match="expected"):
            replace(Setting(), **wrong)

    def test_an_interpreter_that_is_no_python_is_named(self, tmp_path: Path):
        with pytest.raises(SettingError, match="cannot be a kernel"):
            kernel_settings.probe(Setting(python=shutil.which("false") or "false"), tmp_path)

    def test_the_command_says_what_it_lacks(self, capsys: pytest.CaptureFixture[str]):
        assert rerun_chapters.main(["04", "--python", "/no/such"]) == 2
        assert "rerun stopped: expected an interpreter" in capsys.readouterr().err
        assert rerun_chapters.main(["77"]) == 2
        assert "no chapter starts with '77'" in capsys.readouterr().err

    def test_what_belongs_to_these_tools_stays_here(self, monkeypatch, tmp_path: Path):
        monkeypatch.setenv("PYTHONPATH", "elsewhere")
        made = kernel_settings.environment(Setting(threads=2), tmp_path)
        assert "PYTHONPATH" not in made
        assert made["OMP_NUM_THREADS"] == "2"
        assert made["PATH"].startswith(str(Path(sys.executable).parent))


class TestGroups:
    """Control groups of version 2, played by plain folders; version 1 and 2 for real in TestRun."""

    @pytest.fixture
    def hierarchy(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A system on which this process is in /a/b."""
        mount = tmp_path / "fs"
        (mount / "a" / "b").mkdir(parents=True)
        (tmp_path / "mounts").write_text(f"none {mount} cgroup2 rw 0 0\nx / ext4 rw 0 0\n")
        (tmp_path / "cgroup").write_text("1:name=systemd:/s\n0::/a/b\n")
        monkeypatch.setattr(memory_groups, "MOUNTS", tmp_path / "mounts")
        monkeypatch.setattr(memory_groups, "MEMBERSHIP", tmp_path / "cgroup")
        return mount

    def test_the_nearest_folder_with_limits_is_taken(
        self, hierarchy: Path, monkeypatch: pytest.MonkeyPatch
    ):
        mkdir = Path.mkdir

        def with_files(folder: Path, **options: object) -> None:
            """Make a folder as the kernel does: with files, where the parent hands limits on."""
            mkdir(folder, **options)  # type: ignore[arg-type]
            if folder.parent == hierarchy / "a":
                for name in ("memory.max", "memory.swap.max"):
                    (folder / name).write_text("max")
                (folder / "memory.events").write_text("low 0\noom 1\noom_kill 2\n")
                (folder / "memory.peak").write_text("5000000\n")

        monkeypatch.setattr(Path, "mkdir", with_files)
        group = memory_groups.make_group(1000, "mine")
        assert group is not None
        assert group.members == hierarchy / "a" / "mine" / "cgroup.procs"
        assert (group.folder / "memory.max").read_text().startswith("1000")
        assert (group.folder / "memory.swap.max").read_text().startswith("0")
        assert (group.kills(), group.peak_mb()) == (2, 5.0)
        assert not (hierarchy / "a" / "b" / "mine").exists()

    def test_without_limits_there_is_no_group(self, hierarchy: Path):
        assert memory_groups.make_group(1000, "mine") is None
        assert list(hierarchy.rglob("mine")) == []

    def test_elsewhere_than_on_linux_there_is_no_group(self, monkeypatch, tmp_path: Path):
        monkeypatch.setattr(memory_groups, "MEMBERSHIP", tmp_path / "none")
        assert memory_groups.make_group(1000, "mine") is None
