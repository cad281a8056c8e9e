# SPDX-License-Identifier: MIT
"""The calculator of the page says what chapter 13 says, from the chapter's own constants."""

import ast
import json
import re
import shutil
from pathlib import Path

import pytest
from applets import SIZES_AND_THEMES, expect_message_without, find, focused_text, open_applet
from axe import axe_complaints
from bs4 import BeautifulSoup
from chapter_places import applet_page
from playwright.sync_api import Locator, Page, expect
from visiting import Visitor

from book_pages.weight.made_files import PUBLISHED, SCALING, made
from book_pages.weight.scaling_rules import RulesError, scaling_rules
from pretrain_lab.scaling.laws import Law, best_split

PAGE = applet_page("compute-budget")
MODULES = "_static/applets/start.js"  # a page so light that it opens at once
BUDGETS = [10.0**power for power in range(15, 28)]
UNITS = {"": 1, "million": 1e6, "billion": 1e9, "trillion": 1e12}
OWN = ("engine/scaling", "ui/scaling-plot", "ui/loss-valley", "compute-budget")
RUN = """async ([code, given]) => {
  globalThis.ptBook = { root: new URL("./", location).href, version: "" };
  const { getJson } = await import("./ui/files.mjs");
  const scaling = await import("./engine/scaling.mjs");
  const rules = new scaling.ScalingRules(await getJson("scaling_rules.json"));
  return new Function("rules", "scaling", "given", `return ${code}`)(rules, scaling, given);
}"""


@pytest.fixture(scope="module")
def rules(repository: Path) -> dict:
    """What the build reads from the chapter."""
    return scaling_rules(repository / SCALING, repository / PUBLISHED)


def law_of(rules: dict) -> Law:
    """Make the package's law of the constants."""
    return Law(**rules["refitted"])


def chapters_table(repository: Path) -> list[list[str]]:
    """Read the calculator's table from the chapter's stored output."""
    cells = json.loads((repository / SCALING).read_text(encoding="utf-8"))["cells"]
    pages = [
        "".join(output["data"]["text/html"])
        for cell in cells
        if cell["cell_type"] == "code"
        for output in cell["outputs"]
        if "text/html" in output.get("data", {})
    ]
    (page,) = [page for page in pages if "Parameters N and tokens D for a training budget" in page]
    lines = BeautifulSoup(page, "html.parser").select("tbody tr")
    return [[cell.get_text(strip=True) for cell in line.select("th, td")] for line in lines]


def number(text: str) -> float:
    """Read a number as the calculator writes it: 2.9 billion, 1,875, 2.1e17."""
    found, unit = re.fullmatch(r"([\d.,]+(?:e\d+)?)\s*([a-z]*)", text.strip()).groups()
    return float(found.replace(",", "")) * UNITS[unit]


def table_of(panel: Locator) -> dict[str, list[str]]:
    """Read the advice: line → one text for each rule."""
    lines = panel.locator(".rules tbody tr").all()
    return {line.locator("th").inner_text(): line.locator("td").all_inner_texts() for line in lines}


