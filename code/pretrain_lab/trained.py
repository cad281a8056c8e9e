# SPDX-License-Identifier: MIT
"""A trained model by any name: a run, a file, one of the book's, a Hugging Face folder or id."""

import re
from pathlib import Path
from typing import Any

from pretrain_lab.checkpoints import load_model
from pretrain_lab.hub.weights import load_pretrained
from pretrain_lab.paths import CHECKPOINTS
from pretrain_lab.run_state import CheckpointError

MODEL = "model.safetensors"
UNFINISHED = "checkpoint.safetensors"


def load_trained(name: str | Path) -> tuple[Any, Any]:
    """Load a GPT, BERT or T5, or one with a head, in evaluation mode, and its tokeniser.

    Args:
        name: The folder of a run of `pretrain_lab.train`, a .safetensors file of ours, a name in
            data/checkpoints ("gpt_plays"), or a Hugging Face folder or id, with a slash.

    Raises:
        FileNotFoundError: No such model; the message lists the names that exist.
        CheckpointError: The model cannot be read, or the run has not written one yet.
        ValueError: A published model that our classes cannot express.
    """
    path = Path(name).expanduser()
    if (path / "config.json").is_file():
        return load_pretrained(path)
    if path.is_dir():
        return load_model(_model_of_run(path))
    is_id = re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", str(name)) and path.suffix != ".safetensors"
    if is_id and not path.parent.is_dir() and path.parts[0] != "runs":
        return load_pretrained(name)
    if path.suffix != ".safetensors" and not (CHECKPOINTS / f"{name}.safetensors").is_file():
        known = ", ".join(sorted(p.stem for p in CHECKPOINTS.glob("*.safetensors")))
        raise FileNotFoundError(
            f"expected the folder of a run, a .safetensors file, or one of {known}, "
            f"got {str(name)!r}"
        )
    return load_model(path if path.suffix == ".safetensors" else name)


def _model_of_run(folder: Path) -> Path:
    """Find the model in the folder of a run."""
    if (folder / MODEL).is_file():
        return folder / MODEL
    if (folder / UNFINISHED).is_file():
        raise CheckpointError(
            f"expected {MODEL} in {folder}, but the run is not finished: the command that began it "
            "goes on with it"
        )
    raise FileNotFoundError(f"expected {MODEL} in {folder}, found none: no run ended there")
