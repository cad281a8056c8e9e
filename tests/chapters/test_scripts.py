# SPDX-License-Identifier: MIT
"""The single-file scripts: made from the package, torch alone, the same numbers as the package."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Generator, nn

import make_scripts
from pretrain.bert import BERT
from pretrain.datasets import load_shakespeare
from pretrain.gpt import GPT
from pretrain.ngrams import KneserNey, UnigramModel
from pretrain.objectives import causal_lm_loss, masked_lm_loss
from pretrain.paths import data_file
from pretrain.seq2seq import span_corruption_loss
from pretrain.subword_training import train_subwords
from pretrain.subwords import load_tokenizer
from pretrain.t5 import T5
from pretrain.tokenization import CharTokenizer
from pretrain.training import fit
from single_file.counts import kneser_ney
from single_file.merges import Subwords

N_STEPS = 12
BLOCKED = ("numpy", "pretrain", "tokenizers", "transformers", "matplotlib", "safetensors")


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three scripts, made from the package as it is now."""
    folder = tmp_path_factory.mktemp("scripts")
    make_scripts.write_scripts(folder)
    return folder


@pytest.fixture(scope="module")
def texts() -> tuple[str, str]:
    """Some training plays and a piece of an unseen one."""
    train = "\n".join(play.text for play in load_shakespeare("train")[:4])
    return train, load_shakespeare("test")[0].text[:20_000]


