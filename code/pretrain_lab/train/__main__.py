# SPDX-License-Identifier: MIT
"""Train any of the objectives on any text: `python -m pretrain_lab.train FILE.toml [TEXT …]`.

One command for one CPU, several processes, a GPU, or a cluster, by the `accelerate` library, under
`accelerate launch` or `torchrun`. What a configuration may say is in `pretrain_lab.train.options`;
examples are in `experiments/configs`.

Tested on CPUs: one process, two (gloo), and weights shared out between two (FSDP2). The same code
is written for GPUs, but was not tested on them. Left out: FSDP1, DeepSpeed, float16.
"""

import argparse
import json
import sys
from collections.abc import Sequence

from pretrain_lab.commands import REFUSED, one_line, run_command
from pretrain_lab.train import options
from pretrain_lab.train.config import load_config, model_options
from pretrain_lab.train.interrupts import Stopped
from pretrain_lab.train.loop import train
from pretrain_lab.train.objectives import OBJECTIVES


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 0 = done, 1 = stopped, 2 = refused."""
    given = _parser().parse_args(arguments)
    paths = [*given.paths] if given.config is None else [given.config, *given.paths]
    try:
        if not paths:
            raise options.ConfigError(
                "expected a configuration, such as experiments/configs/own_text.toml, and then, if "
                "you like, your text files"
            )
        train(load_config(paths[0], given.set, paths[1:]), cpu=given.cpu)
    except (options.ConfigError, *REFUSED) as error:
        return _say(2, one_line(error))
    except FloatingPointError as error:
        return _say(1, f"{error}; the last checkpoint is as it was. Try a lower training.lr")
    except Stopped as stop:
        return _say(1, str(stop))
    except KeyboardInterrupt:
        return _say(1, "stopped at once; the same command goes on where the run was last saved")
    return 0


def _say(code: int, text: str) -> int:
    """Write a line at once, for several processes may write, and give the exit code."""
    sys.stderr.write(f"pretrain_lab.train: {text}\n")
    return code


def _parser() -> argparse.ArgumentParser:
    """Describe the command line and, below it, the configuration."""
    parser = argparse.ArgumentParser(
        prog="python -m pretrain_lab.train",
        description="Pre-train a GPT, a BERT or a T5 on any text, as a TOML file says.\n\n"
        "  python -m pretrain_lab.train experiments/configs/own_text.toml novel.txt\n"
        "  torchrun --nproc_per_node 2 -m pretrain_lab.train experiments/configs/gpt.toml\n"
        "  accelerate launch --multi_gpu --num_processes 8 -m pretrain_lab.train ...\n\n"
        "The same command resumes a run that was stopped. On a resume, n_steps may grow, and the\n"
        "rates and evaluations of [training] may change.",
        epilog="options of the configuration\n" + describe_options(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "paths", nargs="*", metavar="FILE", help="the TOML file, then text files for its data.files"
    )
    parser.add_argument("--config", metavar="FILE", help="the TOML file, if it is not the first")
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
        lines += ["", section.model_json_schema()["description"]]
        lines += _lines(section, without="kind" if section in own else "")
    lines += ["", "[model]: sizes and choices of the objective's model"]
    models = {spec.config: spec.model.__name__ for spec in OBJECTIVES.values()}
    for config, name in models.items():
        kinds = [kind for kind, spec in OBJECTIVES.items() if spec.config is config]
        lines.append(f"  of a {name} ({', '.join(kinds)}):")
        lines += [f"  {line}" for line in _lines(model_options(config))]
    lines.append("The vocabulary is the tokeniser's; max_len is data.seq_len unless it is given.")
    return "\n".join(lines)


def _lines(section: type[options.Options], without: str = "") -> list[str]:
    """Describe the options of one section, a line each."""
    lines = []
    for name, option in section.model_json_schema()["properties"].items():
        if name == without:
            continue
        default = "required"
        if "default" in option:
            default = "default " + json.dumps(option["default"]).replace("null", "none")
        about = f"{options.allowed(option)}; {default}"
        of_model = option["description"].endswith("Config")
        meaning = "" if of_model else f"{option['description']} "
        lines.append(f"  {name}: {meaning}({about})")
    return lines


if __name__ == "__main__":
    run_command(main)
