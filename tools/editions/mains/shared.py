# SPDX-License-Identifier: MIT
"""What the three programs share: their options, characters as tokens, a line of progress."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pretrain.training import Hook, Run


def read_options(arguments: Sequence[str] | None, *, n_steps: int) -> argparse.Namespace:
    """Read the command line: a text, the number of steps (n_steps unless it says so), a seed.

    And what to save the model to, and a prompt, in which "_" is a gap for BERT and T5.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("text", type=read_text, help="a text file, in UTF-8")
    parser.add_argument("--steps", type=int, default=n_steps, help="of training (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of what is random (%(default)s)")
    parser.add_argument("--prompt", default="", help="what the model writes on; _ is a gap")
    parser.add_argument("--save", type=Path, help="file for the model; see save_model")
    options = parser.parse_args(arguments)
    if options.steps < 1:
        parser.error(f"expected --steps of 1 or more, got {options.steps}")
    unknown = sorted(set(options.prompt) - set(options.text) - {"_"})
    if unknown:
        parser.error(f"expected a --prompt of characters of the text, got {''.join(unknown)!r}")
    if options.save and not options.save.absolute().parent.is_dir():
        parser.error(f"expected a folder for --save, got {options.save.parent}, which is none")
    return options


def read_text(path: str) -> str:
    """Read a text file, and refuse one that is too short to learn from."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot read the text: {error}") from None
    except UnicodeDecodeError:
        raise argparse.ArgumentTypeError(f"expected UTF-8, but {path} is not") from None
    if len(text) < 5_000:
        raise argparse.ArgumentTypeError(f"expected 5,000 characters or more, got {len(text):,}")
    return text


def save_model(path: Path | None, model: Any, characters: "Characters") -> None:
    """Save a model, if a file is named.

    To read it in Python, beside this file: saved = torch.load(path, weights_only=True), then
    GPT(GPTConfig(**saved["config"])) and load_state_dict(saved["weights"]).
    """
    if path is not None:
        saved = {"config": asdict(model.config), "symbols": characters.symbols}
        torch.save({**saved, "weights": model.state_dict()}, path)
        print(f"\nsaved: {path}")


class Characters:
    """A vocabulary: the characters of a text, and behind them the special tokens."""

    def __init__(self, text: str, special: Sequence[str] = ()) -> None:
        """Number the characters in their order of code, then the special tokens as given."""
        ordinary = sorted(set(text))
        self.ids = {character: i for i, character in enumerate(ordinary)}
        self.symbols = [*ordinary, *special]
        self.special_ids = list(range(len(ordinary), len(self.symbols)))

    def encode(self, text: str, gap_id: int | None = None) -> Tensor:
        """Turn a text of L characters into ids, int64 (L,); "_" is a gap where that has an id."""
        ids = self.ids if gap_id is None else {**self.ids, "_": gap_id}
        return torch.tensor([ids[character] for character in text])

    def decode(self, ids: Tensor) -> str:
        """Turn ids (L,) into a text in which special tokens are written out."""
        return "".join(self.symbols[i] for i in ids.tolist())

    def show(self, *texts: Tensor) -> None:
        """Print texts, each (L,), beside each other, with spaces for line breaks."""
        print(*(self.decode(ids).replace("\n", " ") for ids in texts), sep=" | ")


class PrintLoss(Hook):
    """Print the training loss, in nats per prediction, twenty times on the way."""

    def after_step(self, run: Run) -> None:
        """Print it, when it is time."""
        if run.is_due(max(1, run.n_steps // 20)):
            print(f"step {run.step:5}  loss {run.history.losses[-1]:.4f}", flush=True)
