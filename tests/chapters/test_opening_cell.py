# SPDX-License-Identifier: MIT
"""The cell that opens every notebook: silent where the package is, complete where it is not."""

import base64
import builtins
import hashlib
import importlib.util
import json
import os
import runpy
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tools.chapters import bring_package, fingerprints, opening_cell, store

NOTEBOOKS = store.notebook_paths()
IMPORTING = "# 7 A chapter\n\n```{code-cell} python\nfrom pretrain.masks import causal_mask\n```\n"


# A build backend that hands out a finished wheel: the test then needs no setuptools.
BACKEND = """\
import shutil
from pathlib import Path

def build_editable(folder, config_settings=None, metadata_directory=None):
    wheel = next(Path(__file__).parent.glob("*.whl"))
    return Path(shutil.copy(wheel, folder)).name
"""
NEEDED = ("torch>=2.6", "numpy>=1.26", "matplotlib>=3.8")
FOR_CHAPTERS = ("peft>=0.17", "gguf", "pooch>=1.8")


def write_project(folder: Path, address: str = "") -> Path:
    """A repository with an address, a package of one line, and the script of the opening cell."""
    (folder / "code" / "pretrain").mkdir(parents=True)
    (folder / "code" / "pretrain" / "__init__.py").write_text("HERE = 1\n")
    (folder / "tools" / "chapters").mkdir(parents=True)
    (folder / "chapters").mkdir()
    script = store.ROOT / "tools" / "chapters" / "bring_package.py"
    (folder / "tools" / "chapters" / script.name).write_bytes(script.read_bytes())
    (folder / "backend.py").write_text(BACKEND)
    needs = [*NEEDED, *(f"{one}; extra == 'chapters'" for one in FOR_CHAPTERS)]
    write_wheel(folder, "pretrain_book-0.1.0", needs, pth=f"{folder / 'code'}\n")
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        '[project]\nname = "pretrain-book"\nversion = "0.1.0"\n'
        f"dependencies = {list(NEEDED)}\n"
        f"[project.optional-dependencies]\nchapters = {list(FOR_CHAPTERS)}\n"
        f'[project.urls]\nRepository = "{address}"\n'
    )
    return folder


def write_wheel(folder: Path, named: str, needs: Sequence[str] = (), pth: str = "") -> Path:
    """A wheel, such as "torch-2.8.0", with one module, or with a .pth file."""
    name, version = named.split("-")
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {one}\n" for one in needs)
    metadata += "Provides-Extra: chapters\n" if pth else ""
    wheel = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    module = {f"{name}.pth": pth} if pth else {f"{name}.py": f"VERSION = {version!r}\n"}
    files = {**module, f"{info}/METADATA": metadata, f"{info}/WHEEL": wheel}
    record = f"{info}/RECORD,,\n"
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        record += f"{path},sha256={digest.decode()},{len(text)}\n"
    file = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        for path, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(path, text)
    return file


class TestPlace:
    @pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
    def test_every_notebook_that_imports_the_package_has_it_once(self, path: Path):
        notebook = store.read_notebook(path)
        places = [i for i, cell in enumerate(notebook.cells) if opening_cell.is_opening(cell)]
        assert places == ([opening_cell.PLACE] if opening_cell.needs_opening(notebook) else [])

    def test_twins_do_not_hold_it(self):
        for path in store.twin_paths():
            assert "_bring_package" not in path.read_text(encoding="utf-8")

    def test_notebook_and_back(self, tmp_path: Path):
        twin = tmp_path / "07_planted.md"
        twin.write_text(IMPORTING, encoding="utf-8")
        notebook = store.read_twin(twin)
        assert [opening_cell.is_opening(cell) for cell in notebook.cells] == [False, True, False]
        store.write_twin(twin, notebook)
        assert twin.read_text(encoding="utf-8").strip() == IMPORTING.strip()

    def test_another_address_makes_no_chapter_stale(self, tmp_path: Path):
        twin = tmp_path / "07_planted.md"
        twin.write_text(IMPORTING, encoding="utf-8")
        notebook = store.read_twin(twin)
        before = fingerprints.code_fingerprint(notebook)
        notebook.cells[1] = opening_cell.opening_cell("https://example.org/a/b")
        assert fingerprints.code_fingerprint(notebook) == before

    def test_address_comes_from_the_project(self, tmp_path: Path):
        root = write_project(tmp_path / "a", "https://example.org/a/b")
        assert opening_cell.repository_address(root / "pyproject.toml") == "https://example.org/a/b"
        assert opening_cell.repository_address(store.ROOT / "pyproject.toml") == ""
        cell = opening_cell.opening_cell("https://example.org/a/b")
        assert 'address="https://example.org/a/b"' in cell.source