class TestConstants:
    def test_they_are_what_the_chapters_cells_say(self, repository: Path, rules: dict):
        cells = json.loads((repository / SCALING).read_text(encoding="utf-8"))["cells"]
        source = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
        names: dict[str, object] = {"Law": Law}
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "refitted":
                exec(compile(ast.Module([node], []), "cell", "exec"), names)
        assert names["refitted"] == law_of(rules)
        assert rules["fitted"] == [1e18, 1e22]

    def test_a_changed_cell_changes_them(self, repository: Path, tmp_path: Path, rules: dict):
        text = (repository / SCALING).read_text(encoding="utf-8")
        changed = text.replace("Law(1.8172,", "Law(1.9,").replace("budget / 120", "budget / 240")
        changed = changed.replace("** 0.73", "** 0.5").replace("budget / 4e14", "budget / 3e13")
        changed = changed.replace("$10^{18}$ and $10^{22}$", "$10^{17}$ and $10^{20}$")
        (tmp_path / "chapter.ipynb").write_text(changed, encoding="utf-8")
        found = scaling_rules(tmp_path / "chapter.ipynb", repository / PUBLISHED)
        assert found["refitted"] == {**rules["refitted"], "e": 1.9}
        assert found["tokens_per_parameter"] == 2 * rules["tokens_per_parameter"]
        assert found["kaplan"] == {**rules["kaplan"], "slope": 0.5}
        assert (found["speed"], found["fitted"]) == (3e13, [1e17, 1e20])

    @pytest.mark.parametrize(
        ("old", "new", "complaint"),
        [
            ("refitted = Law(", "other = Law(", "assigns refitted, got none"),
            ("twenty = np.sqrt(budget / 120)", "twenty = budget / 120", "expected twenty = np"),
            ("law behind the second was fitted", "law was made", "fitted range once, got 0"),
        ],
    )
    def test_a_rule_that_cannot_be_read_breaks_the_build(
        self, old: str, new: str, complaint: str, repository: Path, tmp_path: Path
    ):
        text = (repository / SCALING).read_text(encoding="utf-8")
        assert old in text
        (tmp_path / "chapter.ipynb").write_text(text.replace(old, new), encoding="utf-8")
        with pytest.raises(RulesError, match=re.escape(complaint)):
            scaling_rules(tmp_path / "chapter.ipynb", repository / PUBLISHED)

    def test_without_the_chapter_there_are_none(self, repository: Path, tmp_path: Path):
        (tmp_path / "data" / "tables").mkdir(parents=True)
        shutil.copy(repository / PUBLISHED, tmp_path / PUBLISHED)
        assert made(tmp_path) == {}

    def test_no_module_types_them(self, repository: Path, rules: dict):
        typed = [*rules["refitted"].values(), *rules["kaplan"].values(), rules["speed"]]
        typed += [rules["tokens_per_parameter"], 120, *rules["fitted"]]
        for name in OWN:
            path = repository / "chapters" / "applets" / f"{name}.mjs"
            code = re.sub(
                r"/\*.*?\*/|//[^\n]*|`[^`]*`|\"[^\"]*\"", "", path.read_text(), flags=re.S
            )
            numbers = {float(n.replace("_", "")) for n in re.findall(r"[\d_.]+(?:e\d+)?", code)
                       if re.fullmatch(r"\d[\d_]*\.?\d*(e\d+)?|\.\d+", n)}  # fmt: skip
            assert numbers, name
            assert not numbers & set(typed), name


