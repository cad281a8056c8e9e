# SPDX-License-Identifier: MIT
"""Every source file of ours names its licence in its first line."""

from pathlib import Path

HEADERS = {
    ".py": "# SPDX-License-Identifier: MIT",
    ".mjs": "// SPDX-License-Identifier: MIT",
    ".js": "// SPDX-License-Identifier: MIT",
    ".css": "/* SPDX-License-Identifier: MIT */",
}
FOLDERS = (
    "benchmarks", "binder", "chapters/applets", "chapters/assets", "code", "experiments",
    "extensions", "tests", "tools",
)  # fmt: skip


def first_line(path: Path) -> str:
    """Return the first line that is no interpreter's name."""
    lines = path.read_text(encoding="utf-8").splitlines() or [""]
    return lines[1] if lines[0].startswith("#!") else lines[0]


def test_every_source_file_names_its_licence(repository: Path):
    paths = [path for folder in FOLDERS for path in sorted((repository / folder).rglob("*"))]
    ours = [path for path in paths if path.suffix in HEADERS]
    bare = [path for path in ours if first_line(path) != HEADERS[path.suffix]]
    assert [path.relative_to(repository).as_posix() for path in bare] == []
    assert len(ours) > 400


def test_texts_are_under_another_licence(repository: Path):
    """The words of the chapters are CC BY 4.0, see LICENSE-text.md; no code licence above them."""
    for path in (repository / "chapters").rglob("*.md"):
        assert "SPDX-License-Identifier" not in path.read_text(encoding="utf-8"), path.name