@pytest.fixture
def run_cell(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], str]:
    """Run the opening cell in an empty folder where the package is not known; return its words."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.delenv("BOOK_REPOSITORY_URL", raising=False)
    script = tmp_path_factory.mktemp("cell") / "cell.py"

    def run(address: str = "", wanted: str = opening_cell.BOOK) -> str:
        """Return what a notebook shows: the lines of the error, or nothing."""
        script.write_text(opening_cell.opening_cell(address, wanted).source, encoding="utf-8")
        try:
            runpy.run_path(str(script))
        except Exception as error:
            lines = error._render_traceback_()
            assert len(lines) == 1, lines
            return lines[0]
        return ""

    return run


def write_repository(folder: Path, script: str = "def bring(root):\n    print('brought', root)\n"):
    """A git repository that holds a script of the opening cell's name."""
    path = folder / "tools" / "chapters" / "bring_package.py"
    path.parent.mkdir(parents=True)
    path.write_text(script)
    who = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "All"]):
        subprocess.run(["git", "-C", str(folder), *command], check=True)
    return folder


class TestBringing:
    def test_it_clones_once_and_runs_the_script(
        self, run_cell: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ):
        address = str(write_repository(tmp_path / "published"))
        assert run_cell(address) == ""
        assert capsys.readouterr().out == (
            f"Bringing the book from {address}\nbrought {tmp_path / 'book'}\n"
        )
        assert run_cell("") == ""  # the clone of the first run is found
        assert capsys.readouterr().out == f"brought {tmp_path / 'book'}\n"

    def test_a_notebook_inside_the_book_takes_that_book(
        self, run_cell: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        (write_repository(tmp_path / "mine") / "notebooks").mkdir()
        monkeypatch.chdir(tmp_path / "mine" / "notebooks")
        assert run_cell("https://example.org/never/asked") == ""
        assert not (tmp_path / "mine" / "notebooks" / "book").exists()

    def test_a_stopped_clone_is_no_book(self, run_cell: Callable[..., str], tmp_path: Path):
        (tmp_path / "book.part" / ".git").mkdir(parents=True)
        assert run_cell(str(write_repository(tmp_path / "published"))) == ""
        assert not (tmp_path / "book.part").exists()

    def test_another_folder_of_that_name_is_left_alone(
        self, run_cell: Callable[..., str], tmp_path: Path
    ):
        (tmp_path / "book").mkdir()
        (tmp_path / "book" / "novel.txt").write_text("mine")
        said = run_cell(str(write_repository(tmp_path / "published")))
        assert (
            said
            == f"Stopped: {tmp_path / 'book'} is not the book. Rename it, then run this cell again"
        )
        assert (tmp_path / "book" / "novel.txt").read_text() == "mine"

    def test_no_address(
        self, run_cell: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ):
        monkeypatch.setattr(builtins, "input", lambda _: " ")
        said = run_cell(wanted=opening_cell.EDITION)
        assert said == (
            "Stopped: no address. Address of your class's edition goes into this cell,"
            " after address="
        )

        def nobody(_: str) -> str:
            raise EOFError

        monkeypatch.setattr(builtins, "input", nobody)
        assert "no address" in run_cell()
        assert not list(tmp_path.iterdir())

    def test_a_wrong_address(self, run_cell: Callable[..., str], tmp_path: Path):
        said = run_cell(str(tmp_path / "nowhere"))
        assert said.startswith("Stopped: check the address and the network; git says: ")
        assert not (tmp_path / "book").exists()

    def test_an_address_of_something_else(self, run_cell: Callable[..., str], tmp_path: Path):
        other = write_repository(tmp_path / "other")
        moved = ["git", "-C", str(other), "mv", "tools/chapters/bring_package.py", "a.py"]
        subprocess.run(moved, check=True)
        who = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        subprocess.run(["git", "-C", str(other), *who, "commit", "-q", "-m", "Move"], check=True)
        said = run_cell(str(other))
        assert said.endswith("is not the book: it has no tools/chapters/bring_package.py")
        assert not (tmp_path / "book").exists()

    def test_no_git(self, run_cell: Callable[..., str], monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(shutil, "which", lambda _: None)
        said = run_cell("https://example.org/a/b")
        assert said == "Stopped: git is missing. Install it, then run this cell again"


class TestMessages:
    def test_what_was_replaced_is_said(self):
        before = {"a": "1", "never-loaded": "0.21.4", "pytest": "8.0"}
        after = {
            "a": "1",
            "never-loaded": "0.23.1",
            "pytest": "9.2",
            "peft": "1",
            "pretrain-book": "1",
        }
        assert bring_package.changes(before, after) == [
            "The book's package is installed, with 1 more.",
            "Replaced: never-loaded 0.21.4 → 0.23.1, pytest 8.0 → 9.2.",
            "Restart the kernel before you go on: it has loaded pytest.",
        ]
        assert len(bring_package.changes(after, after)) == 1

    def test_an_old_python_is_named(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
        monkeypatch.setattr(sys, "version_info", (3, 10, 9))
        with pytest.raises(bring_package.BringError, match=r"needs Python 3.11 or newer, this is"):
            bring_package.bring(tmp_path)

    @pytest.mark.parametrize(
        ("said", "reason"),
        [
            (["Collecting a", "ERROR: No b"], "No b"),
            (["WARNING: Retrying (…)", "ERROR: No b"], "its index does not answer; is there a net"),
            (["x/python: No module named pip"], "this Python has no pip; python -m ensurepip"),
            (["killed"], "killed"),
        ],
    )
    def test_why_pip_failed(self, said: list[str], reason: str):
        found = bring_package._reason(said)
        assert found.startswith(reason)
        assert "\n" not in found


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "  Downloading numpy-2.4.6-cp311-cp311-linux_x86_64.whl (16.9 MB)",
            "numpy 2.4.6 (16.9 MB)",
        ),
        (
            "Downloading https://download-r2.example/whl/torch-2.13.0%2Bcpu-cp311.whl (184 MB)",
            "torch 2.13.0+cpu (184 MB)",
        ),
        ("  Downloading six-1.17.0-py2.py3-none-any.whl (11 kB)", ""),
        ("Installing collected packages: six", ""),
    ],
)
def test_a_large_file_is_named_whatever_its_address(line: str, told: str):
    assert bring_package._arrival(line) == told


