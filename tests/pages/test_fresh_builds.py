# SPDX-License-Identifier: MIT
"""A build is used again as long as what it was made of is the same; own notebooks are kept."""

import os
from pathlib import Path

import pytest

from tools.chapters.store import ChapterError
from tools.editions import fresh, notebooks


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A book of one chapter, its pages built."""
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "a.md").write_text("A")
    (tmp_path / "_build" / "html").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def html(root: Path) -> Path:
    """Its fresh pages."""
    html = root / "_build" / "html"
    fresh.begin(html, root)
    fresh.end(html)
    return html


class TestFresh:
    def test_only_after_a_build_that_ended(self, root: Path):
        html = root / "_build" / "html"
        assert not fresh.is_fresh(html, root)
        fresh.begin(html, root)
        assert not fresh.is_fresh(html, root)
        fresh.end(html)
        assert fresh.is_fresh(html, root)

    def test_a_build_that_begins_ends_it(self, root: Path, html: Path):
        fresh.begin(html, root)
        assert not fresh.is_fresh(html, root)

    def test_a_changed_new_or_missing_file_ends_it(self, root: Path, html: Path):
        page = root / "chapters" / "a.md"
        page.write_text("AB")
        assert not fresh.is_fresh(html, root)
        page.write_text("A")
        fresh.begin(html, root)
        fresh.end(html)
        (root / "code").mkdir()
        (root / "code" / "b.py").write_text("B")
        assert not fresh.is_fresh(html, root)
        (root / "code" / "b.py").unlink()
        assert fresh.is_fresh(html, root)
        page.unlink()
        assert not fresh.is_fresh(html, root)

    def test_a_newer_file_of_the_same_length_ends_it(self, root: Path, html: Path):
        os.utime(root / "chapters" / "a.md", (1, 1))
        assert not fresh.is_fresh(html, root)

    def test_caches_do_not_count(self, root: Path, html: Path):
        (root / "chapters" / "__pycache__").mkdir()
        (root / "chapters" / "__pycache__" / "b.pyc").write_text("B")
        assert fresh.is_fresh(html, root)

    def test_another_repository_ends_it(
        self, root: Path, html: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("BOOK_REPOSITORY_URL", "https://example.org/a/b")
        assert not fresh.is_fresh(html, root)

    def test_a_change_during_the_build_ends_it(self, root: Path):
        html = root / "_build" / "html"
        fresh.begin(html, root)
        (root / "chapters" / "a.md").write_text("AB")
        fresh.end(html)
        assert not fresh.is_fresh(html, root)

    def test_no_pages_are_not_fresh(self, root: Path, html: Path):
        html.rmdir()
        assert not fresh.is_fresh(html, root)

    def test_the_command_answers_by_its_exit_code(
        self, root: Path, html: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(fresh, "ROOT", root)
        assert fresh.main([]) == 0
        assert fresh.main(["--begin"]) == 0
        assert fresh.main([]) == 1
        assert fresh.main(["--end"]) == 0
        assert fresh.main([]) == 0


class TestOwnNotebooks:
    @pytest.fixture
    def written(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Notebooks written once, by a build that writes one file and counts its calls."""
        self.calls = 0

        def build(source: Path, output: Path, builder: str) -> Path:
            self.calls += 1
            (output / "notebooks").mkdir()
            (output / "notebooks" / "a.ipynb").write_text(f"made {self.calls}")
            return output

        monkeypatch.setattr(notebooks, "build_strictly", build)
        folder = root / "_build" / "notebooks"
        assert notebooks.write_notebooks(root, folder) == 1
        return folder

    def test_nothing_is_built_when_nothing_changed(self, root: Path, written: Path):
        assert notebooks.write_notebooks(root, written) == 1
        assert self.calls == 1

    def test_unchanged_ones_are_written_anew(self, root: Path, written: Path):
        (root / "chapters" / "a.md").write_text("AB")
        notebooks.write_notebooks(root, written)
        assert (written / "a.ipynb").read_text() == "made 2"
        assert not (root / "mine").exists()

    def test_changed_ones_move_and_nothing_is_overwritten(
        self, root: Path, written: Path, capsys: pytest.CaptureFixture[str]
    ):
        (written / "a.ipynb").write_text("my work")
        (written / "Untitled.ipynb").write_text("my own")
        notebooks.write_notebooks(root, written)
        assert (written / "a.ipynb").read_text() == "my work"  # nothing else changed: it stays
        for text in ("AB", "ABC"):
            (root / "chapters" / "a.md").write_text(text)
            notebooks.write_notebooks(root, written)
            (written / "a.ipynb").write_text("my second work")
        mine = {path.name: path.read_text() for path in (root / "mine").iterdir()}
        assert mine == {
            "a.ipynb": "my work", "a_2.ipynb": "my second work", "Untitled.ipynb": "my own",
        }  # fmt: skip
        assert "you changed a.ipynb; it is in" in capsys.readouterr().out

    def test_a_build_that_fails_takes_nothing_away(
        self, root: Path, written: Path, monkeypatch: pytest.MonkeyPatch
    ):
        def fail(*_: object) -> Path:
            raise ChapterError("the pages did not build")

        monkeypatch.setattr(notebooks, "build_strictly", fail)
        (root / "chapters" / "a.md").write_text("AB")
        (written / "a.ipynb").write_text("my work")
        with pytest.raises(ChapterError):
            notebooks.write_notebooks(root, written)
        assert (written / "a.ipynb").read_text() == "my work"
