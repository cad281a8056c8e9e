# SPDX-License-Identifier: MIT
"""The applets' files, joined for disks and versioned for servers, and what pages show of them."""

import base64
import gzip
import re
from pathlib import Path

import numpy as np
import pytest
from bs4 import BeautifulSoup
from chapter_places import applet_page
from safetensors.numpy import load, save_file

from book_pages.directives.applets import read_data, read_room
from book_pages.weight import applet_files
from book_pages.weight.bundle import BundleError, bundle, with_version
from tools.checks import pages

MODULES = {
    "a.mjs": 'import { three } from "./room/b-c.mjs";\nexport const four = three + 1;\n',
    "room/b-c.mjs": (
        'import { two as deux } from "../other/d.mjs";\nexport const three = deux() + 1;\n'
    ),
    "other/d.mjs": "const hidden = 2;\nexport function two() {\n  return hidden;\n}\n",
}


def written(folder: Path, modules: dict[str, str]) -> Path:
    """Write modules into a folder."""
    for name, source in modules.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(source, encoding="utf-8")
    return folder


class TestBundle:
    def test_a_module_comes_after_what_it_imports(self, tmp_path: Path):
        joined = bundle(written(tmp_path, MODULES))
        order = ["module_other_d = ", "module_room_b_c = ", "module_a = "]
        assert order == sorted(order, key=joined.index)
        assert "const { two: deux } = module_other_d;" in joined
        assert "import" not in joined
        assert "export" not in joined

    @pytest.mark.parametrize(
        ("source", "complaint"),
        [
            ('import x from "./b.mjs";', "expected only"),
            ("export default 3;", "expected only"),
            ("export { a };", "expected only"),
            ('import { a } from "./gone.mjs";', "gone.mjs is missing"),
            ('import { a } from "./room/../one.mjs";', "one.mjs imports itself"),
            ('import { a } from "./one.mjs";', "one.mjs imports itself"),
        ],
    )
    def test_forms_that_it_cannot_join_are_refused(
        self, source: str, complaint: str, tmp_path: Path
    ):
        with pytest.raises(BundleError, match=complaint):
            bundle(written(tmp_path, {"one.mjs": source + "\n"}))

    def test_imports_get_a_version(self):
        assert 'from "./room/b-c.mjs?v=1f";' in with_version(MODULES["a.mjs"], "?v=1f")
        assert 'from "../other/d.mjs?v=1f";' in with_version(MODULES["room/b-c.mjs"], "?v=1f")

    def test_the_books_modules_can_be_joined(self, repository: Path):
        folder = repository / applet_files.MODULES
        joined = bundle(folder)
        assert len(list(folder.rglob("*.mjs"))) == joined.count("const module_") + 1
        assert "module_engine_worker" not in joined, "a page from a disk has no worker"


def test_the_engine_knows_no_page(repository: Path):
    """What computes runs wherever JavaScript does: it imports the engine alone, draws nothing."""
    modules = sorted((repository / applet_files.MODULES / "engine").glob("*.mjs"))
    assert modules
    for path in modules:
        source = path.read_text(encoding="utf-8")
        assert not re.search(r'from "(?!\./[\w-]+\.mjs";$)', source, re.M), path.name
        assert not re.search(r"\b(?:document|window|location|ptBook)\.", source), path.name


def repository_with(folder: Path, value: float) -> Path:
    """Make the smallest repository that has a model and a module."""
    (folder / applet_files.MODULES).mkdir(parents=True)
    written(folder / applet_files.MODULES, {**MODULES, applet_files.START: "// starts\n"})
    (folder / applet_files.CHECKPOINTS).mkdir(parents=True)
    tensors = {"w": np.full((2, 3), value, np.float32), "steps": np.array(7)}
    path = folder / applet_files.CHECKPOINTS / "gpt_chars.safetensors"
    save_file(tensors, path, metadata={"pretrain": "{}"})
    return folder


class TestFiles:
    def test_weights_are_halved_and_counters_stay(self, tmp_path: Path):
        content = applet_files.contents(repository_with(tmp_path, 0.1))["gpt_chars.safetensors"]
        tensors = load(content)
        assert tensors["w"].dtype == np.float16
        assert np.allclose(tensors["w"], 0.1, rtol=1e-3)
        assert tensors["steps"] == 7

    def test_rounded_weights_keep_their_bytes(self, tmp_path: Path):
        root = repository_with(tmp_path, 0.1)
        path = root / applet_files.CHECKPOINTS / "gpt_chars.safetensors"
        save_file({"w": np.full((2, 3), 31, np.int8), "w.scale": np.full(2, 0.1, np.float32)},
                  path, metadata={"pretrain": "{}"})  # fmt: skip
        assert applet_files.contents(root)["gpt_chars.safetensors"] == path.read_bytes()

    def test_the_version_changes_with_a_model(self, tmp_path: Path):
        one = repository_with(tmp_path / "one", 0.1)
        two = repository_with(tmp_path / "two", 0.2)
        assert applet_files.version(one) != applet_files.version(two)

    def test_sizes_add_up(self, tmp_path: Path):
        root = repository_with(tmp_path, 0.1)
        assert applet_files.exists(root, "gpt_chars.safetensors")
        assert not applet_files.exists(root, "gone.safetensors")
        with pytest.raises(KeyError, match="gone"):
            applet_files.kilobytes(root, ["gone.safetensors"])