class TestVersions:
    @pytest.mark.parametrize(
        ("has", "least", "enough"),
        [
            ("2.9.0+cu128", "2.6", True),
            ("2.10.0", "2.9", True),
            ("2.5.1", "2.6", False),
            ("4", "4.0.0", True),
            ("1.0rc1", "", True),
            ("", "", False),
        ],
    )
    def test_compared_as_numbers(self, has: str, least: str, enough: bool):
        assert bring_package.is_enough(has, least) is enough

    def test_requirements_of_the_project_are_understood(self):
        needed = bring_package.requirements(store.ROOT / "pyproject.toml")
        assert needed["torch"]
        assert {"numpy", "transformers", "ipywidgets", "pooch"} <= set(needed)
        assert "jupyterlab" not in needed  # Colab has a front end of its own

    def test_another_form_is_refused(self, tmp_path: Path):
        root = write_project(tmp_path / "a")
        text = (root / "pyproject.toml").read_text()
        (root / "pyproject.toml").write_text(text.replace("torch>=2.6", "torch~=2.6"))
        with pytest.raises(ValueError, match=r"got 'torch~=2\.6'"):
            bring_package.requirements(root / "pyproject.toml")

    def test_only_what_is_never_touched_is_pinned(self, monkeypatch: pytest.MonkeyPatch):
        there = {"torch": "2.8.0+cu128", "numpy": "2.0.2", "tokenizers": "0.21.4"}
        monkeypatch.setattr(bring_package, "installed", lambda name: there.get(name, ""))
        needed = {"torch": "2.6", "tokenizers": "0.21", "transformers": "5"}
        assert bring_package.kept(needed) == ["torch==2.8.0+cu128", "numpy==2.0.2"]

    def test_too_old_a_torch_is_named_and_not_replaced(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(
            bring_package, "installed", lambda name: {"torch": "2.1.0"}.get(name, "")
        )
        with pytest.raises(bring_package.BringError, match=r"torch>=2.6, and 2.1.0 is installed"):
            bring_package.kept({"torch": "2.6"})


@dataclass(frozen=True)
class Elsewhere:
    """An environment with a torch, a NumPy and a matplotlib of other versions than ours."""

    folder: Path
    """Holds the environment `env`, an index `wheels` and a repository `book`."""

    def run(self, *command: str) -> str:
        """Run its Python in the book's folder of chapters, without network."""
        foreign = ("PIP_", "PYTHONPATH")
        ours = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        closed = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PYTHONNOUSERSITE": "1"}
        done = subprocess.run(
            [str(self.folder / "env" / "bin" / "python"), *command],
            cwd=self.folder / "book" / "chapters",
            env=ours | closed | {"PIP_FIND_LINKS": str(self.folder / "wheels")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def versions(self) -> dict[str, str]:
        """List what is installed."""
        listed = json.loads(self.run("-m", "pip", "list", "--format=json"))
        return {one["name"]: one["version"] for one in listed}


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Elsewhere:
    """Make the environment; the index offers what is newest in ours."""
    folder = tmp_path_factory.mktemp("elsewhere")
    write_project(folder / "book")
    for name, wheels in {"theirs": THEIRS, "wheels": OFFERED}.items():
        (folder / name).mkdir()
        for one in wheels:
            write_wheel(folder / name, one)
    write_wheel(folder / "wheels", "peft-0.20.0", ["torch>=1.13"])
    venv.create(folder / "env", with_pip=True)
    place = Elsewhere(folder)
    place.run("-m", "pip", "install", "--no-deps", *map(str, (folder / "theirs").iterdir()))
    return place


THEIRS = ("torch-2.8.0+cu128", "numpy-2.0.2", "matplotlib-3.8.4", "pooch-1.7.0")
OFFERED = ("torch-2.13.0", "numpy-2.4.6", "matplotlib-3.11.2", "pooch-1.9.0", "gguf-0.19.0")


@pytest.mark.slow
def test_missing_packages_come_and_torch_stays(elsewhere: Elsewhere):
    cell = opening_cell.opening_cell().source
    script = elsewhere.folder / "cell.py"
    script.write_text(f"{cell}\nimport pretrain\nprint(pretrain.HERE)\n", encoding="utf-8")
    printed = elsewhere.run(str(script))
    assert printed.endswith("\n1\n")  # the running interpreter sees the package
    assert "Missing or too old: peft, gguf, pooch\n" in printed
    assert "Replaced: pooch 1.7.0 → 1.9.0.\n" in printed
    found = elsewhere.versions()
    assert found["torch"] == "2.8.0+cu128"
    assert found["numpy"] == "2.0.2"
    assert found["matplotlib"] == "3.8.4"
    assert found["pooch"] == "1.9.0"  # theirs was too old
    assert (found["gguf"], found["peft"]) == ("0.19.0", "0.20.0")  # they were missing
    assert elsewhere.run(str(script)) == "1\n"  # the second time there is nothing to do


@pytest.mark.slow
def test_a_package_that_is_nowhere_is_pips_own_message(elsewhere: Elsewhere):
    (elsewhere.folder / "wheels" / "gguf-0.19.0-py3-none-any.whl").unlink()
    elsewhere.run("-m", "pip", "uninstall", "--yes", "--quiet", "gguf", "pretrain-book")
    script = elsewhere.folder / "book" / "tools" / "chapters" / "bring_package.py"
    with pytest.raises(AssertionError, match=r"^Stopped: pip ended with code 1:.*gguf"):
        elsewhere.run(str(script))
