# SPDX-License-Identifier: MIT
"""Let a trained model write, fill or answer: `python -m pretrain_lab.sample MODEL PROMPT`."""

import argparse
import sys
from collections.abc import Sequence

from pretrain.bert import BERT
from pretrain_lab.commands import REFUSED, one_line, run_command
from pretrain_lab.completion import complete, guesses
from pretrain_lab.trained import load_trained


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 0 = done, 2 = refused."""
    given = _parser().parse_args(arguments)
    settings = {
        "n_tokens": given.n_tokens, "temperature": given.temperature, "top_k": given.top_k,
        "top_p": given.top_p, "greedy": given.greedy, "seed": given.seed, "report": _note,
    }  # fmt: skip
    lines = []
    try:
        prompt = sys.stdin.read() if given.prompt == "-" else given.prompt
        model, tokenizer = load_trained(given.model)
        if isinstance(model, BERT):
            for place, best in enumerate(guesses(model, tokenizer, prompt, report=_note), start=1):
                words = ", ".join(f"{token!r} {p:.2f}" for token, p in best)
                lines.append(f"[MASK] {place}: {words}")
            settings["report"] = _nobody  # it was told already
        lines.append(complete(model, tokenizer, prompt, **settings))
    except (ValueError, TypeError, *REFUSED) as error:
        sys.stderr.write(f"pretrain_lab.sample: {one_line(error)}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("pretrain_lab.sample: stopped\n")
        return 1
    print(*lines, sep="\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m pretrain_lab.sample",
        description="Use a trained model: a GPT writes on from a prompt, a BERT fills every [MASK] "
        "and lists its five best guesses, a T5 fills <extra_id_0>, <extra_id_1>, … or answers.",
    )
    parser.add_argument(
        "model",
        help="the folder of a run, a .safetensors file, a name in data/checkpoints (gpt_plays, "
        "bert_words, t5_subwords), or a Hugging Face folder or id",
    )
    parser.add_argument("prompt", help="what the model reads; - reads it from standard input")
    parser.add_argument("--n-tokens", type=int, default=200, help="to write at most (%(default)s)")
    parser.add_argument(
        "--temperature",
        type=float,
        default=0.8,
        help="below 1 is safer, above bolder (%(default)s)",
    )
    parser.add_argument("--top-k", type=int, help="draw from the k most likely tokens")
    parser.add_argument("--top-p", type=float, help="draw from the tokens that reach probability p")
    parser.add_argument("--greedy", action="store_true", help="take the most likely token, always")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn (%(default)s)")
    return parser


def _note(text: str) -> None:
    """Tell something about the prompt, apart from the text."""
    sys.stderr.write(f"pretrain_lab.sample: {text}\n")


def _nobody(text: str) -> None:
    """Tell nobody."""


if __name__ == "__main__":
    run_command(main)