class TestNumbers:
    @pytest.fixture
    def modules(self, visit: Visitor) -> Page:
        """A page that can import the modules."""
        return visit(MODULES, may_fail=True).page

    def test_the_rules_are_those_of_the_package(self, modules: Page, rules: dict):
        law, anchor = law_of(rules), rules["kaplan"]
        code = (
            "given.map((c) => [rules.advise(c), rules.lowestLoss(c), rules.days(c), rules.side(c)])"
        )
        for flops, (advice, lowest, days, side) in zip(
            BUDGETS, modules.evaluate(RUN, [code, BUDGETS]), strict=True
        ):
            n, d = best_split(law, flops)
            kaplan = anchor["parameters"] * (flops / anchor["flops"]) ** anchor["slope"]
            constant = (flops / (6 * rules["tokens_per_parameter"])) ** 0.5
            assert [rule["n"] for rule in advice] == pytest.approx([constant, n, kaplan], rel=1e-12)
            assert [6 * r["n"] * r["d"] for r in advice] == pytest.approx([flops] * 3, rel=1e-12)
            assert lowest == pytest.approx(float(law.loss(n, d)), rel=1e-12)
            assert days == pytest.approx(flops / rules["speed"] / 86_400, rel=1e-12)
            assert side == (flops > rules["fitted"][1]) - (flops < rules["fitted"][0])

    def test_how_far_a_training_is_from_the_best(self, modules: Page, rules: dict):
        law = law_of(rules)
        pairs = [(8e9, 15e12), (175e9, 300e9), (70e9, 1.4e12), (1e6, 1e9), (1e12, 1e10)]
        found = modules.evaluate(RUN, ["given.map(([n, d]) => rules.judge(n, d))", pairs])
        for (n, d), judged in zip(pairs, found, strict=True):
            assert judged["flops"] == pytest.approx(6 * n * d)
            assert judged["ratio"] == pytest.approx(d / n)
            assert judged["loss"] == pytest.approx(float(law.loss(n, d)), rel=1e-12)
            best = float(law.loss(*best_split(law, 6 * n * d)))
            assert judged["lowest"] == pytest.approx(best, rel=1e-12)
            cheaper = float(law.loss(*best_split(law, judged["share"] * 6 * n * d)))
            assert cheaper == pytest.approx(judged["loss"], rel=1e-9), "the share buys this loss"
            assert 0 < judged["share"] <= 1
        n, d = best_split(law, 1e21)
        (judged,) = modules.evaluate(RUN, ["given.map(([n, d]) => rules.judge(n, d))", [[n, d]]])
        assert judged["share"] == pytest.approx(1)

    def test_numbers_are_read_and_written(self, modules: Page):
        texts = ["5.76e23", " 70 billion ", "8E9", "1.4 Trillion", "300", "2.5e3 million"]
        texts += ["1e3", "1,000,000", "24,000", "1 000 000", "1,234.5 million"]
        got = modules.evaluate(RUN, ["given.map((text) => scaling.readNumber(text))", texts])
        expected = [5.76e23, 70e9, 8e9, 1.4e12, 300, 2.5e9, 1e3, 1e6, 24e3, 1e6, 1234.5e6]
        assert got == pytest.approx(expected)
        bad = ["", "0", "-3", "1,5", "1,5000", "many", "3 dozen", "1e999", "NaN"]
        code = """given.map((text) => { try { scaling.readNumber(text); } catch (error) {
          return error.message; } })"""
        for text, message in zip(bad, modules.evaluate(RUN, [code, bad]), strict=True):
            assert message.startswith("Expected a number above 0")
            assert message.endswith(f"got “{text}”.")
        values = [0.000029, 2.5, 19.9, 999, 996.4, 28_444, 999_999, 91_287_093, 4e9, 1.4e12, 2.1e17]
        assert modules.evaluate(RUN, ["given.map(scaling.written)", values]) == [
            *("0.000029", "2.5", "20", "1,000", "1,000", "28,000", "1.0 million", "91 million"),
            *("4.0 billion", "1.4 trillion", "2.1e17"),
        ]
        machines = {"count": 8, "hours": 168, "speed": 1e15, "share": 0.4}
        got = modules.evaluate(RUN, ["scaling.machineFlops(given)", machines])
        assert got == pytest.approx(8 * 168 * 3600 * 4e14)


