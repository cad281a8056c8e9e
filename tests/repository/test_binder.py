# SPDX-License-Identifier: MIT
"""The folder `binder/`, from which Binder makes an image in which every chapter runs."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest


@pytest.fixture
def post_build(repository: Path) -> str:
    """What Binder runs after copying the repository, its line breaks joined."""
    text = (repository / "binder" / "postBuild").read_text(encoding="utf-8")
    return text.replace("\\\n", " ")


def test_its_python_is_one_that_the_project_supports(repository: Path):
    runtime = (repository / "binder" / "runtime.txt").read_text(encoding="utf-8").strip()
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    oldest = project["project"]["requires-python"].removeprefix(">=")
    assert re.fullmatch(r"python-3\.\d+", runtime)
    assert int(runtime.rpartition(".")[2]) >= int(oldest.rpartition(".")[2])


def test_packages_come_in_the_pinned_versions(post_build: str):
    install = re.search(r"^python -m pip install (.*)$", post_build, re.M).group(1)
    assert "--constraint requirements.txt" in install
    assert "$(python -m tools.checks.torch_index)" in install  # the one setting of the index
    assert '--editable ".[chapters,book]"' in install


def test_a_session_opens_the_notebooks_for_readers(post_build: str):
    assert post_build.rstrip().endswith("python -m tools.editions.notebooks")


def test_all_that_chapters_fetch_is_in_the_image(post_build: str, repository: Path):
    fetched = set(re.search(r"corpora\.download (.*)$", post_build, re.M).group(1).split())
    listed = tomllib.loads((repository / "data" / "sources.toml").read_text(encoding="utf-8"))
    for_decks_alone = {"sphinx-revealjs"}
    assert fetched == set(listed) - for_decks_alone


def test_the_image_holds_data_once(post_build: str, repository: Path):
    drops = r"corpora\.download [^\n]*\n(?:#[^\n]*\n)*rm -rf \S+.*cache_folder.*/wheels\"\n"
    assert re.search(drops, post_build)
    student = repository / "tools" / "editions" / "assets" / "student" / "binder" / "postBuild"
    assert re.search(drops, student.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["postBuild", "start"])
def test_scripts_can_be_executed_and_stop_at_an_error(name: str, repository: Path):
    script = repository / "binder" / name
    assert os.access(script, os.X_OK)
    assert "\nset -euo pipefail\n" in script.read_text(encoding="utf-8")


@pytest.mark.parametrize(("given", "used"), [(None, "1"), ("4", "4")])
def test_a_session_uses_one_thread_unless_told_otherwise(
    given: str | None, used: str, repository: Path
):
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    if given:
        environment["OMP_NUM_THREADS"] = given
    show = "import os; print(os.environ['OMP_NUM_THREADS'])"
    command = [str(repository / "binder" / "start"), sys.executable, "-c", show]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{used}\n"
