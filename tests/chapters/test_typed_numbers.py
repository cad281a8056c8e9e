# SPDX-License-Identifier: MIT
"""No measured number is typed into a chapter's prose; what looks like one has its reason."""

from pathlib import Path

import pytest

from tools.chapters import store, typed_numbers
from tools.chapters.typed_numbers import findings

TYPED = {
    "percentage": "On unseen plays it names 43 % of the characters.",
    "interval": "The difference is 0.04 [0.01, 0.07].",
    "bits": "The model needs 2.14 bits per character.",
    "range": "It falls by 0.2 to 0.4 nats.",
    "score": "After two epochs the accuracy is 0.81 on new films.",
    "ratio": "With the cache it is 3.5 times as fast.",
    "beside chance": "It is right in 43 %, where chance is 2 %.",
    "time": "The chapter takes 95 seconds.",
    "after a glued one": "Ours has {glue:text}`ours`, the other 12 points less.",
}
PASSES = {
    "glued": "It names {glue:text}`share` of the characters, and 15 % of the tokens were asked.",
    "cited": "BERT-Base reached 84.6 % on MNLI {cite:p}`devlin2019bert`.",
    "behind a citation": "So says {cite:t}`devlin2019bert`.\nThe gain was 4.6 points.",
    "assumed": "Suppose that a classifier is right.\nIt is so in 60 % of the cases.",
    "in a table that cites": ":::{table} Scores {cite:p}`x2019`\n:name: t\n\n| a | 84.6 % |\n:::",
    "points to a table": "In {numref}`tab-brt-glue` it lost 3.5 points.",
    "in code": "```{code-cell} python\nx = 3  # 43 %\n```",
    "in a formula": "$$\nx = 43 % bits\n$$ (eq-x)",
    "in mathematics": "The share is $43$ and `12 %` is code.",
    "by hand": "## By hand\n\nThe loss is 1.2 nats.",
    "exercise": ":::{exercise} One\n:label: ex-a-b\n\nA model has 43 %.\n:::",
    "interval's name": "With 95 % intervals over plays.",
    "chance": "Chance is 25 %.",
    "number format": "Its weights have 16 bits.",
}


def found_in(text: str, folder: Path) -> list[str]:
    """Give the numbers that look typed in a small chapter."""
    twin = folder / "04_planted.md"
    twin.write_text(f"# 4 A planted chapter\n\n{text}\n\nAn end.\n", encoding="utf-8")
    return [finding.number for finding in findings(twin)]


@pytest.mark.parametrize("text", TYPED.values(), ids=TYPED)
def test_a_typed_result_is_found(text: str, tmp_path: Path):
    assert len(found_in(text, tmp_path)) >= 1


@pytest.mark.parametrize("text", PASSES.values(), ids=PASSES)
def test_what_has_another_source_passes(text: str, tmp_path: Path):
    assert found_in(text, tmp_path) == []


def test_what_follows_an_equation_or_an_example_is_read_again(tmp_path: Path):
    text = "$$\nx\n$$ (eq-x)\n\n## By hand\n\nIt has 3 bits.\n\n## The run\n\nIt has 2.1 bits."
    assert found_in(text, tmp_path) == ["2.1 bits"]


def test_no_chapter_holds_a_typed_result_without_a_reason():
    assert typed_numbers.unexplained() == []


def test_every_exception_is_needed_and_has_its_reason():
    reasons = typed_numbers.allowed()
    sentences = {
        twin.stem: [finding.sentence for finding in findings(twin)] for twin in store.twin_paths()
    }
    unused = [
        (chapter, piece)
        for chapter, pieces in reasons.items()
        for piece in pieces
        if not any(piece in sentence for sentence in sentences.get(chapter, []))
    ]
    assert unused == []
    assert sum(map(len, reasons.values())) <= 3 * len(sentences), "exceptions stay few"
    assert all(len(why) >= 10 for pieces in reasons.values() for why in pieces.values())
