"""Run the benchmarks and write their table: `python -m benchmarks`, from the repository's root.

One thread throughout, so that CPU-seconds are work and not waiting for another thread. Implemented:
training steps (b) and generation (d). Left out so far: time to quality (a) and equal time (c), of
which the baselines and the text exist (`baseline_a`, `nanogpt_recipe`, `text`).
"""

from pathlib import Path

import torch
import transformers

from benchmarks import generation, steps
from benchmarks.rows import write_rows

RESULTS = Path(__file__).with_name("results.json")


def main() -> None:
    """Measure everything and write `benchmarks/results.json`."""
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    rows = [*steps.run(), *generation.run()]
    machine = {
        "threads": torch.get_num_threads(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    write_rows(RESULTS, rows, machine)
    for row in rows:
        print(f"{row.name:48s} {row.ours:10.4g} {row.peer:10.4g} {row.ratio:6.2f}  {row.unit}")
    print(f"bench: {len(rows)} rows are in benchmarks/results.json")


main()
