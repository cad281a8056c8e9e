# SPDX-License-Identifier: MIT
"""Survivors are made again where they stood, and tried with the tests that there are now."""

from pathlib import Path

import pytest

import retry_mutants
from retry_mutants import RetryError, retry, variants

CODE = """def low(x):
    if x < 1:  # of two
        return 0
    return max(
        x,
        1,
    )


class Other:
    def low(self, x):
        if x < 1:  # of two
            return 5
        return x


def after():
    return 1
"""
OTHER = {"function": "after", "before": "return 1", "after": "return 2"}
BORDER = {"function": "low", "before": "if x < 1:  # of two", "after": "if x <= 1:  # of two"}


def test_every_place_of_a_line_is_changed_in_turn():
    first, second = variants(CODE, BORDER)
    assert first.replace("<= 1", "< 1", 1) == CODE
    assert second.index("<= 1") > second.index("class Other")


def test_several_lines_become_one():
    many = {"function": "low", "before": "x, 1,", "after": "x, 2,"}
    (text,) = variants(CODE, many)
    assert "        x, 2,\n    )" in text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"before": "return 1"}, "no line is 'return 1' now"),
        ({"after": "if x <"}, "invalid syntax"),
    ],
)
def test_what_cannot_be_made_again_is_named(change: dict[str, str], said: str):
    with pytest.raises(RetryError, match=said):
        variants(CODE, {**BORDER, **change})


class TestRetry:
    @pytest.fixture
    def source(self, tmp_path: Path) -> Path:
        """Make a copy with a module of its own name and its tests."""
        source = tmp_path / "src" / "pretrain_planted" / "small.py"
        source.parent.mkdir(parents=True)
        source.write_text(CODE, encoding="utf-8")
        (tmp_path / "tests").mkdir()
        return source

    @staticmethod
    def plant(source: Path, test: str) -> None:
        """Write the tests."""
        names = "from pretrain_planted.small import Other, after, low"
        text = f"{names}\n\n\ndef test_it():\n    {test}\n"
        (source.parents[2] / "tests" / "test_small.py").write_text(text, encoding="utf-8")

    def test_what_a_new_test_notices_is_no_survivor(self, source: Path):
        self.plant(source, "assert after() == 1")
        assert retry(source, [BORDER, OTHER], ["tests/test_small.py"]) == [BORDER]
        assert source.read_text(encoding="utf-8") == CODE

    def test_all_places_must_be_noticed(self, source: Path):
        self.plant(source, "assert low(1) == 1")
        assert retry(source, [BORDER], ["tests/test_small.py"]) == [BORDER]
        self.plant(source, "assert low(1) == Other().low(1) == 1")
        assert retry(source, [BORDER], ["tests/test_small.py"]) == []

    def test_tests_that_fail_without_a_change_stop_it(self, source: Path):
        self.plant(source, "assert after() == 2")
        with pytest.raises(RetryError, match="small: its tests fail before any change"):
            retry(source, [BORDER], ["tests/test_small.py"])

    def test_tests_that_do_not_end_have_noticed(self, source: Path, monkeypatch):
        monkeypatch.setattr(retry_mutants, "LIMIT", 1)
        self.plant(source, "while after() == 2: pass")
        assert retry(source, [OTHER], ["tests/test_small.py"]) == []
