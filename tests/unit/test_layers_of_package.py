# SPDX-License-Identifier: MIT
"""The package stands in layers, imports lead downwards, and its pictures show what is there."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

import make_architecture
import package_layers
from package_layers import Import, Layer
from pretrain.paths import ROOT

LAYERS = package_layers.read_layers()
IMPORTS = package_layers.imports_of()
PAGE = (ROOT / "chapters" / "architecture.md").read_text(encoding="utf-8")


def test_every_module_is_in_exactly_one_layer() -> None:
    """And the table names no module that is gone."""
    placed = Counter(module for layer in LAYERS for module in layer.modules)
    assert set(package_layers.modules_of()) - set(placed) == set(), "add them to tools/layers.toml"
    assert set(placed) - set(package_layers.modules_of()) == set()
    assert [module for module, n in placed.items() if n > 1] == []
    assert len({layer.name for layer in LAYERS}) == len(LAYERS)


def test_imports_lead_downwards() -> None:
    """From a layer to itself or to one below; and no modules import each other in a circle."""
    assert len(IMPORTS) > 200
    assert package_layers.upward(LAYERS, IMPORTS) == []
    assert package_layers.cycle(IMPORTS) == []


def test_imports_inside_functions_are_listed_with_their_reason() -> None:
    """They are no way around the layers without a word."""
    found = {f"{one.importing} -> {one.imported}" for one in IMPORTS if one.inside}
    excused = package_layers.read_excused()
    assert found == set(excused)
    assert all(len(reason) > 20 for reason in excused.values())


def test_imports_name_the_whole_path() -> None:
    """The tool reads `pretrain.masks`; a relative import it would overlook."""
    for path in (ROOT / "code" / "pretrain").rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        assert not [n for n in nodes if isinstance(n, ast.ImportFrom) and n.level], path.name


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """Give a package with a low and a high module, a folder, and every form of import."""
    folder = tmp_path / "code" / "pretrain"
    (folder / "many").mkdir(parents=True)
    for name, text in {
        "__init__.py": "",
        "low.py": "import os\n\ndef late():\n    from pretrain import high\n",
        "high.py": "from pretrain.low import late\nimport pretrain.many.one\n",
        "many/__init__.py": "",
        "many/one.py": "from pretrain.many import two\nfrom pretrain import low\n",
        "many/two.py": "",
    }.items():
        (folder / name).write_text(text)
    return tmp_path


def test_the_tool_finds_what_is_planted(planted: Path) -> None:
    """Imports of each form, those inside functions told apart, those inside a folder left out."""
    assert package_layers.modules_of(planted) == ["high", "low", "many"]
    found = package_layers.imports_of(planted)
    assert found == [
        Import("high", "low", False),
        Import("high", "many", False),
        Import("low", "high", True),
        Import("many", "low", False),
    ]
    upside_down = [Layer("above", "", ("low",)), Layer("below", "", ("high", "many"))]
    assert package_layers.upward(upside_down, found) == [
        Import("high", "low", False),
        Import("many", "low", False),
    ]
    assert package_layers.between_layers(upside_down, found) == {(1, 0): 2}
    assert package_layers.cycle(found) == []
    assert set(package_layers.cycle([*found, Import("low", "high", False)])) >= {"high", "low"}


def test_the_command_says_what_is_wrong(
    planted: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Modules without a layer first; then imports that lead upwards; then the exceptions."""
    assert package_layers.main() == 0
    assert "inside a function: train_data -> datasets (only who" in capsys.readouterr().out
    monkeypatch.setattr(package_layers, "modules_of", lambda *_: ["low", "new"])
    assert package_layers.main() == 1
    assert "new: in no layer" in capsys.readouterr().out
    monkeypatch.setattr(package_layers, "modules_of", lambda *_: [])
    monkeypatch.setattr(package_layers, "imports_of", lambda: [Import("masks", "gpt", False)])
    assert package_layers.main() == 1
    assert "masks -> gpt: upwards" in capsys.readouterr().out


@pytest.mark.parametrize("name", [make_architecture.ARCHITECTURE, make_architecture.NUMBER])
def test_a_picture_shows_what_is_there(name: str, tmp_path: Path) -> None:
    """Its note is the hash of what would be drawn now; `tools/make_architecture.py` renews it."""
    stored = make_architecture.ASSETS / name
    assert stored.stat().st_size <= 100_000
    make_architecture.main(tmp_path)
    with Image.open(stored) as one, Image.open(tmp_path / name) as other:
        note = make_architecture.drawn_from(name)
        assert one.text["drawn-from"] == note, "run python tools/make_architecture.py"
        assert other.text["drawn-from"] == note
        assert one.size == other.size
    assert f"```{{image}} assets/{name}\n:alt: " in PAGE


def test_the_hash_follows_layers_and_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    """One layer more, or some imports less, and the picture is old."""
    before = make_architecture.drawn_from(make_architecture.ARCHITECTURE)
    kept = [one for one in IMPORTS if one.importing != "gpt"]
    monkeypatch.setattr(make_architecture, "imports_of", lambda: kept)
    fewer = make_architecture.drawn_from(make_architecture.ARCHITECTURE)
    monkeypatch.setattr(make_architecture, "read_layers", lambda: [LAYERS[0], *LAYERS])
    more = make_architecture.drawn_from(make_architecture.ARCHITECTURE)
    assert len({before, fewer, more}) == 3


def test_every_step_of_a_number_has_a_test() -> None:
    """The files exist, and say themselves what they hold."""
    steps = package_layers.read_steps()
    assert steps[0].what == "data/sources.toml"
    assert [step.test for step in steps if not (ROOT / step.test).is_file()] == []
    alternative = re.findall(r":alt: (.+)", PAGE)[1]
    assert [step.test for step in steps if Path(step.test).stem not in alternative] == []


def test_the_page_says_in_words_what_the_picture_shows() -> None:
    """All layers, from the top down, and every pair of layers that it speaks of is true."""
    alternative = re.findall(r":alt: (.+)", PAGE)[0]
    assert " - " + ", ".join(layer.name for layer in LAYERS) + "." in alternative
    names = [layer.name for layer in LAYERS]
    pairs = package_layers.between_layers(LAYERS, IMPORTS)
    for of in ("training", "using", "models"):
        words = re.search(rf"{of}(?: leads)? into ([\w, ]+)", alternative, re.IGNORECASE)
        assert words, of
        said = set(re.findall(r"\w+", words[1])) & set(names)
        assert said == {names[b] for a, b in pairs if names[a] == of}


def test_the_page_names_the_folders_that_there_are() -> None:
    """Each row of its table is a folder of the repository."""
    rows = re.findall(r"^\| ((?:`[.\w]+/`(?:, )?)+) \|", PAGE, re.M)
    folders = {name for row in rows for name in re.findall(r"`([.\w]+)/`", row)}
    assert len(folders) >= 11
    assert {name for name in folders if not (ROOT / name).is_dir()} == set()
    kept = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] not in "._"}
    assert kept - folders - {"node_modules", "runs"} == set()
