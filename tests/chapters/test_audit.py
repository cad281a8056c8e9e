# SPDX-License-Identifier: MIT
"""The audit's verdict: clean, open, overdue, or honestly none. A script stands in for pip-audit."""

import datetime
import json
import sys
from pathlib import Path

import pytest

import audit

HOLE = {"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["2.0"], "description": "Long."}
WEAK = {"name": "weak", "version": "1.0", "vulns": [HOLE]}
FINE = {"name": "fine", "version": "3.1", "vulns": []}
UNSEEN = {"name": "unseen", "skip_reason": "Dependency not found on PyPI"}
LATER = datetime.date(2999, 1, 1)


class Desk:
    """Runs the audit in a folder with a stand-in for pip-audit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.accepted = folder / "audit.toml"
        self.accepted.write_text("")
        (folder / "requirements.txt").write_text("fine==3.1\n")

    def run(self, out: object = None, err: str = "", code: int = 0) -> int:
        """Audit with a program that says this and ends with this code."""
        text = out if isinstance(out, str) else json.dumps({"dependencies": out, "fixes": []})
        program = self.folder / "pip-audit"
        program.write_text(
            f"#!{sys.executable}\nimport sys\nopen({str(self.folder / 'asked')!r}, 'w')"
            f".write(' '.join(sys.argv[1:]))\nprint({text!r})\nprint({err!r}, file=sys.stderr)\n"
            f"sys.exit({code})\n"
        )
        program.chmod(0o755)
        return self.main(str(program))

    def main(self, program: str) -> int:
        """Audit with a program of this name."""
        files = [f"--requirements={self.folder}/requirements.txt", f"--accepted={self.accepted}"]
        return audit.main([f"--program={program}", *files])

    def accept(self, advisory: str, until: datetime.date) -> None:
        """Accept one advisory."""
        self.accepted.write_text(
            f'[[accepted]]\nid = "{advisory}"\nreason = "Never called here."\nreview_by = {until}\n'
        )


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_packages_without_holes_are_clean(desk: Desk, capsys: pytest.CaptureFixture[str]):
    assert desk.run([FINE]) == audit.CLEAN
    assert capsys.readouterr().out == "audit: 1 packages, no open advisory\n"
    asked = (desk.folder / "asked").read_text()
    assert f"--requirement {desk.folder}/requirements.txt" in asked
    assert "--format json" in asked


def test_a_hole_is_open_and_named(desk: Desk, capsys: pytest.CaptureFixture[str]):
    assert desk.run([FINE, WEAK], code=1) == audit.OPEN
    said = capsys.readouterr()
    assert said.out == "open: weak 1.0: PYSEC-1 = CVE-1, fixed in 2.0\n"
    assert said.err == "audit: 1 open in 2 packages\n"


@pytest.mark.parametrize("name", ["PYSEC-1", "CVE-1"])
def test_an_accepted_hole_does_not_count_but_is_named(
    desk: Desk, name: str, capsys: pytest.CaptureFixture[str]
):
    desk.accept(name, LATER)
    assert desk.run([FINE, WEAK], code=1) == audit.CLEAN
    assert "accepted until 2999-01-01: weak 1.0" in capsys.readouterr().out


def test_after_its_day_of_review_it_counts(desk: Desk, capsys: pytest.CaptureFixture[str]):
    desk.accept("CVE-1", datetime.date(2001, 1, 1))
    assert desk.run([WEAK], code=1) == audit.OPEN
    assert "overdue since 2001-01-01: weak 1.0" in capsys.readouterr().out


def test_an_acceptance_that_nothing_needs_is_named(desk: Desk, capsys: pytest.CaptureFixture[str]):
    desk.accept("CVE-9", LATER)
    assert desk.run([FINE]) == audit.CLEAN
    assert "no longer reported, take it off: CVE-9" in capsys.readouterr().out


def test_a_package_that_was_not_looked_up_is_not_clean(
    desk: Desk, capsys: pytest.CaptureFixture[str]
):
    """pip-audit itself ends with 0 then."""
    assert desk.run([FINE, UNSEEN]) == audit.NOT_AUDITED
    said = capsys.readouterr().err
    assert said == "audit: not audited: 1 of 2 packages were not looked up: unseen\n"
    assert desk.run([]) == audit.NOT_AUDITED


def test_a_hole_is_told_even_when_others_were_not_looked_up(desk: Desk):
    assert desk.run([WEAK, UNSEEN], code=1) == audit.OPEN


@pytest.mark.parametrize("out", ["", "[]", "{}", '{"dependencies": 3}', "Connection refused"])
def test_no_answer_is_no_verdict(desk: Desk, out: str, capsys: pytest.CaptureFixture[str]):
    assert desk.run(out, err="ConnectionError: no route", code=1) == audit.NOT_AUDITED
    said = capsys.readouterr().err
    assert "not audited: pip-audit ended with 1, saying: ConnectionError: no route" in said


def test_without_the_program_it_says_what_installs_it(
    desk: Desk, capsys: pytest.CaptureFixture[str]
):
    assert desk.main("no-such-program") == audit.NOT_AUDITED
    assert "`make audit` installs it" in capsys.readouterr().err


def test_a_slow_service_is_no_verdict(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(audit, "SECONDS", 0.0)
    assert desk.run([FINE]) == audit.NOT_AUDITED


@pytest.mark.parametrize(
    "text",
    [
        "[[accepted]",
        '[[accepted]]\nid = "A"\nreason = "Long enough."',
        '[[accepted]]\nid = "A"\nreason = "Long enough."\nreview_by = "soon"',
        '[[accepted]]\nid = "A"\nreason = "Short."\nreview_by = 2999-01-01',
    ],
)
def test_a_malformed_list_is_refused(desk: Desk, text: str, capsys: pytest.CaptureFixture[str]):
    desk.accepted.write_text(text)
    assert desk.run([FINE]) == audit.MALFORMED
    assert "audit: malformed: audit.toml" in capsys.readouterr().err


def test_the_list_of_this_repository_can_be_read(repository: Path):
    accepted = audit.read_accepted(repository / "tools" / "audit.toml")
    assert len({one.id for one in accepted}) == len(accepted)
