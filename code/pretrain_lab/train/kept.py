# SPDX-License-Identifier: MIT
"""The ids of a text, kept in the folder of a run, so that a resume neither learns nor encodes anew.

They are known again by a key, in which the bytes of the files and all that decides their ids count.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from pretrain_lab.checkpoints import AnyTokenizer
from pretrain_lab.run_state import replacing
from pretrain_lab.train.tokenizer import tokenizer_from_dict

KEPT = "text.safetensors"
"""File in the folder of a run with the ids of its text and their vocabulary."""


@dataclass(frozen=True)
class Counts:
    """How much text there is; 0 where a stream was not read to its end."""

    characters: int = 0
    tokens: int = 0
    unknown: float = 0.0  # share of [UNK] among the tokens
    held_characters: int = 0
    held_tokens: int = 0

    @property
    def tokens_per_character(self) -> float:
        """Of the text held out where there is one; 0 where it is not known."""
        if self.held_characters:
            return self.held_tokens / self.held_characters
        return self.tokens / self.characters if self.characters else 0.0


class Ids(NamedTuple):
    """A text in ids."""

    tokenizer: AnyTokenizer
    train: Tensor  # int64 (L,)
    held_out: Tensor  # int64 (M,); empty where nothing is held out
    counts: Counts


def keep(path: Path, key: str | None, ids: Ids | None) -> None:
    """Write vocabulary and ids beside the run, unless they are there or need not be kept."""
    if key is None or ids is None or read_kept(path, key) is not None:
        return
    header = {"key": key, "counts": asdict(ids.counts), "tokenizer": ids.tokenizer.to_dict()}
    tensors = {"train": ids.train.int(), "held_out": ids.held_out.int()}
    with replacing(path) as part:
        save_file(tensors, part, metadata={"text": json.dumps(header)})


def read_kept(path: Path, key: str) -> Ids | None:
    """Read kept ids; None where there are none, or those of another text."""
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {})["text"])
            if header["key"] != key:
                return None
            train, held = (file.get_tensor(name).long() for name in ("train", "held_out"))
        return Ids(
            tokenizer_from_dict(header["tokenizer"]), train, held, Counts(**header["counts"])
        )
    except (SafetensorError, KeyError, TypeError, ValueError, OSError):
        return None


def digest(content: bytes) -> str:
    """Give 16 hexadecimal digits by which a content is known again."""
    return hashlib.sha256(content).hexdigest()[:16]
