# SPDX-License-Identifier: MIT
"""Ask for known security holes of the pinned packages: ``make audit``.

pip-audit compares ``requirements.txt`` with the advisories of the Python Package Index. Those that
``tools/audit.toml`` accepts, each with a reason and a day of review, are named and do not count.

pip-audit also succeeds when the service knows nothing of a package, behind a mirror for instance.
Here a package that nobody looked up is no clean package. The exit code says which it was:

| code | meaning |
|--:|:--|
| 0 | every package was looked up, and no advisory is open |
| 1 | an advisory is open, or its acceptance is overdue |
| 2 | the list of accepted advisories is malformed |
| 3 | not audited: no pip-audit, no answer, or packages that were not looked up |
"""

import argparse
import datetime
import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
CLEAN, OPEN, MALFORMED, NOT_AUDITED = range(4)
SECONDS = 600
KEYS = {"id": str, "reason": str, "review_by": datetime.date}


class AuditError(Exception):
    """There is no verdict; the message says why, the code what kind."""

    def __init__(self, message: str, code: int = NOT_AUDITED) -> None:
        """Keep the exit code with the message."""
        super().__init__(message)
        self.code = code


class Accepted(NamedTuple):
    """An advisory that does not count for now."""

    id: str
    reason: str
    review_by: datetime.date


class Advisory(NamedTuple):
    """A known hole in one of the pinned packages."""

    package: str
    ids: tuple[str, ...]
    """Its own name and its names in other lists."""
    fixed_in: tuple[str, ...]

    def __str__(self) -> str:
        """Say what it concerns and what mends it."""
        mend = f"fixed in {', '.join(self.fixed_in)}" if self.fixed_in else "not fixed yet"
        return f"{self.package}: {' = '.join(self.ids)}, {mend}"


def read_accepted(path: Path) -> list[Accepted]:
    """Read the accepted advisories.

    Args:
        path: TOML with tables ``[[accepted]]`` of id, reason and review_by.

    Returns:
        Them, in the order of the file.

    Raises:
        AuditError: The file is malformed.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("accepted", [])
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise AuditError(f"{path.name}: {error}", MALFORMED) from error
    for table in tables:
        fits = set(table) == set(KEYS) and all(isinstance(table[k], t) for k, t in KEYS.items())
        if not fits or len(table["reason"]) < 10:
            raise AuditError(
                f"{path.name}: expected id, a reason and review_by (a day), got {table}", MALFORMED
            )
    return [Accepted(**table) for table in tables]


def ask(program: str, requirements: Path) -> dict[str, Any]:
    """Run pip-audit over a list of pinned packages.

    Args:
        program: Name or path of pip-audit.
        requirements: The list.

    Returns:
        Its answer.

    Raises:
        AuditError: There is none; the last words of pip-audit are quoted.
    """
    found = shutil.which(program)
    if found is None:
        raise AuditError(f"expected the program {program}; `make audit` installs it")
    command = [found, "--requirement", str(requirements), "--disable-pip", "--no-deps"]
    command += ["--format", "json", "--progress-spinner", "off"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        answer = json.loads(done.stdout)
        if not isinstance(answer["dependencies"], list):
            raise TypeError
    except subprocess.TimeoutExpired as error:
        raise AuditError(f"no answer within {SECONDS} seconds") from error
    except (ValueError, LookupError, TypeError) as error:
        words = " ".join(done.stderr.split()[-40:]) or "nothing"
        raise AuditError(f"pip-audit ended with {done.returncode}, saying: {words}") from error
    return dict(answer)


def sort_answer(answer: dict[str, Any]) -> tuple[list[Advisory], list[str]]:
    """Take advisories and gaps out of what pip-audit wrote.

    Args:
        answer: Its JSON.

    Returns:
        The advisories, and the packages that were not looked up.
    """
    advisories, skipped = [], []
    for package in answer["dependencies"]:
        if "skip_reason" in package:
            skipped.append(package["name"])
        for hole in package.get("vulns", []):
            ids = tuple(dict.fromkeys([hole["id"], *hole.get("aliases", [])]))
            name = f"{package['name']} {package['version']}"
            advisories.append(Advisory(name, ids, tuple(hole.get("fix_versions", []))))
    return advisories, skipped


def judge(
    advisories: list[Advisory], accepted: list[Accepted], today: datetime.date
) -> tuple[list[str], list[str]]:
    """Separate open advisories from accepted ones.

    Args:
        advisories: What was found.
        accepted: What does not count until its day of review.
        today: The day.

    Returns:
        Lines on what is open, and lines to take note of.
    """
    still_open, noted, used = [], [], set()
    for advisory in advisories:
        match = next((one for one in accepted if one.id in advisory.ids), None)
        if match is None:
            still_open.append(f"open: {advisory}")
            continue
        used.add(match.id)
        if match.review_by < today:
            still_open.append(f"overdue since {match.review_by}: {advisory} ({match.reason})")
        else:
            noted.append(f"accepted until {match.review_by}: {advisory} ({match.reason})")
    noted += [f"no longer reported, take it off: {a.id}" for a in accepted if a.id not in used]
    return still_open, noted


def audit(program: str, requirements: Path, accepted: Path) -> int:
    """Audit, and print what was found.

    Args:
        program: Name or path of pip-audit.
        requirements: The pinned packages.
        accepted: The list of accepted advisories.

    Returns:
        CLEAN or OPEN.

    Raises:
        AuditError: There is no verdict.
    """
    listed = read_accepted(accepted)
    answer = ask(program, requirements)
    advisories, skipped = sort_answer(answer)
    still_open, noted = judge(advisories, listed, datetime.date.today())
    print("\n".join([*noted, *still_open]), end="\n" if noted or still_open else "")
    n_packages = len(answer["dependencies"])
    if still_open:
        print(f"audit: {len(still_open)} open in {n_packages} packages", file=sys.stderr)
        return OPEN
    if skipped or not n_packages:
        some = f"{', '.join(skipped[:5])}{', …' if len(skipped) > 5 else ''}"
        raise AuditError(f"{len(skipped)} of {n_packages} packages were not looked up: {some}")
    print(f"audit: {n_packages} packages, no open advisory")
    return CLEAN


def main(arguments: list[str] | None = None) -> int:
    """Audit the pinned packages.

    Args:
        arguments: Command-line words; None = those of this process.

    Returns:
        The exit code of the table above.
    """
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="pip-audit", help="pip-audit, or its path")
    parser.add_argument("--requirements", type=Path, default=ROOT / "requirements.txt")
    parser.add_argument("--accepted", type=Path, default=ROOT / "tools" / "audit.toml")
    options = parser.parse_args(arguments)
    try:
        return audit(options.program, options.requirements, options.accepted)
    except AuditError as error:
        verdict = "not audited" if error.code == NOT_AUDITED else "malformed"
        print(f"audit: {verdict}: {error}", file=sys.stderr)
        return error.code


if __name__ == "__main__":
    sys.exit(main())
