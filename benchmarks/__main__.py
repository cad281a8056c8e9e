# SPDX-License-Identifier: MIT
"""Run the benchmarks and write their table: `python -m benchmarks`, from the repository's root.

One thread throughout, so that CPU-seconds are work and not waiting for another thread. About 40
minutes; `python -m benchmarks b d` measures only those parts again and keeps the other rows.

Implemented: time to quality (a), training steps (b), loss at equal time (c), generation (d).
"""

import argparse
from pathlib import Path

import torch
import transformers

from benchmarks import equal_time, generation, quality, steps
from benchmarks.rows import read_rows, write_rows

RESULTS = Path(__file__).with_name("results.json")
PARTS = {"a": quality.run, "b": steps.run, "c": equal_time.run, "d": generation.run}


def main() -> None:
    """Measure the parts that were asked for, all by default, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=sorted(PARTS), help="default: all")
    asked = parser.parse_args().parts or sorted(PARTS)
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    machine: dict[str, str | int] = {
        "threads": torch.get_num_threads(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    for part in asked:
        kept = [row for row in read_rows(RESULTS) if not row.name.startswith(f"{part} ")]
        new = PARTS[part]()
        write_rows(RESULTS, sorted([*kept, *new], key=lambda row: row.name[0]), machine)
        for row in new:
            print(f"{row.name:56s} {row.ours:10.4g} {row.peer:10.4g} {row.ratio:6.2f}  {row.unit}")


main()
