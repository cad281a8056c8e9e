# SPDX-License-Identifier: MIT
"""What the applets load: their modules, the trained models and small data, put into the build.

The models are those of ``data/checkpoints/``, in half precision where they are not rounded to less
already: half the size, and no visible loss. Every file is written twice, zipped, and as a script
for pages that were opened from a disk, which may fetch nothing.
"""

import base64
import hashlib
import json
import zlib
from functools import lru_cache
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save
from sphinx.application import Sphinx

from book_pages.weight.bundle import bundle, with_version
from book_pages.weight.made_files import made

MODULES = "chapters/applets"
START = "ui/start.js"  # of MODULES; in the build it stands at the top, where pages ask for it
CHECKPOINTS = "data/checkpoints"
DATA = "data/applets"
TARGET = "applets"  # below _static
GZIP_FORMAT = 31  # wbits of zlib: its largest window, in the format of gzip
MODELS = (
    *("gpt_chars", "bert_chars", "t5_chars", "gpt_plays", "bert_plays", "bert_words"),
    *("contest_gpt", "contest_bert", "contest_t5", "t5_subwords", "t5_prefixes"),
)
FOLDERS = ("time_machine",)  # of CHECKPOINTS; their files are small already


def write(app: Sphinx) -> None:
    """Put everything that the applets load into an HTML build."""
    if app.builder.format != "html":
        return
    root, target = Path(app.srcdir), Path(app.outdir) / "_static" / TARGET
    write_modules(root, target)
    models = target / "models"
    models.mkdir(parents=True, exist_ok=True)
    for name, content in contents(root).items():
        file = models / f"{name}.gz"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(zipped(content))
        text = base64.b64encode(file.read_bytes()).decode()
        file.with_name(f"{file.name}.js").write_text(
            f'ptBook.files["{name}.gz"] = "{text}";\n', encoding="utf-8"
        )


def write_modules(root: Path, target: Path) -> None:
    """Write the modules in their folders with versioned imports, all as one file, and the start."""
    target.mkdir(parents=True, exist_ok=True)
    source = root / MODULES
    for path in source.rglob("*.mjs"):
        text = with_version(path.read_text(encoding="utf-8"), version(root))
        module = target / path.relative_to(source)
        module.parent.mkdir(exist_ok=True)
        module.write_text(text, encoding="utf-8")
    (target / "start.js").write_bytes((source / START).read_bytes())
    (target / "bundle.js").write_text(bundle(source), encoding="utf-8")


def inputs(root: Path) -> list[Path]:
    """List the existing files of the repository, sorted, that the applets' files are made from."""
    checkpoints = root / CHECKPOINTS
    found = [checkpoints / f"{name}.safetensors" for name in MODELS]
    for folder in FOLDERS:
        found += (checkpoints / folder).glob("*.safetensors")
    found += (root / DATA).glob("*.json")
    return sorted(path for path in found if path.is_file())


def contents(root: Path) -> dict[str, bytes]:
    """Return every file that an applet may load: name below ``models/`` → content."""
    found = {}
    for path in inputs(root):
        folder = path.parent.name if path.parent.name in FOLDERS else ""
        is_whole = path.parent == root / CHECKPOINTS  # in 32 bits
        found[f"{folder}/{path.name}".lstrip("/")] = (
            half_precision(path) if is_whole else path.read_bytes()
        )
    return found | made(root)


@lru_cache(maxsize=8)
def half_precision(path: Path) -> bytes:
    """Return a safetensors file with its 32-bit floats in 16 bits, with the same description.

    Counters stay as they are, and so does a file of rounded weights.
    """
    with safe_open(path, framework="np") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = file.metadata()
    if any(tensor.dtype == np.int8 for tensor in tensors.values()):
        return path.read_bytes()
    halves = {
        name: tensor.astype(np.float16) if tensor.dtype == np.float32 else tensor
        for name, tensor in tensors.items()
    }
    return save(halves, metadata=metadata)


@lru_cache(maxsize=64)
def zipped(content: bytes) -> bytes:
    """Return what a page loads for a file, in gzip format; the same for the same content.

    Of two strategies the shorter result: rounded weights hardly repeat a sequence, so that most
    matches of three bytes cost more than they save, and texts do repeat them.
    """
    return min((_gzip(content, s) for s in (zlib.Z_FILTERED, zlib.Z_DEFAULT_STRATEGY)), key=len)


def _gzip(content: bytes, strategy: int) -> bytes:
    """Compress with a strategy of zlib; the header has no time."""
    packer = zlib.compressobj(9, wbits=GZIP_FORMAT, strategy=strategy)
    return packer.compress(content) + packer.flush()


def exists(root: Path, name: str) -> bool:
    """Return whether the applets can load a file of this name."""
    return name in _sizes(root)


def kilobytes(root: Path, names: list[str]) -> int:
    """Add up what files weigh, zipped, in kB."""
    return round(sum(_sizes(root)[name] for name in names) / 1_000)


@lru_cache(maxsize=2)
def _sizes(root: Path) -> dict[str, int]:
    """Measure every file in bytes, zipped."""
    return {name: len(zipped(content)) for name, content in contents(root).items()}


@lru_cache(maxsize=2)
def version(root: Path) -> str:
    """Return ``?v=`` and eight digits that change with any module or model.

    So browsers never mix two versions.
    """
    found = hashlib.sha256()
    for path in sorted((root / MODULES).rglob("*.*js")):
        found.update(path.read_bytes())
    for name, content in sorted(contents(root).items()):
        found.update(json.dumps([name, hashlib.sha256(content).hexdigest()]).encode())
    return f"?v={found.hexdigest()[:8]}"
