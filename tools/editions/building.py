# SPDX-License-Identifier: MIT
"""Build a book's pages strictly, and find the browser that prints them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tools.chapters.store import ChapterError
from tools.editions.scripts import FOLDER, write_scripts

STRICT = ("-q", "-n", "-W", "--keep-going", "--all")  # as in the Makefile
REPOSITORY = ("BOOK_", "GITHUB_")  # what the variables that name a repository begin with
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def build_strictly(source: Path, output: Path, builder: str = "html") -> Path:
    """Build a book, any warning an error; return the folder of the pages.

    The pages name no repository, also where the environment knows one: an edition for students must
    not lead to the solutions, and paper has no buttons.

    Args:
        source: The folder with ``_config.yml``.
        output: Where ``_build/`` goes.
        builder: Jupyter Book's name of the builder, such as ``html`` or ``singlehtml``, or
            ``dummy``: everything is read and checked, and no page is written.

    Raises:
        ChapterError: The build failed; its last words are quoted.
    """
    write_scripts(source / FOLDER)
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", str(source), *STRICT]
    chosen = [builder] if builder != "dummy" else ["custom", "--custom-builder", builder]
    command += ["--builder", *chosen, "--path-output", str(output)]
    unnamed = {key: value for key, value in os.environ.items() if not key.startswith(REPOSITORY)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=unnamed)
    if done.returncode:
        raise ChapterError(f"the pages did not build:\n{done.stderr[-3000:]}{done.stdout[-500:]}")
    return output / "_build" / builder


def find_browser() -> str:
    """Return the path of a Chromium or Chrome on this machine.

    Raises:
        ChapterError: There is none; the message says what to install.
    """
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    raise ChapterError(
        "this needs Chromium or Google Chrome, and none of these commands is here: "
        f"{', '.join(BROWSERS)}. On Debian or Ubuntu: apt-get install chromium"
    )


def run_browser(*options: str, seconds: float = 600) -> str:
    """Run the browser without a window, and return what it printed.

    `options` are its options and the page's address, last.

    Raises:
        ChapterError: There is no browser, it failed, or it took too long.
    """
    command = [find_browser(), "--headless", "--no-sandbox", "--disable-gpu", *options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise ChapterError(f"the browser needed more than {seconds:.0f} seconds") from error
    if done.returncode:
        raise ChapterError(f"the browser stopped with: {done.stderr.strip()[-500:]}")
    return done.stdout
