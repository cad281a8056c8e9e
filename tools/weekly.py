# SPDX-License-Identifier: MIT
"""What the weekly workflow needs beside its commands: `.github/workflows/weekly.yml`.

`newest` prints the direct dependencies without their pins. `slice` names the modules that are
mutated this week. `note KEY` hands what became of a job's steps to the job that reports. `report`
turns the notes of all jobs into the text of an issue. A step that did not run counts as failed: a
report must not pass what nobody looked at.
"""

import argparse
import datetime
import json
import math
import os
import re
import sys
import tomllib
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = {"jupyter-book": "<2"}  # version 2 ignores _config.yml
PASSED = "passed"
N_MODULES = 3  # all modules would take hours


def newest(project: str, requirements: str) -> list[str]:
    """List the direct dependencies without their pins.

    Args:
        project: The content of ``pyproject.toml``, whose lower bounds stay.
        requirements: The content of ``requirements.in``.

    Returns:
        Requirements; a few keep an upper limit without which there is no book.
    """
    table = tomllib.loads(project)["project"]
    bounded = [*table["dependencies"], *chain(*table["optional-dependencies"].values())]
    lines = [line.partition("#")[0].strip() for line in requirements.splitlines()]
    names = [re.split(r"[=<>~!\s]", line)[0] for line in lines if line]
    return bounded + [name + KEPT.get(name, "") for name in names]


def week_slice(modules: list[str], week: int) -> list[str]:
    """Name some modules, so that all have their turn within a few months.

    Args:
        modules: All of them.
        week: Number of the week.

    Returns:
        At most N_MODULES of them.
    """
    n_slices = math.ceil(len(modules) / N_MODULES)
    return modules[week % n_slices :: n_slices]


def note(steps: str) -> str:
    """Say which steps of a job did not succeed.

    Args:
        steps: GitHub's context ``steps`` as JSON: the steps that have an id.

    Returns:
        ``passed``, or the steps with their outcomes.
    """
    outcomes = {name: step["outcome"] for name, step in json.loads(steps).items()}
    failed = [f"{name} ({how})" for name, how in outcomes.items() if how != "success"]
    if not outcomes:
        return "no step was reached"
    return ", ".join(failed) or PASSED


def report(needs: str, run: str) -> tuple[str, bool]:
    """Write the text of the issue.

    Args:
        needs: GitHub's context ``needs`` as JSON: result and notes of every job.
        run: Address of the run.

    Returns:
        Markdown, and whether anything failed.
    """
    rows = []
    for job, said in json.loads(needs).items():
        notes = dict(said["outputs"])
        if said["result"] != "success":
            notes[""] = f"the job ended with: {said['result']}"
        elif not notes:
            notes[""] = "the job said nothing"
        rows += [(f"{job} {key}".strip(), text) for key, text in notes.items()]
    table = "\n".join(f"| {name} | {text} |" for name, text in rows)
    text = f"The weekly run: {run}\n\n| job | result |\n|:--|:--|\n{table}\n"
    return text, any(result != PASSED for _, result in rows)


def run_address(environment: Mapping[str, str]) -> str:
    """Name the address of this run from the variables that GitHub sets."""
    names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
    server, repository, number = (environment.get(name, "") for name in names)
    return f"{server}/{repository}/actions/runs/{number}"


def _append(variable: str, text: str) -> None:
    """Add a line to a file that GitHub names in a variable, or print it elsewhere."""
    if path := os.environ.get(variable):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
    else:
        print(text)


def main(arguments: list[str] | None = None) -> int:
    """Run one of the commands.

    Args:
        arguments: Command-line words; None = those of this process.

    Returns:
        0.
    """
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("newest", help="print the direct dependencies without their pins")
    commands.add_parser("slice", help="name the modules to mutate this week")
    noting = commands.add_parser("note", help="hand on what $STEPS says")
    noting.add_argument("key", help="the name of the job's output")
    reporting = commands.add_parser("report", help="write what $NEEDS says")
    reporting.add_argument("--to", type=Path, required=True)
    options = parser.parse_args(arguments)
    if options.command == "newest":
        files = (ROOT / name for name in ("pyproject.toml", "requirements.in"))
        print("\n".join(newest(*(file.read_text(encoding="utf-8") for file in files))))
    elif options.command == "slice":
        table = tomllib.loads((ROOT / "tools" / "mutation.toml").read_text(encoding="utf-8"))
        week = datetime.date.today().toordinal() // 7  # goes on over the end of a year
        print(" ".join(week_slice(table["modules"], week)))
    elif options.command == "note":
        _append("GITHUB_OUTPUT", f"{options.key}={note(os.environ['STEPS'])}")
    else:
        text, failed = report(os.environ["NEEDS"], run_address(os.environ))
        options.to.write_text(text, encoding="utf-8")
        _append("GITHUB_STEP_SUMMARY", text)
        _append("GITHUB_OUTPUT", f"failed={str(failed).lower()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
