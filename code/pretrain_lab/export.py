# SPDX-License-Identifier: MIT
"""Write a trained model in Hugging Face's form: `python -m pretrain_lab.export MODEL FOLDER`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pretrain.bert import BERT
from pretrain.gpt import GPT
from pretrain.t5 import T5
from pretrain_lab.commands import REFUSED, one_line, run_command
from pretrain_lab.finetuning.sequence_classification import TextClassifier
from pretrain_lab.finetuning.token_classification import WordTagger
from pretrain_lab.hub.weights import to_huggingface
from pretrain_lab.trained import load_trained

CLASSES = {
    GPT: "AutoModelForCausalLM", BERT: "AutoModelForMaskedLM", T5: "AutoModelForSeq2SeqLM",
    TextClassifier: "AutoModelForSequenceClassification",
    WordTagger: "AutoModelForTokenClassification",
}  # fmt: skip
"""What reads which model there."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 0 = done, 2 = refused."""
    given = _parser().parse_args(arguments)
    folder = Path(given.folder).expanduser()
    try:
        _check_folder(folder)
        model, tokenizer = load_trained(given.model)
        exported = to_huggingface(model, folder, tokenizer)
    except (ValueError, TypeError, *REFUSED) as error:
        sys.stderr.write(f"pretrain_lab.export: {one_line(error)}\n")
        return 2
    auto = CLASSES.get(type(model), "AutoModel")
    print(
        f"{exported}. In Python:\n"
        f"  from transformers import AutoTokenizer, {auto}\n"
        f"  model = {auto}.from_pretrained({str(folder)!r})\n"
        f"  tokenizer = AutoTokenizer.from_pretrained({str(folder)!r})"
    )
    return 0


def _check_folder(folder: Path) -> None:
    """Refuse a folder that holds something other than an earlier export."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"expected a folder, but {folder} is a file")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "config.json").is_file():
        raise ValueError(
            f"expected a new folder or an earlier export, but {folder} holds other files"
        )


def _parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m pretrain_lab.export",
        description="Write weights, configuration and tokeniser so that `transformers` reads them.",
    )
    parser.add_argument(
        "model", help="the folder of a run, a .safetensors file, or a name in data/checkpoints"
    )
    parser.add_argument("folder", help="a new folder, or an earlier export, which is replaced")
    return parser


if __name__ == "__main__":
    run_command(main)
