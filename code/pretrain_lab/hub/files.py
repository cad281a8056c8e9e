# SPDX-License-Identifier: MIT
"""Folders in the form of Hugging Face checkpoints: found or fetched, read and written.

Weights are safetensors, in one file or in shards with an index. Left out: every other format of
weights, for loading them may run code.
"""

import json
import re
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from pretrain_lab.run_state import CheckpointError, replacing

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"


def find_folder(path_or_id: str | Path) -> Path:
    """Give the folder itself, or fetch what a hub id such as "openai-community/gpt2" names.

    Raises:
        FileNotFoundError: Neither a folder nor the form of an id.
        CheckpointError: The hub cannot be reached, or has no such repository.
    """
    path = Path(path_or_id)
    if path.is_dir():
        return path
    if path.exists() or not re.fullmatch(r"[\w-][\w.-]*(/[\w.-]+)?", str(path_or_id)):
        raise FileNotFoundError(
            f"expected a folder with config.json and {WEIGHTS}, or a hub id such as "
            f"'google-bert/bert-base-uncased', got {str(path_or_id)!r}"
        )
    try:
        from huggingface_hub import snapshot_download

        patterns = ["config.json", "model*.safetensors", INDEX, "tokenizer.json"]
        return Path(snapshot_download(str(path_or_id), allow_patterns=patterns))
    except (ImportError, OSError, ValueError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CheckpointError(
            f"no folder {str(path_or_id)!r} here, and the hub gave no repository of that id "
            f"({type(error).__name__}: {first})"
        ) from error


def read_json(file: Path) -> dict[str, Any]:
    """Read a file that holds one JSON object.

    Raises:
        CheckpointError: The file is missing, damaged, or holds something else.
    """
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"expected {file.name} in {file.parent}, found none") from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{file} cannot be read ({error})") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"expected a JSON object in {file}, got {type(content).__name__}")
    return content


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """Read all tensors by name, from one file or from the shards that the index lists.

    Raises:
        CheckpointError: A file is missing or damaged, or does not hold what the index says.
    """
    if (folder / WEIGHTS).exists():
        return _read_file(folder / WEIGHTS)
    if not (folder / INDEX).exists():
        other = sorted(p.name for p in folder.iterdir() if p.suffix in (".bin", ".pt", ".h5"))
        hint = f"; {other} may run code when it is loaded and is never opened" if other else ""
        raise CheckpointError(f"expected {WEIGHTS} (or {INDEX}) in {folder}, found none{hint}")
    listed = read_json(folder / INDEX).get("weight_map")
    if not isinstance(listed, dict) or not all(isinstance(v, str) for v in listed.values()):
        raise CheckpointError(f"expected a weight_map of tensor and file names in {folder / INDEX}")
    found: dict[str, Tensor] = {}
    for shard in sorted(set(listed.values())):
        tensors = _read_file(folder / shard)
        check_names({n for n, s in listed.items() if s == shard}, set(tensors), folder / shard)
        found |= tensors
    return found


def _read_file(file: Path) -> dict[str, Tensor]:
    """Read the tensors of one safetensors file."""
    try:
        with safe_open(file, framework="pt") as content:
            return {name: content.get_tensor(name) for name in content.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{file} cannot be read ({error})") from error


def check_names(expected: set[str], found: set[str], where: Path) -> None:
    """Refuse tensors of a file or folder that are not exactly the expected ones.

    Raises:
        CheckpointError: The sets differ; the message lists how.
    """
    if expected != found:
        raise CheckpointError(
            f"tensors of {where} do not fit: missing {sorted(expected - found)}, "
            f"unexpected {sorted(found - expected)}"
        )


def write_folder(
    folder: Path, state: dict[str, Tensor], described: Mapping[str, Mapping[str, Any] | None]
) -> None:
    """Write model.safetensors and JSON files, by their names, all or none of them.

    The tensors share no memory; the folder is made unless it is there. None = no such file: the
    one of an earlier export, known by its config.json, is removed.
    """
    is_new, is_export = not folder.exists(), (folder / "config.json").exists()
    contents = {name: content for name, content in described.items() if content is not None}
    try:
        with ExitStack() as stack:
            parts = {n: stack.enter_context(replacing(folder / n)) for n in (WEIGHTS, *contents)}
            save_file(state, parts[WEIGHTS], metadata={"format": "pt"})
            for name, content in contents.items():
                parts[name].write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
            for name in described.keys() - contents.keys() if is_export else ():
                (folder / name).unlink(missing_ok=True)  # before the new files take their places
    except BaseException:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise
