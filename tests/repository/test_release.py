# SPDX-License-Identifier: MIT
"""A release has one version, everywhere the same, and its changes are written down."""

import re
import tomllib
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import yaml

HEADING = re.compile(r"^## \[(Unreleased|\d+\.\d+\.\d+)\](?: - (\d{4}-\d\d-\d\d))?$", re.M)


def project(repository: Path) -> dict[str, str]:
    """Read the package's table of settings."""
    settings = (repository / "pyproject.toml").read_text(encoding="utf-8")
    return dict(tomllib.loads(settings)["project"])


def test_the_version_is_the_same_everywhere(repository: Path):
    number = project(repository)["version"]
    citation = yaml.safe_load((repository / "CITATION.cff").read_text(encoding="utf-8"))
    assert re.fullmatch(r"\d+\.\d+\.\d+", number)
    assert str(citation["version"]) == number
    assert version("pretrain-book") == number, "make setup installs the new version"


def test_the_changelog_starts_with_what_is_coming_and_knows_the_version(repository: Path):
    found = HEADING.findall((repository / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert found[0] == ("Unreleased", "")
    numbers = [number for number, _ in found[1:]]
    assert project(repository)["version"] == numbers[0]
    as_tuples = [tuple(int(part) for part in number.split(".")) for number in numbers]
    assert all(newer > older for newer, older in pairwise(as_tuples))
    days = [day for _, day in found[1:]]
    assert all(days)
    assert days == sorted(days, reverse=True)


def test_every_heading_of_the_changelog_is_a_known_one(repository: Path):
    text = (repository / "CHANGELOG.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^## ", text, re.M)) == len(HEADING.findall(text))
    kinds = set(re.findall(r"^### (.*)$", text, re.M))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_security_policy_names_files_that_exist(repository: Path):
    text = (repository / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:tests|tools|data)/[\w./]+|requirements\.txt|\.ci/run)`", text)
    assert len(named) >= 7
    assert [name for name in named if not (repository / name).exists()] == []
