# SPDX-License-Identifier: MIT
"""The one-file programs: they need torch alone, and compute what the package computes."""

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from pretrain import BERT, GPT, T5, BERTConfig, GPTConfig, T5Config
from tools.chapters.store import ChapterError
from tools.editions import scripts

TEXT = "".join(f"{n} men met {n * n % 97} more, and none of them said why.\n" for n in range(150))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three files, made of the package as it is now, and a small text."""
    folder = tmp_path_factory.mktemp("scripts")
    scripts.write_scripts(folder)
    (folder / "text.txt").write_text(TEXT, encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", scripts.NAMES)
class TestEveryFile:
    def test_imports_torch_and_the_standard_library_alone(self, name: str, folder: Path):
        nodes = list(ast.walk(ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))))
        found = {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
        found |= {one.name for node in nodes if isinstance(node, ast.Import) for one in node.names}
        assert {module.split(".")[0] for module in found} - sys.stdlib_module_names == {"torch"}

    def test_has_every_name_that_it_uses_and_no_other(self, name: str, folder: Path):
        command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select=F"]
        done = subprocess.run([*command, folder / f"{name}.py"], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout

    def test_prints_what_the_package_prints(
        self, name: str, folder: Path, capsys: pytest.CaptureFixture[str]
    ):
        options = [str(folder / "text.txt"), "--steps", "3", "--seed", "4"]
        done = subprocess.run(
            [sys.executable, "-I", folder / f"{name}.py", *options],
            capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        importlib.import_module(f"tools.editions.mains.{name}").main(options)
        assert done.stdout == capsys.readouterr().out
        assert done.stdout.count("loss") == 3

    def test_takes_a_prompt_and_saves(
        self, name: str, tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
    ):
        options = [str(folder / "text.txt"), "--steps", "1", "--save", str(tmp_path / "m.pt")]
        prompt = {"gpt": "men met", "bert": "men m_t", "t5": "men _ more"}[name]
        program = importlib.import_module(f"tools.editions.mains.{name}")
        program.main([*options, "--prompt", prompt])
        assert prompt[:4] in capsys.readouterr().out.split("\n\n")[1]
        saved = torch.load(tmp_path / "m.pt", weights_only=True)
        classes = {"gpt": (GPT, GPTConfig), "bert": (BERT, BERTConfig), "t5": (T5, T5Config)}
        model, config = classes[name]
        model(config(**saved["config"])).load_state_dict(saved["weights"])
        assert len(saved["symbols"]) == saved["config"]["vocab_size"]

    @pytest.mark.parametrize(
        ("content", "options", "message"),
        [
            (None, [], "cannot read the text: "),
            (b"", [], "expected 5,000 characters or more, got 0"),
            (b"one line", [], "expected 5,000 characters or more, got 8"),
            (b"\x7fELF\xff" * 5000, [], "expected UTF-8, but "),
            (b"some words\n" * 999, ["--steps", "0"], "expected --steps of 1 or more, got 0"),
            (b"some words\n" * 999, ["--prompt", "QX"], "expected a --prompt of characters of the"),
            (b"some words\n" * 999, ["--save", "no/such/m.pt"], "expected a folder for --save"),
        ],
    )
    def test_says_in_one_line_what_it_cannot_read(
        self, name: str, tmp_path: Path, content: bytes | None, options: list[str], message: str,
        capsys: pytest.CaptureFixture[str],
    ):  # fmt: skip
        if content is not None:
            (tmp_path / "text.txt").write_bytes(content)
        program = importlib.import_module(f"tools.editions.mains.{name}")
        with pytest.raises(SystemExit, match="2"):
            program.main([str(tmp_path / "text.txt"), *options])
        assert message in capsys.readouterr().err.splitlines()[-1]

    def test_is_short_on_top(self, name: str, folder: Path):
        (main,) = [
            node for node in ast.parse((folder / f"{name}.py").read_text(encoding="utf-8")).body
            if isinstance(node, ast.FunctionDef) and node.name == "main"
        ]  # fmt: skip
        assert (main.end_lineno or 0) - main.lineno < 25


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def mask(): pass", "mask = 1"),
        ("def math(): pass", "import math"),
        ("from math import log", "from torch import log"),
    ],
)
def test_a_name_with_two_meanings_is_refused(one: str, other: str):
    with pytest.raises(ChapterError, match="has two meanings"):
        scripts.check_names(ast.parse(f"{one}\n{other}").body)
