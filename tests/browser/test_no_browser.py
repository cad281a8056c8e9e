# SPDX-License-Identifier: MIT
"""Without Chromium the tests of this folder are skipped with a loud line; under CI they fail."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.editions.building import BROWSERS

TEST = "tests/browser/test_visiting.py::test_without_scripts_nothing_runs"


@pytest.fixture
def run_without_browser(repository: Path, tmp_path: Path):
    """Run one browser test where no command leads to a browser."""

    def run(**environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", TEST]
        kept = {name: value for name, value in os.environ.items() if name != "CI"}
        kept |= {"PATH": str(tmp_path), **environment}
        return subprocess.run(
            command, cwd=repository, env=kept, capture_output=True, text=True, timeout=120
        )

    return run


def test_it_says_what_was_not_run_and_how_to_install_it(run_without_browser):
    done = run_without_browser()
    assert done.returncode == 0, done.stdout
    assert "BROWSER TESTS NOT RUN" in done.stdout
    assert "1 tests of tests/browser were skipped" in done.stdout
    assert "apt-get install chromium" in done.stdout


def test_under_ci_it_fails(run_without_browser):
    done = run_without_browser(CI="1")
    assert done.returncode == 1
    assert "CI is set, so the browser tests must run" in done.stdout


def test_the_ci_script_installs_a_browser_and_says_that_it_is_ci(repository: Path):
    script = (repository / ".ci" / "run").read_text(encoding="utf-8")
    assert f"for name in {' '.join(BROWSERS)}; do" in script
    assert "missing+=(chromium)" in script
    assert "export CI=1" in script
