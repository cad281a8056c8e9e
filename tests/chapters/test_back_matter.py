# SPDX-License-Identifier: MIT
"""The appendices keep up with the chapters: glossary, misconceptions, reference card, index."""

import re
import tomllib
from pathlib import Path

import pytest
from pybtex.database import parse_file

from book_pages.directives import exercises
from tools.chapters import back_matter
from tools.chapters.back_matter import Bold, bold_terms, glossary, links, normal

NOT_TERMS = {  # bold for emphasis, as a run-in heading, or as one row of a list of rivals
    "Kneser–Ney of order 5", "Kneser–Ney of the best order", "No biases", "At scale",
    "GPT fills the middle", "worth 3.2 times the labels",
    "One Transformer, three questions", "worth $k$ times the labels", "First", "works", "detour",
    '"Simpler to train."', '"More general."', '"In context, for free."',
    "Split by source, and look for the give-away", "Ask what the model has read",
}  # fmt: skip
APPENDICES = (
    "notation", "glossary", "misconceptions", "reference_card", "recipes",
    "developments", "further_learning",
)  # fmt: skip


@pytest.fixture(scope="module")
def pages(repository: Path) -> dict[str, Path]:
    """The text of every page by name."""
    return {path.stem: path for path in back_matter.sources(repository)}


@pytest.fixture(scope="module")
def where(pages: dict[str, Path]) -> dict[str, str]:
    """The page of every label."""
    return {label: name for name, path in pages.items() for label in back_matter.labels(path)}


@pytest.fixture(scope="module")
def terms(pages: dict[str, Path]) -> list[Bold]:
    """Every bold term of the numbered chapters, quizzes and exercises left out."""
    chapters = [path for name, path in pages.items() if re.match(r"[0-8]\d_", name)]
    found = [bold for path in chapters for bold in bold_terms(path)]
    return [
        bold for bold in found if bold.term not in NOT_TERMS and not bold.section.endswith("-check")
    ]


def entries(pages: dict[str, Path]) -> dict[str, back_matter.Entry]:
    """The glossary by name, each name as it is compared."""
    return {normal(name): one for one in glossary(pages["glossary"]) for name in one.names}


def test_every_bold_term_is_in_the_glossary(pages: dict[str, Path], terms: list[Bold]):
    known = entries(pages)
    missing = {(bold.page, bold.term) for bold in terms if normal(bold.term) not in known}
    assert len(terms) > 150
    assert missing == set()


def test_every_entry_links_to_each_place_of_definition(
    pages: dict[str, Path], where: dict[str, str], terms: list[Bold]
):
    known = entries(pages)
    loose = []
    for bold in terms:
        entry = known.get(normal(bold.term))
        if entry is None:
            continue
        to_page = bold.page in entry.pages | {where.get(label) for label in entry.links}
        if bold.section not in entry.links if bold.section else not to_page:
            loose.append(bold)
    assert loose == []


def test_glossary_holds_nothing_else(pages: dict[str, Path], where: dict[str, str]):
    every = {normal(bold.term) for path in pages.values() for bold in bold_terms(path)}
    for entry in glossary(pages["glossary"]):
        assert any(normal(name) in every for name in entry.names), entry.names
        assert entry.links <= where.keys(), entry.names
    names = [normal(name) for entry in glossary(pages["glossary"]) for name in entry.names]
    assert len(set(names)) == len(names)


def test_an_unexplained_term_would_be_found(tmp_path: Path):
    twin = tmp_path / "04_planted.md"
    twin.write_text(
        "# 4 P\n\nA **first** term.\n\n(sec-p-one)=\n## One\n\n**Run in.** A **Second term**, and\n"
        "**12** of **three**.\n\n```{code-cell} python\nx = 2**3**4\n```\n\n| **cell** | 1 |\n"
    )
    assert bold_terms(twin) == [
        Bold("first", "04_planted", ""),
        Bold("Second term", "04_planted", "sec-p-one"),
        Bold("three", "04_planted", "sec-p-one"),
    ]
    assert normal("`Bytes`") == normal("byte")
    assert normal("bias") != normal("bia s")


