# SPDX-License-Identifier: MIT
"""A small chapter to plant mistakes in, and the real chapters to check."""

import shutil
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from tools.chapters import run, store

TWIN = """\
# 7 A planted chapter

Two cells, one sentence before each.

```{code-cell} python
total = 3 + 4
print(f"total: {total}")
```

The second cell shows a value.

```{code-cell} python
total * 2
```
"""


@pytest.fixture(scope="session")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean, executed notebook with its twin, in a folder laid out like the repository's."""
    folder = tmp_path_factory.mktemp("planted") / "chapters"
    (folder / "_text").mkdir(parents=True)
    twin = folder / "_text" / "07_planted.md"
    twin.write_text(TWIN, encoding="utf-8")
    notebook = store.read_twin(twin)
    path = store.notebook_of(twin)
    run.execute(notebook, path)
    run.clean(notebook)
    store.write_notebook(path, notebook)
    return path


@pytest.fixture
def planted(executed: Path, tmp_path: Path) -> Path:
    """A copy of the clean chapter that a test may spoil."""
    shutil.copytree(executed.parent, tmp_path / "chapters")
    return tmp_path / "chapters" / executed.name


@pytest.fixture
def notebook(planted: Path) -> NotebookNode:
    """The content of the copy, to be spoiled and written back."""
    return nbformat.read(planted, as_version=4)