class TestPages:
    # a figure, a table, a list, or the states of a slider that stand one below the other
    STATIC = "img, table, svg, pre, ol, ul, .explore-state"

    def applets(self, html: Path) -> list[tuple[str, BeautifulSoup]]:
        """Find every applet of the book with its page."""
        return [
            (name, found)
            for name in sorted(pages.built_pages(html))
            for found in pages.parsed(html / name).select(".applet")
        ]

    def test_each_has_a_figure_or_table_and_a_sentence(self, html: Path):
        found = self.applets(html)
        assert found
        for name, one in found:
            assert one.select(self.STATIC), (name, one.name)
            assert any(p.get_text().rstrip().endswith(".") for p in one.select("p")), name

    def test_each_is_listed_on_the_page_of_live_models(self, html: Path):
        table = pages.parsed(html / "chapters" / "live.html").select_one("table")
        assert table is not None
        rows = table.select("tbody tr")
        listed = {row.select_one("a")["href"] for row in rows}
        found = self.applets(html)
        assert listed == {f"{Path(name).name}#{one['id']}" for name, one in found}
        assert len(rows) == len(found) == len({one["id"] for _, one in found})

    def test_the_folded_code_of_what_it_shows_comes_after_it(self, html: Path):
        element = pages.parsed(html / applet_page("generation")).select_one("#applet-generation")
        before, after = element.find_previous_sibling(), element.find_next_sibling()
        assert before.name == "p", "nothing stands between the question and the applet"
        assert "tag_hide-input" in after["class"]
        assert not after.select(".cell_output"), "which the applet shows already"

    def test_each_has_its_module_and_its_page_starts_it(self, html: Path):
        for name, one in self.applets(html):
            module = one.name.removeprefix("pt-")
            assert (html / "_static" / "applets" / f"{module}.mjs").is_file()
            starter = pages.parsed(html / name).select_one('script[src*="applets/start.js"]')
            assert starter is not None
            assert module in starter["data-applets"].split()

    def test_every_file_stands_there_for_a_disk_too(self, html: Path, repository: Path):
        models = html / "_static" / "applets" / "models"
        for name, content in applet_files.contents(repository).items():
            zipped = (models / f"{name}.gz").read_bytes()
            assert gzip.decompress(zipped) == content
            assert len(zipped) <= len(gzip.compress(content, 9))
            text = (models / f"{name}.gz.js").read_text(encoding="utf-8")
            assert base64.b64decode(text.split('"')[3]) == zipped

    def test_modules_ask_for_the_same_version_as_the_page(self, html: Path, repository: Path):
        version = applet_files.version(repository)
        sources = (repository / applet_files.MODULES).glob("*/*.mjs")
        modules = [
            (html / "_static" / "applets" / path.parent.name / path.name).read_text("utf-8")
            for path in sources
        ]
        imports = re.findall(r'^(?:import|export)\b[^;]*? from "(.*?)"', "\n".join(modules), re.M)
        assert len(imports) > len(modules)
        assert [name for name in imports if not name.endswith(version)] == []


class TestRoom:
    def test_a_module_says_how_high_its_first_view_is(self):
        assert read_room("class A {\n  static room = [455, 500];\n}") == (455, 500)
        assert read_room("class A {}") is None

    def test_the_page_keeps_it(self, html: Path, repository: Path):
        module = repository / applet_files.MODULES / "mask-fill.mjs"
        wide, narrow = read_room(module.read_text(encoding="utf-8"))
        element = pages.parsed(html / applet_page("mask-fill")).select_one("#applet-mask-fill")
        assert element["style"] == f"--room-wide: {wide}px; --room-narrow: {narrow}px"


class TestData:
    def test_pairs_become_attributes(self):
        assert read_data("") == {}
        assert read_data(" model=gpt  first-step=50 ") == {"model": "gpt", "first-step": "50"}

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("model", "such as model=gpt, got 'model'"),
            ("model=", "got 'model='"),
            ("Model=gpt", "got 'Model=gpt'"),
            ("size=3", "got 'size=3'"),
            ("a=1 a=2", "every name once"),
        ],
    )
    def test_other_forms_are_refused(self, text: str, complaint: str):
        with pytest.raises(ValueError, match=complaint):
            read_data(text)

    @pytest.mark.parametrize("model", ["gpt", "bert"])
    def test_the_element_carries_them(self, html: Path, model: str):
        page = applet_page("time-machine", f"model={model}")
        source = (html / page).read_text(encoding="utf-8")
        element = BeautifulSoup(source, "html.parser").find("pt-time-machine")
        assert element["data-model"] == model
        assert element["data-size"].startswith("loads ")