class TestPanel:
    def test_all_budgets_of_the_chapter(self, visit: Visitor, repository: Path):
        panel = open_applet(visit(PAGE), "compute-budget")
        stored = chapters_table(repository)
        assert len(stored) == 8
        for flops, *columns, days in stored:
            panel.get_by_label("or type it").fill(flops)
            table = table_of(panel)
            shown = [
                number(text)
                for pair in zip(table["parameters"], table["tokens"], strict=True)
                for text in pair
            ]
            assert [f"{value:.1e}" for value in shown] == columns
            expect(panel.locator(".answers")).to_contain_text("4.0e14 operations a second")
            said = re.search(r"takes ([\d.,]+) days", panel.locator(".answers").inner_text())
            assert float(f"{float(days.replace(',', '')):.2g}") == number(said[1])

    @pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
    def test_it_opens_with_an_answer(self, visit: Visitor, rules: dict, width: int, theme: str):
        visited = visit(PAGE, width=width, theme=theme)
        panel = open_applet(visited, "compute-budget")
        law = law_of(rules)
        n, d = best_split(law, 1e21)
        table = table_of(panel)
        assert number(table["parameters"][1]) == pytest.approx(n, rel=0.05)
        assert table["loss (nats)"][1] == f"{float(law.loss(n, d)):.3f}"
        expect(panel).to_contain_text("Inside the fitted range, 1e18 to 1e22.")
        picture = panel.locator(".plot")
        expect(picture).to_have_attribute("aria-label", re.compile("You: 1.0e21 FLOPs"))
        for label in ("20 a parameter", "refitted law", "slope 0.73", "fitted here", "you"):
            expect(picture.locator("text", has_text=label)).to_have_count(1)
        dashes = picture.locator(".rule").evaluate_all(
            "(lines) => lines.map((line) => getComputedStyle(line).strokeDasharray)"
        )
        assert len(set(dashes)) == 3, "three line styles"
        for what in ("machines", "model"):
            panel.get_by_label("What do you know?").select_option(what)
            assert axe_complaints(visited.page, "pt-compute-budget") == []
            assert visited.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
            fits = """(panel) => panel.querySelector("table").getBoundingClientRect().right
              <= panel.getBoundingClientRect().right + 1"""
            assert panel.evaluate(fits)

    def test_slider_and_field_by_keyboard_alone(self, visit: Visitor):
        visited = visit(PAGE)
        panel = open_applet(visited, "compute-budget", by_keyboard=True)
        keyboard = visited.page.keyboard
        keyboard.press("Tab")
        keyboard.press("End")
        expect(panel.get_by_label("or type it")).to_have_value("1.0e27")
        expect(panel.locator(".answers")).to_contain_text("Outside the fitted range")
        expect(panel.locator(".answers")).to_contain_text("and above it")
        keyboard.press("Tab")
        keyboard.press("Control+a")
        keyboard.type("3e15")
        expect(panel.locator(".answers")).to_contain_text("and below it")
        slider = panel.get_by_role("slider", name="Budget")
        expect(slider).to_have_attribute("aria-valuetext", "3.0e15 FLOPs")
        assert float(slider.input_value()) == pytest.approx(15.5)
        keyboard.press("Control+a")
        keyboard.type("1,5")
        expect(panel.get_by_role("alert")).to_contain_text(
            "such as 5.76e23 or 70 billion, got “1,5”"
        )
        expect(panel.locator("table")).to_be_hidden()
        keyboard.press("Control+a")
        keyboard.type("1e20")
        expect(panel.get_by_role("alert")).to_have_text("")
        expect(panel.locator("table")).to_be_visible()
        assert focused_text(visited.page) == ""

    @pytest.mark.parametrize("typed", ["1e3", "70 billion", "1,000,000", "3e27"])
    def test_a_budget_of_which_the_rules_say_nothing_is_refused(self, visit: Visitor, typed: str):
        panel = open_applet(visit(PAGE), "compute-budget")
        panel.get_by_label("or type it").fill(typed)
        expect(panel.get_by_role("alert")).to_contain_text("Expected 1.0e15 to 1.0e27 FLOPs, got ")
        expect(panel.get_by_role("img").first).to_be_hidden()
        panel.get_by_label("What do you know?").select_option("machines")
        expect(panel.get_by_role("alert")).to_be_empty()
        panel.get_by_role("textbox", name="Accelerators").fill("1e15")
        expect(panel.get_by_role("alert")).to_contain_text("Expected 1.0e15 to 1.0e27 FLOPs")

    def test_slider_and_field_agree(self, visit: Visitor):
        panel = open_applet(visit(PAGE), "compute-budget")
        panel.get_by_label("or type it").fill("1,000,000,000,000,000,000")
        slider = panel.get_by_role("slider", name="Budget")
        expect(slider).to_have_attribute("aria-valuetext", "1.0e18 FLOPs")
        slider.fill("20.5")
        expect(panel.get_by_label("or type it")).to_have_value(f"{10**20.5:.1e}".replace("+", ""))

    def test_the_valley_is_walked_by_slider_and_by_mouse(self, visit: Visitor, rules: dict):
        visited = visit(PAGE)
        panel = open_applet(visited, "compute-budget")
        law = law_of(rules)
        n, _ = best_split(law, 1e21)
        said = panel.get_by_text("Drag along the valley")
        expect(said).to_contain_text("0.0 % above the lowest")
        sizes = panel.get_by_role("slider", name="Parameters")
        sizes.fill("1")
        loss, best = (float(law.loss(m, 1e21 / (6 * m))) for m in (10 * n, n))
        expect(said).to_contain_text(f"the loss is {loss:.3f} nats")
        expect(said).to_contain_text(f"{100 * (loss / best - 1):.1f} % above the lowest")
        valley = panel.locator(".valley")
        valley.scroll_into_view_if_needed()
        box = valley.bounding_box()
        middle = box["y"] + box["height"] / 2
        visited.page.mouse.move(box["x"] + box["width"] * 0.9, middle)
        visited.page.mouse.down()
        visited.page.mouse.move(box["x"] + box["width"] * 0.3, middle, steps=4)
        visited.page.mouse.up()
        assert float(sizes.input_value()) < -0.5
        expect(said).not_to_contain_text(f"the loss is {loss:.3f} nats")

    def test_the_budget_is_dragged_in_the_picture_of_the_rules(self, visit: Visitor):
        visited = visit(PAGE)
        panel = open_applet(visited, "compute-budget")
        plot = panel.locator(".plot")
        plot.scroll_into_view_if_needed()
        box = plot.bounding_box()
        visited.page.mouse.click(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2)
        expect(panel.get_by_label("or type it")).to_have_value("1.0e27")

    def test_a_published_model(self, visit: Visitor, rules: dict):
        panel = open_applet(visit(PAGE), "compute-budget")
        panel.get_by_label("What do you know?").select_option("model")
        panel.get_by_label("A published model").select_option(label="Chinchilla")
        said = panel.locator(".answers > [role=status]").first
        expect(said).to_contain_text("read 20 tokens a parameter")
        panel.get_by_role("textbox", name="Parameters").fill("8e9")
        panel.get_by_role("textbox", name="Tokens").fill("15 trillion")
        law = law_of(rules)
        loss = float(law.loss(8e9, 15e12))
        best = float(law.loss(*best_split(law, 6 * 8e9 * 15e12)))
        expect(said).to_contain_text(f"loss is {loss:.3f} nats")
        expect(said).to_contain_text(f"comes to {best:.3f}")
        expect(said).to_contain_text(f"{100 * (loss / best - 1):.1f} % above the lowest")
        expect(said).to_contain_text("1,900 tokens a parameter")

    def test_machines_and_hours(self, visit: Visitor):
        panel = open_applet(visit(PAGE), "compute-budget")
        panel.get_by_label("What do you know?").select_option("machines")
        panel.get_by_role("textbox", name="Accelerators").fill("1000")
        panel.get_by_role("textbox", name="Hours").fill("240")
        panel.get_by_role("textbox", name="Operations a second, at best").fill("5e14")
        panel.get_by_role("slider", name="Reached").fill("20")
        expect(panel.locator("caption")).to_contain_text(f"{1000 * 240 * 3600 * 1e14:.1e}"[:3])
        expect(panel.locator("caption")).to_contain_text("8.6e22 FLOPs")
        expect(panel.locator(".answers")).to_contain_text("One of these machines")
        expect(panel.locator(".answers")).to_contain_text("takes 10,000 days")

    def test_a_missing_file_gives_the_message(self, visit: Visitor):
        expect_message_without(visit, PAGE, "compute-budget", "**/scaling_rules.json*")

    def test_without_scripts_the_table_stays(self, visit: Visitor):
        applet = find(visit(PAGE, javascript=False), "compute-budget")
        expect(applet.locator("table")).to_contain_text("1e25")
        expect(applet.get_by_text("What three rules advise for eight budgets.")).to_be_visible()
        expect(applet.locator("button")).to_have_count(0)