@pytest.mark.parametrize("name", APPENDICES)
def test_every_link_of_an_appendix_leads_somewhere(
    name: str, pages: dict[str, Path], where: dict[str, str]
):
    found = links(pages[name].read_text(encoding="utf-8"))
    assert found
    assert [label for label in found if label not in where] == []


def test_every_misconception_is_corrected_by_a_page_of_the_book(
    pages: dict[str, Path], where: dict[str, str]
):
    text = pages["misconceptions"].read_text(encoding="utf-8")
    claims = [part.split("\n", 1) for part in re.split(r"^### ", text, flags=re.M)[1:]]
    assert len(claims) >= 20
    assert len({claim for claim, _ in claims}) == len(claims)
    for claim, correction in claims:
        assert re.fullmatch(r'".+[.?]"', claim), claim
        found = links(correction.split("\n## ")[0].split("\n(sec-")[0])
        assert found, claim
        assert [label for label in found if where.get(label, "misconceptions") in APPENDICES] == []


def test_every_recipe_has_a_source_or_says_that_it_has_none(pages: dict[str, Path]):
    lines = pages["recipes"].read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if re.match(r"\| (?!task|method)\w", line)]
    assert len(rows) >= 15
    assert [row for row in rows if "{cite:t}" not in row and "rule of thumb" not in row] == []


@pytest.mark.parametrize(
    ("page", "tables"),
    [
        ("91_specifications", ("specifications", "hyperparameters")),
        ("92_models_and_costs", ("zoo", "costs")),
    ],
)
def test_a_page_cites_the_sources_of_its_tables(
    page: str, tables: tuple[str, ...], pages: dict[str, Path], repository: Path
):
    text = pages[page].read_text(encoding="utf-8")
    cited = {key for keys in re.findall(r"\{cite:[tp]\}`([^`]+)`", text) for key in keys.split(",")}
    for table in tables:
        path = repository / "data" / "tables" / f"{table}.toml"
        (rows,) = tomllib.loads(path.read_text(encoding="utf-8")).values()
        assert {key for row in rows for key in row["sources"]} <= cited, table


def test_the_index_of_exercises_reads_what_a_chapter_offers():
    text = """:::{exercise} One title
:label: ex-p-one

What? *Hint.* Think.
:::

```{code-cell} python
check("ex-p-one", ...)
```

:::{solution-start} ex-p-one
:::

```{code-cell} python
1
```

:::{solution-end}
:::

::::{exercise-start} Another
:label: ex-p-two
::::

:::{solution} ex-p-two
No code.
:::
"""
    one, two = exercises.exercises_of(text)
    assert one == ("ex-p-one", "One title", True, True, "computed")
    assert two == ("ex-p-two", "Another", False, False, "written")
    assert exercises.chapter_lines("04_p", text)[0] == "{doc}`/chapters/04_p`"
    assert exercises.chapter_lines("04_p", "no exercise") == []


def test_every_exercise_of_the_book_is_in_the_index_with_its_solution(pages: dict[str, Path]):
    for name, path in pages.items():
        text = path.read_text(encoding="utf-8")
        found = list(exercises.exercises_of(text))
        assert len(found) == len(re.findall(r"^:label: ex-", text, re.M)), name
        assert [one.label for one in found if one.solution == "none"] == [], name


def test_bibliography_holds_what_is_cited_and_nothing_else(
    pages: dict[str, Path], repository: Path
):
    text = "".join(path.read_text(encoding="utf-8") for path in pages.values())
    lists = re.findall(r"\{cite:[a-z]+\}`([^`]+)`", text)
    cited = {key.strip() for keys in lists for key in keys.split(",")}
    bibliography = (repository / "chapters" / "references.bib").read_text(encoding="utf-8")
    keys = re.findall(r"^@\w+\{([^,]+),", bibliography, re.M)
    assert len(set(keys)) == len(keys)
    assert cited - set(keys) == set()
    assert set(keys) - cited == set()


def test_bibliography_is_read_entry_by_entry(repository: Path):
    path = repository / "chapters" / "references.bib"
    text = path.read_text(encoding="utf-8")
    assert len(parse_file(str(path)).entries) == len(re.findall(r"^@\w+\{", text, re.M))
