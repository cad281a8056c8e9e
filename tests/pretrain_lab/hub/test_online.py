# SPDX-License-Identifier: MIT
"""Exercises that name models of the hub: the page's own code with PRETRAIN_ONLINE=1, and without.

The named models are tiny random ones in a made-up cache, and no connection may be opened.
"""

import re
from pathlib import Path

import pytest
from tiny_hub import BASE, GPT2, LARGE, lay_out, run

from pretrain_lab.paths import ROOT

TWIN = ROOT / "chapters" / "_text" / "09_fine_tuning_exercises.md"
EXERCISES = ("ex-ftn-blanks", "ex-ftn-imdb", "ex-ftn-generate", "ex-ftn-large")
CELL = re.compile(r"```\{code-cell\} python\n(?:---\n.*?\n---\n|:tags:.*?\n)?(.*?)```", re.DOTALL)
REFUSE = """
import os, socket
os.environ["MPLBACKEND"] = "agg"
def refuse(*arguments): raise AssertionError(f"connects to {arguments}")
socket.socket.connect = refuse
"""


def cells(text: str) -> list[str]:
    """Take the code cells out of a part of a page, without their options."""
    return [found.group(1) for found in CELL.finditer(text)]


def page_code() -> str:
    """Join the setup of the page, records and states left out, and the solutions."""
    text = TWIN.read_text()
    setup = cells(text[: text.index(":::{exercise}")])
    code = [c for c in setup if not ("data_file(" in c or "with_states(" in c)]
    for name in EXERCISES:
        solution = text.split(f":::{{solution-start}} {name}\n")[1].split(":::{solution-end}")[0]
        found = cells(solution)
        assert found, name
        code += found
    return "\n".join(code)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lay out the made-up cache."""
    folder = tmp_path_factory.mktemp("huggingface")
    lay_out(folder)
    return folder


@pytest.mark.slow
def test_the_exercises_run_on_the_named_models(home: Path) -> None:
    """Every solution runs to its end and is right, says whom it asked, and nothing stands in."""
    finished = run(REFUSE + page_code(), home, HF_HUB_OFFLINE="1")
    assert finished.returncode == 0, finished.stderr
    lines = finished.stdout.splitlines()
    named = [line for line in lines if line in (BASE, LARGE, GPT2, "stanfordnlp/imdb",
                                                "nyu-mll/glue")]  # fmt: skip
    assert named == [BASE, "stanfordnlp/imdb", BASE, GPT2, "nyu-mll/glue", BASE, LARGE]
    assert not [line for line in lines if "stand" in line]
    assert len([line for line in lines if line.startswith("Right. ")]) == len(EXERCISES)


@pytest.mark.slow
def test_texts_that_are_not_cached_are_named_in_one_sentence(tmp_path: Path) -> None:
    """Without cache and hub, the data set says how to fetch it."""
    code = """
import torch
from pretrain_lab.hub.cache import StandInError
from pretrain_lab.hub.datasets import load_texts
try:
    load_texts("stanfordnlp/imdb", 2, 2, generator=torch.Generator())
except StandInError as error:
    print(error)
"""
    finished = run(REFUSE + code, tmp_path, HF_HUB_OFFLINE="1")
    assert finished.returncode == 0, finished.stderr
    (said,) = finished.stdout.splitlines()
    assert "run `hf download stanfordnlp/imdb --repo-type dataset` once with a connection" in said
