# SPDX-License-Identifier: MIT
"""Train any of the objectives on any text: `python -m pretrain_lab.train --config FILE`.

One command for one CPU, several processes, a GPU, or a cluster, by the `accelerate` library, under
`accelerate launch` or `torchrun`. What a configuration may say is in `pretrain_lab.train.options`;
examples are in `experiments/configs`.

Tested on CPUs: one process, two (gloo), and weights shared out between two (FSDP2). The same code
is written for GPUs, but was not tested on them. Left out: FSDP1, DeepSpeed, float16.
"""

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence

from pretrain_lab.run_state import CheckpointError
from pretrain_lab.train import options
from pretrain_lab.train.config import load_config
from pretrain_lab.train.loop import train
from pretrain_lab.train.objectives import OBJECTIVES


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 0 = done, 1 = stopped, 2 = refused."""
    given = _parser().parse_args(arguments)
    try:
        train(load_config(given.config, given.set), cpu=given.cpu)
    except (options.ConfigError, CheckpointError) as error:
        sys.stderr.write(f"pretrain_lab.train: {error}\n")  # at once, for several may write
        return 2
    except FloatingPointError as error:
        sys.stderr.write(f"pretrain_lab.train: {error}; the last checkpoint is as it was\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write(
            "pretrain_lab.train: stopped; the same command goes on where it last saved\n"
        )
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    """Describe the command line and, below it, the configuration."""
    parser = argparse.ArgumentParser(
        prog="python -m pretrain_lab.train",
        description="Pre-train a GPT, a BERT or a T5 on any text, as a TOML file says.\n\n"
        "  python -m pretrain_lab.train --config experiments/configs/gpt.toml\n"
        "  torchrun --nproc_per_node 2 -m pretrain_lab.train --config ...\n"
        "  accelerate launch --multi_gpu --num_processes 8 -m pretrain_lab.train --config ...\n\n"
        "The same command resumes a run that was stopped.",
        epilog="options of the configuration\n" + describe_options(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", required=True, metavar="FILE", help="TOML file")
    parser.add_argument(
        "--set", action="append", default=[], metavar="SECTION.OPTION=VALUE",
        help="replace an option of the file, or take it away (no VALUE); may be repeated",
    )  # fmt: skip
    parser.add_argument("--cpu", action="store_true", help="leave a GPU alone")
    return parser


def describe_options() -> str:
    """List every option with its type, default and meaning, from the fields that are checked."""
    own = [spec.options for spec in OBJECTIVES.values()]
    sections: list[type[options.Options]] = [
        options.DataOptions, options.TokenizerOptions, *own,
        options.TrainingOptions, options.OutputOptions,
    ]  # fmt: skip
    lines = []
    for section in sections:
        schema = section.model_json_schema()
        lines += ["", schema["description"]]
        for name, option in schema["properties"].items():
            if section in own and name == "kind":
                continue
            default = "required"
            if "default" in option:
                default = "default " + json.dumps(option["default"]).replace("null", "none")
            about = f"{options.allowed(option)}; {default}"
            lines.append(f"  {name}: {option['description']} ({about})")
    lines += ["", "[model]: the fields of the configuration of the objective's model"]
    for kind, spec in OBJECTIVES.items():
        names = ", ".join(one.name for one in dataclasses.fields(spec.config)[1:])
        lines.append(f"  {kind}, a {spec.model.__name__}: {names}")
    lines.append("The vocabulary is the tokeniser's; max_len is data.seq_len unless it is given.")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