def bare(repository: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run Python with torch and the standard library alone."""
    command = [sys.executable, "-I", "-S", repository / "tools" / "bare_run.py", *arguments]
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False,
        env={"OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def run(repository: Path, script: Path, texts: tuple[str, str], folder: Path) -> dict:
    """Run a script for a few steps, and read what it wrote."""
    train, unseen, result = folder / "train.txt", folder / "unseen.txt", folder / "result.json"
    train.write_text(texts[0], encoding="utf-8")
    unseen.write_text(texts[1], encoding="utf-8")
    done = bare(
        repository, script, train, "--unseen", unseen,
        "--steps", N_STEPS, "--seed", 3, "--json", result,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # no warning either
    return json.loads(result.read_text(encoding="utf-8"))


def package_losses(model: nn.Module, loss, lr: float, n_warmup: int, final_lr: float):
    """Train the package's model with the package's loop."""
    seed = Generator().manual_seed(3)
    options = {"n_warmup": min(n_warmup, N_STEPS), "final_lr": final_lr, "generator": seed}
    return fit(model, loss, n_steps=N_STEPS, lr=lr, **options).losses


@pytest.mark.parametrize("name", make_scripts.NAMES)
class TestEveryScript:
    def test_imports_torch_and_the_standard_library_alone(self, name: str, scripts: Path):
        tree = ast.parse((scripts / f"{name}.py").read_text(encoding="utf-8"))
        found = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        found |= {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        assert {module.split(".")[0] for module in found} <= make_scripts.ALLOWED
        assert "torch" in found

    def test_every_definition_is_explained(self, name: str, scripts: Path):
        tree = ast.parse((scripts / f"{name}.py").read_text(encoding="utf-8"))
        kinds = (ast.FunctionDef, ast.ClassDef)
        assert all(ast.get_docstring(n) for n in ast.walk(tree) if isinstance(n, kinds))


@pytest.mark.parametrize("module", BLOCKED)
def test_the_bare_environment_has_nothing_else(module: str, repository: Path, tmp_path: Path):
    (tmp_path / "try.py").write_text(f"import {module}\n")
    done = bare(repository, tmp_path / "try.py")
    assert done.returncode == 1
    assert f"No module named '{module}'" in done.stderr


def test_gpt_script_is_the_package(
    repository: Path, scripts: Path, texts: tuple[str, str], tmp_path: Path
):
    found = run(repository, scripts / "gpt.py", texts, tmp_path)
    tokenizer = CharTokenizer(sorted({*texts[0], *texts[1]}))
    torch.manual_seed(3)
    sizes = {"d_model": 64, "n_layers": 2, "n_heads": 4, "max_len": 64}
    model = GPT(tokenizer.vocab_size, init_std=0.08, **sizes)
    loss = causal_lm_loss(tokenizer.encode(texts[0]), batch_size=16, seq_len=64)
    expected = package_losses(model, loss, 1e-2, 100, 0.02)
    assert found["losses"] == pytest.approx(expected, abs=1e-6)
    bits = found["bits"]
    assert bits["uniform"] > bits["unigram"] > bits["kneser_ney_5"]


def test_bert_script_is_the_package(
    repository: Path, scripts: Path, texts: tuple[str, str], tmp_path: Path
):
    found = run(repository, scripts / "bert.py", texts, tmp_path)
    tokenizer = CharTokenizer(sorted({*texts[0], *texts[1]}))
    torch.manual_seed(3)
    sizes = {"d_model": 64, "n_layers": 2, "n_heads": 4, "max_len": 32}
    model = BERT(tokenizer.vocab_size, init_std=0.08, **sizes)
    loss = masked_lm_loss(
        tokenizer.encode(texts[0]), batch_size=32, seq_len=32, mask_id=tokenizer.mask_id,
        vocab_size=tokenizer.vocab_size, special_ids=tokenizer.special_ids,
    )  # fmt: skip
    expected = package_losses(model, loss, 5e-3, 120, 0.05)
    assert found["losses"] == pytest.approx(expected, abs=1e-6)
    assert found["shares"]["copying"]["top1_kept"] == 1


def test_t5_script_is_the_package(
    repository: Path, scripts: Path, texts: tuple[str, str], tmp_path: Path
):
    found = run(repository, scripts / "t5.py", texts, tmp_path)
    tokenizer = train_subwords([texts[0]], "bpe", 3000, n_sentinels=64)
    torch.manual_seed(3)
    model = T5(tokenizer.vocab_size, d_model=64, n_layers=1, n_heads=4)
    loss = span_corruption_loss(
        tokenizer.encode(texts[0]), batch_size=32, seq_len=32, n_sentinels=64,
        first_sentinel_id=tokenizer.sentinel_ids[0], eos_id=tokenizer.eos_id,
    )  # fmt: skip
    expected = package_losses(model, loss, 5e-3, 50, 0.05)
    assert found["losses"] == pytest.approx(expected, abs=1e-6)
    assert sum(found["kinds"][kind]["n"] for kind in ("first", "later")) == 200 * 5


def test_counts_on_torch_are_those_of_the_package(texts: tuple[str, str]):
    tokenizer = CharTokenizer(sorted({*texts[0], *texts[1]}))
    train, unseen = (tokenizer.encode(text) - 2 for text in texts)
    n_chars = tokenizer.vocab_size - 2
    for order in (1, 2, 5):
        expected = KneserNey(order, n_chars).fit(train.numpy()).log_probs(unseen.numpy())
        ours = kneser_ney(train, unseen, order, n_chars)
        assert torch.allclose(ours, torch.from_numpy(expected), atol=1e-9)
    assert UnigramModel(n_chars).fit(train.numpy()).log_probs(unseen.numpy()).mean() < ours.mean()


@pytest.mark.slow
def test_merges_learned_from_the_training_plays_are_the_vocabulary_of_the_book():
    text = "\n".join(play.text for play in load_shakespeare("train"))
    ours, book = Subwords(text), load_tokenizer("plays_bpe")
    assert tuple(ours.tokens) == book.tokens
    assert ours.sentinel_ids == list(book.sentinel_ids)
    unseen = load_shakespeare("validation")[0].text
    ids = ours.encode(unseen)
    assert torch.equal(ids, book.encode(unseen))
    assert ours.decode(ids) == unseen
    with pytest.raises(ValueError, match="printable ASCII"):
        ours.encode("café")


def test_a_script_that_needs_another_package_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "single_file").mkdir()
    source = "import numpy as np\n\n\ndef main():\n    return np.zeros(3)\n"
    (tmp_path / "single_file" / "planted.py").write_text(source)
    (tmp_path / "single_file" / "shared.py").write_text("")
    monkeypatch.setitem(make_scripts.FOLDERS, "single_file", tmp_path)
    with pytest.raises(make_scripts.ScriptError, match="needs numpy"):
        make_scripts.Bundle("planted")


def test_two_definitions_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "single_file").mkdir()
    planted = "from pretrain.objectives import causal_targets\n\nclass Corrupted:\n    pass\n\n"
    planted += (
        "from pretrain.objectives import corrupt_mlm\n\nuse = (causal_targets, corrupt_mlm)\n"
    )
    (tmp_path / "single_file" / "planted.py").write_text(planted)
    (tmp_path / "single_file" / "shared.py").write_text("")
    monkeypatch.setitem(make_scripts.FOLDERS, "single_file", tmp_path)
    with pytest.raises(make_scripts.ScriptError, match="Corrupted is defined in"):
        make_scripts.check_names(make_scripts.Bundle("planted"))


def test_full_runs_gave_the_numbers_of_the_chapters():
    record = json.loads(data_file("runs", "scripts.json").read_text(encoding="utf-8"))
    assert set(record) == set(make_scripts.NAMES)
    compared = [one for run in record.values() for one in run["compared"]]
    assert len(compared) >= 15
    assert [one["what"] for one in compared if not one["holds"]] == []
    assert all(one["band"][0] <= one["script"] <= one["band"][1] for one in compared)
