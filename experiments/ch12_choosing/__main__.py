# SPDX-License-Identifier: MIT
"""When is which model worth its price? (CHO-R1, CHO-R2).

Writes data/runs/choosing.json. Two studies.

Costs: one pass of an encoder of MiniLM's shape over a text, against a decoder and an
encoder–decoder of the same blocks that read the text and write an answer. CPU time as multiples of
the encoder's pass, measured in turns within one process; operations are counted in the chapter.

Kinds: does a text about a film tell its plot or judge it? Once whole texts, once single sentences
whose lengths are paired; films are disjoint. Counted words and a linear probe on frozen MiniLM
learn from 16 labels upwards; they are compared with a rule by length, a list of words and a
prompted SmolLM2.

Some 6 CPU-minutes, on an otherwise idle machine, since it measures time. `--quick` takes few texts
and leaves out SmolLM2, and writes nothing.
"""

import argparse
from functools import partial
from typing import Any

from experiments.ch12_choosing import costs, tasks
from experiments.common.arm_cache import ArmCache
from pretrain_lab.tasks.subjectivity import FORMS


def main() -> None:
    """Run what is missing, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a trial that writes nothing")
    quick: bool = parser.parse_args().quick
    plan = tasks.Plan.quick() if quick else tasks.Plan()
    timed = costs.Plan.quick() if quick else costs.Plan()
    settings = {"costs": timed.settings(), "kinds": plan.settings()}
    cache = ArmCache("choosing", settings, keep=not quick)
    record: dict[str, Any] = {
        "question": "What does an answer cost, and when do counted words do?",
        "interval": "costs: middle half of the turns; kinds: 95 %, films and draws resampled",
        "costs": cache.get("costs", partial(costs.measure, timed)),
        "kinds": {
            **plan.settings(), "forms": {form: tasks.study(cache, form, plan) for form in FORMS}
        },
    }  # fmt: skip
    cache.conclude(record)


if __name__ == "__main__":
    main()
