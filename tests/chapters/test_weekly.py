# SPDX-License-Identifier: MIT
"""The weekly report says what failed, and what nobody looked at."""

import json
from pathlib import Path

import pytest

import weekly


def steps(**outcomes: str) -> str:
    """Write GitHub's context of steps."""
    return json.dumps({name: {"outcome": how, "outputs": {}} for name, how in outcomes.items()})


def test_the_newest_versions_have_no_pin_but_a_needed_limit(repository: Path):
    files = [repository / name for name in ("pyproject.toml", "requirements.in")]
    found = weekly.newest(*(file.read_text(encoding="utf-8") for file in files))
    assert [one for one in found if "==" in one] == []
    assert {"torch", "jupyter-book<2", "pytest", "numpy>=1.26"} <= set(found)
    assert len(found) > 35


def test_every_module_has_its_week():
    modules = [f"module_{number}" for number in range(10)]
    slices = [weekly.week_slice(modules, week) for week in range(2000, 2004)]
    assert sorted(name for one in slices for name in one) == modules
    assert max(len(one) for one in slices) <= weekly.N_MODULES
    assert weekly.week_slice(modules, 2004) == slices[0]


def test_the_slice_of_this_week_is_listed(repository: Path, capsys: pytest.CaptureFixture[str]):
    weekly.main(["slice"])
    listed = (repository / "tools" / "mutation.toml").read_text(encoding="utf-8")
    named = capsys.readouterr().out.split()
    assert named
    assert all(f'"{name}"' in listed for name in named)


def test_a_job_hands_on_what_failed_and_what_did_not_run():
    assert weekly.note(steps(a="success", b="success")) == "passed"
    assert weekly.note(steps(a="success", b="failure", c="skipped")) == "b (failure), c (skipped)"
    assert weekly.note("{}") == "no step was reached"


def test_the_report_passes_only_what_passed():
    needs = {
        "versions": {"result": "success", "outputs": {"oldest": "passed", "newest": "b (failure)"}},
        "deeper": {"result": "failure", "outputs": {"deeper": "passed"}},
        "silent": {"result": "success", "outputs": {}},
    }
    text, failed = weekly.report(json.dumps(needs), "https://example.org/run")
    assert failed
    assert "https://example.org/run" in text
    assert [line for line in text.splitlines() if line.startswith("| ")][1:] == [
        "| versions oldest | passed |",
        "| versions newest | b (failure) |",
        "| deeper deeper | passed |",
        "| deeper | the job ended with: failure |",
        "| silent | the job said nothing |",
    ]
    needs = {"one": {"result": "success", "outputs": {"one": "passed"}}}
    assert not weekly.report(json.dumps(needs), "")[1]


def test_the_commands_write_where_github_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.setenv("STEPS", steps(fuzz="failure"))
    weekly.main(["note", "deeper"])
    needs = {"deeper": {"result": "success", "outputs": {"deeper": "fuzz (failure)"}}}
    monkeypatch.setenv("NEEDS", json.dumps(needs))
    for name, value in (("SERVER_URL", "https://github.com"), ("REPOSITORY", "a/b"), ("RUN_ID", 7)):
        monkeypatch.setenv(f"GITHUB_{name}", str(value))
    weekly.main(["report", "--to", str(tmp_path / "report.md")])
    text = (tmp_path / "report.md").read_text()
    assert "https://github.com/a/b/actions/runs/7" in text
    assert text in capsys.readouterr().out
    assert (tmp_path / "output").read_text() == "deeper=fuzz (failure)\nfailed=true\n"
