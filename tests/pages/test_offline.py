# SPDX-License-Identifier: MIT
"""The pack for reading without a network holds what a disk needs, and nothing else."""

import zipfile
from pathlib import Path

import pytest

from tools.chapters.store import ChapterError
from tools.editions import offline


def small_build(folder: Path) -> Path:
    """Make a folder that looks like built pages."""
    for name in ("index.html", "_static/a.js", "_static/m.mjs", "_static/w.safetensors.gz",
                 "_static/w.safetensors.gz.js", ".doctrees/a.pickle",
                 "notebooks/one.ipynb"):  # fmt: skip
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    return folder


def test_what_only_a_server_can_give_is_left_out(tmp_path: Path):
    offline.pack(small_build(tmp_path / "html"), tmp_path / "book.zip")
    with zipfile.ZipFile(tmp_path / "book.zip") as packed:
        names = {Path(name).name for name in packed.namelist()}
    assert names == {"README.txt", "index.html", "a.js", "w.safetensors.gz.js", "one.ipynb"}


def test_two_packs_are_equal(tmp_path: Path):
    html = small_build(tmp_path / "html")
    for name in ("one.zip", "two.zip"):
        offline.pack(html, tmp_path / name)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_without_pages_it_says_what_to_do_and_keeps_the_old_pack(tmp_path: Path, capsys):
    old = tmp_path / "book.zip"
    old.write_text("old", encoding="utf-8")
    assert offline.main(["--html", str(tmp_path), "--to", str(old)]) == 1
    assert "make book first" in capsys.readouterr().err
    assert old.read_text(encoding="utf-8") == "old"
    with pytest.raises(ChapterError, match="expected built pages"):
        offline.pack(tmp_path, old)
