# SPDX-License-Identifier: MIT
"""A chapter is stale when, and only when, something that its outputs depend on changed."""

import base64
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib import image
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tools.chapters import definitions, fingerprints, stale, store

FILES = {
    "pretrain/__init__.py": "from pretrain.models import Model as Network\n",
    "pretrain/base.py": "ONE = 1\nUNUSED = 2\n\n\ndef unreached():\n    return ONE\n",
    "pretrain/shapes.py": "from math import sqrt\n\n\ndef area(x):\n    return sqrt(x)\n",
    "pretrain/whole.py": "def anything():\n    return 1\n",
    "pretrain/models.py": (
        "from pretrain.registry import register\n\n\n"
        "class Model:\n    def size(self):\n        return 3\n\n\n"
        "class Other:\n    pass\n\n\n"
        "@register\ndef noted():\n    return 4\n"
    ),
    "pretrain/registry.py": "KNOWN = []\n\n\ndef register(one):\n    KNOWN.append(one)\n",
    "pretrain/annotated.py": "class Annotated:\n    WIDTH = 1\n",
    "pretrain/late.py": "def late():\n    return 5\n",
    "pretrain/double.py": '''\
"""What the module is for."""

from typing import TYPE_CHECKING

from pretrain import base
from pretrain.shapes import area

if TYPE_CHECKING:
    from pretrain.annotated import Annotated

SCALE = 2
"""How much."""


def double(x: "Annotated") -> int:
    """Double a number."""
    from pretrain.late import late

    return SCALE * base.ONE * area(x) * late()  # the plain way


def halve(x):
    return x / 2
''',
    "pretrain_book/__init__.py": "",
    "pretrain_book/exercises/__init__.py": "",
    "pretrain_book/exercises/ch07.py": "CHECKERS = {}\n",
    "pretrain_book/exercises/ch08.py": "CHECKERS = {}\n",
    "pretrain_lab/__init__.py": "",
    "pretrain_lab/room.py": "from .tools import *\n\n\ndef study():\n    return helper()\n",
    "pretrain_lab/tools.py": "def helper():\n    return 6\n",
    "pretrain_lab/spare.py": "def spare():\n    return 7\n",
}
CELL = """\
%matplotlib inline
from pretrain import Network, whole
from pretrain.double import double
from pretrain_lab.room import study

double(2)"""
PNG = "image/png"


@pytest.mark.parametrize("path", store.notebook_paths(), ids=lambda path: path.stem)
def test_chapter_is_fresh(path: Path):
    reasons = fingerprints.stale_reasons(path)
    assert reasons == [], f"make check CHAPTER={path.name[:2]} executes it again"


def test_lock_holds_the_chapters_in_its_one_form():
    lock = fingerprints.read_lock()
    assert set(lock) == {path.stem for path in store.notebook_paths()}
    written = (store.ROOT / fingerprints.LOCK).read_text(encoding="utf-8")
    assert written == fingerprints.lock_text(lock)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A repository with three packages' worth of modules, a data file and a fresh chapter."""
    for name, text in FILES.items():
        (tmp_path / "code" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "code" / name).write_text(text, encoding="utf-8")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "run.json").write_text("[1]", encoding="utf-8")
    (tmp_path / "chapters").mkdir()
    cell = new_code_cell(CELL, execution_count=1, outputs=[new_output("stream", text="4\n")])
    store.write_notebook(chapter_of(tmp_path), new_notebook(cells=[cell]))
    entry = fingerprints.take(chapter_of(tmp_path), ["data/run.json"], tmp_path)
    fingerprints.store("07_planted", entry, tmp_path)
    return tmp_path


def chapter_of(book: Path) -> Path:
    """Return the notebook."""
    return book / "chapters" / "07_planted.ipynb"


def edit(path: Path, old: str, new: str) -> None:
    """Replace a piece of a file that must be there."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


STALE = {
    "expression": ("pretrain/double.py", "SCALE * base", "3 * base", "pretrain.double"),
    "constant": ("pretrain/double.py", "SCALE = 2", "SCALE = 4", "pretrain.double"),
    "function behind it": ("pretrain/shapes.py", "(x):\n    return", "(x):\n    return 1 +", None),
    "import from elsewhere": ("pretrain/shapes.py", "math import", "cmath import", None),
    "import in a function": ("pretrain/late.py", "5", "6", "pretrain.late"),
    "module as an object": ("pretrain/base.py", "UNUSED = 2", "UNUSED = 3", "pretrain.base"),
    "imported by the cell": ("pretrain/whole.py", "return 1", "return 2", "pretrain.whole"),
    "method behind a re-export": ("pretrain/models.py", "return 3", "return 4", "pretrain.models"),
    "re-export": ("pretrain/__init__.py", "Model as", "Other as", "pretrain"),
    "registered on import": ("pretrain/models.py", "return 4", "return 5", "pretrain.models"),
    "what registers": ("pretrain/registry.py", "append(one)", "append(0)", "pretrain.registry"),
    "acting statement": ("pretrain/models.py", "class Model:", "print()\n\n\nclass Model:", None),
    "star": ("pretrain_lab/tools.py", "6", "7", "pretrain_lab.tools"),
    "other package": ("pretrain_lab/room.py", "helper()", "helper() + 1", "pretrain_lab.room"),
    "checker": ("pretrain_book/exercises/ch07.py", "{}", "{1: 2}", "pretrain_book.exercises.ch07"),
}
FRESH = {
    "comment": ("pretrain/double.py", "  # the plain way", ""),
    "docstring": ("pretrain/double.py", '"""Double a number."""', '"""Return it twice."""'),
    "module's docstring": ("pretrain/double.py", "What the module is for.", "Another sentence."),
    "constant's docstring": ("pretrain/double.py", '"""How much."""', ""),
    "brackets": ("pretrain/double.py", "SCALE * base.ONE", "(SCALE * base.ONE)"),
    "unreached function": ("pretrain/double.py", "x / 2", "x / 3"),
    "unreached class": ("pretrain/models.py", "    pass", "    WIDTH = 3"),
    "for type checkers alone": ("pretrain/annotated.py", "WIDTH = 1", "WIDTH = 2"),
    "unreached module": ("pretrain_lab/spare.py", "7", "8"),
    "checker of another chapter": ("pretrain_book/exercises/ch08.py", "{}", "{1: 2}"),
}


@pytest.mark.parametrize(("file", "old", "new", "module"), STALE.values(), ids=STALE)
def test_what_is_reached_counts(book: Path, file: str, old: str, new: str, module: str | None):
    edit(book / "code" / file, old, new)
    module = module or file.removesuffix(".py").replace("/", ".")
    assert f"module {module} changed" in fingerprints.stale_reasons(chapter_of(book), book)


@pytest.mark.parametrize(("file", "old", "new"), FRESH.values(), ids=FRESH)
def test_nothing_else_counts(book: Path, file: str, old: str, new: str):
    edit(book / "code" / file, old, new)
    assert fingerprints.stale_reasons(chapter_of(book), book) == []


def test_data_cells_and_outputs_count(book: Path):
    (book / "data" / "run.json").write_text("[2]", encoding="utf-8")
    edit(chapter_of(book), "double(2)", "double(3)")
    edit(chapter_of(book), r"4\n", r"5\n")
    changed = ["its cells changed", "its outputs changed", "data file data/run.json changed"]
    assert fingerprints.stale_reasons(chapter_of(book), book) == changed
    (book / "data" / "run.json").unlink()
    assert fingerprints.stale_reasons(chapter_of(book), book) == changed
    (book / fingerprints.LOCK).write_text("{}", encoding="utf-8")
    assert fingerprints.stale_reasons(chapter_of(book), book) == ["it is not in the lock"]


def test_what_tools_write_after_a_run_is_no_input(book: Path):
    names = ["data/runs/receipts.json", fingerprints.LOCK]
    assert fingerprints.data_fingerprints(names, book) == {}


def test_definitions_come_in_the_order_of_the_floors():
    code = store.ROOT / "code"
    found = definitions.reached(["pretrain.gpt:GPT"], code)
    modules = list(found)
    assert modules.index("pretrain.masks") < modules.index("pretrain.gpt") == len(modules) - 1
    names = {name for one in found["pretrain.gpt"] for name in definitions.bound_names(one)}
    assert {"GPT", "make_block", "F"} <= names


def test_an_unnamed_dynamic_import_counts_everything_it_may_mean(book: Path):
    text = 'import importlib\n\n\ndef load(x):\n    return importlib.import_module(f"%s{x}")\n'
    for begin, expected in (("pretrain_lab.sp", True), ("pretrain_book.exercises.", False)):
        (book / "code/pretrain/dynamic.py").write_text(text % begin, encoding="utf-8")
        found = definitions.reached(["pretrain.dynamic:load"], book / "code")
        assert ("pretrain_lab.spare" in found) is expected
        assert "pretrain_book.exercises.ch08" not in found


def test_no_class_is_registered_unseen():
    """What a subclass makes happen on import is not followed, so no class does anything there."""
    for path in (store.ROOT / "code").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "__init_subclass__" not in text
        assert "metaclass=" not in text


class TestCheck:
    """What happens to a stale chapter."""

    @pytest.fixture
    def run(self, executed: Path, tmp_path: Path) -> Callable[[], int]:
        """Check a copy of an executed chapter that is not in its lock."""
        shutil.copytree(executed.parent, tmp_path / "chapters")
        for name in ("code", "data"):
            (tmp_path / name).mkdir()
        self.lock, self.path = tmp_path / fingerprints.LOCK, chapter_of(tmp_path)
        return lambda: stale.main([], tmp_path)

    def test_equal_outputs_renew_the_lock_alone(self, run: Callable[[], int]):
        before = self.path.read_bytes(), self.path.stat().st_mtime_ns
        assert run() == 0
        assert (self.path.read_bytes(), self.path.stat().st_mtime_ns) == before
        assert list(json.loads(self.lock.read_text(encoding="utf-8"))) == ["07_planted"]
        renewed = self.lock.stat().st_mtime_ns
        assert run() == 0
        assert self.lock.stat().st_mtime_ns == renewed  # fresh: nothing is executed or written

    @pytest.mark.parametrize(
        ("old", "new", "said"),
        [
            (r"7\n", r"8\n", "cell 1 [1]: stored 'text: total: 8', now 'text: total: 7'"),
            ('"execution_count": 1', '"execution_count": null', "cell 1: stored count None"),
        ],
        ids=["output edited by hand", "count missing"],
    )  # fmt: skip
    def test_other_outputs_are_red_and_leave_the_lock(
        self, run: Callable[[], int], capsys: pytest.CaptureFixture, old: str, new: str, said: str
    ):
        edit(self.path, old, new)
        assert run() == 1
        assert said in capsys.readouterr().out
        assert not self.lock.exists()

    def test_a_conflict_in_the_lock_is_explained(self, run, capsys: pytest.CaptureFixture):
        self.lock.parent.mkdir()
        self.lock.write_text("<<<<<<< ours\n{}\n", encoding="utf-8")
        assert run() == 1
        assert "take either side" in capsys.readouterr().err


def picture(value: float, move: int = 0) -> str:
    """Return a small PNG with one dark pixel on a ground of one colour."""
    pixels = np.full((4, 4, 3), value)
    pixels[0, move] = 0
    stream = io.BytesIO()
    image.imsave(stream, pixels, format="png")
    return base64.b64encode(stream.getvalue()).decode()


@pytest.mark.parametrize(
    ("now", "tags", "differs"),
    [
        ({PNG: picture(0.5)}, [], False),
        ({PNG: picture(0.505)}, [], False),
        ({PNG: picture(0.6)}, [], True),
        ({PNG: picture(0.5, move=1)}, [], True),
        ({PNG: picture(0.5), "text/plain": "more"}, [], True),
        ({PNG: picture(0.5, move=1)}, ["nbval-ignore-output"], False),
    ],
    ids=["equal", "last bits", "another colour", "moved", "more text", "left out by its tag"],
)
def test_pictures_are_compared_too(now: dict[str, str], tags: list[str], differs: bool):
    def notebook(data: dict[str, str]):
        cell = new_code_cell("1", outputs=[new_output("display_data", data)])
        cell.metadata["tags"] = tags
        return new_notebook(cells=[cell])

    found = stale.differences(notebook({PNG: picture(0.5)}), notebook(now))
    assert bool(found) is differs


SVG = "image/svg+xml"
DRAWING = '<svg><text x="12.25" style="fill: #222222">4.5</text></svg>'


@pytest.mark.parametrize(
    ("now", "differs"),
    [
        (DRAWING, False),
        (DRAWING.replace("12.25", "12.26"), False),
        (DRAWING.replace("12.25", "13.25"), True),
        (DRAWING.replace("4.5", "4.6"), True),
        (DRAWING.replace("#222222", "#222228"), True),
        (DRAWING.replace("text", "path"), True),
    ],
    ids=["equal", "last digit", "moved", "another number", "another colour", "another part"],
)
def test_drawings_are_compared_too(now: str, differs: bool):
    def notebook(svg: str):
        return new_notebook(
            cells=[new_code_cell("1", outputs=[new_output("display_data", {SVG: svg})])]
        )

    assert bool(stale.differences(notebook(DRAWING), notebook(now))) is differs


def test_a_heat_map_inside_a_drawing_is_compared_pixel_by_pixel():
    def notebook(png: str):
        data = {SVG: f'<svg><image href="data:image/png;base64,{png}"/></svg>'}
        return new_notebook(cells=[new_code_cell("1", outputs=[new_output("display_data", data)])])

    stored = notebook(picture(0.5))
    assert stale.differences(stored, notebook(picture(0.505))) == []
    assert stale.differences(stored, notebook(picture(0.6))) != []
