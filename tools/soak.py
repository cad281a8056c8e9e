# SPDX-License-Identifier: MIT
"""Kill training runs again and again, and ask that they end as if nobody had: ``make soak``.

Both ways to train are soaked, `pretrain.train` as a command and `pretrain.training.fit`
(:mod:`soak_runs`), each with a GPT, a BERT and a T5. Every run is a process of its own. It dies by
SIGKILL in one of four phases, drawn from a printed seed:

- start-up: anywhere between the start of Python and the first step;
- step: at a random moment of a random step, that is in it or between two;
- writing: as soon as the temporary file of a checkpoint is seen;
- finishing: after the last step, while model and history are written.

What is reported is where a kill hit, which can be another phase than the one meant. After each kill
every file that a later run reads must be whole. The same command then resumes, is killed again, and
at last left alone. Losses, evaluations and weights must equal, bit for bit, those of a run that
nobody disturbed, and the command, given once more beside the files that killed runs left behind,
must change nothing. Machines that lose power, and their disks, are beyond this test.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

import psutil

from chapters import ROOT
from soak_runs import KINDS, WAYS, Attempt, SoakError, check_whole, results, write_text

RECORD = ROOT / "data" / "runs" / "soak.json"
KILLS_A_RUN = 9
MOST_MISSED = 20
"""Runs that may end before their kill, over a whole soak; on a busy machine some do."""
PATTERN = ("writing", "step", "start-up", "writing", "step", "finishing", "writing", "start-up")
"""Phases in the order in which a combination of way and model gets them."""
PACKAGES = ("torch", "safetensors", "accelerate", "tokenizers")


@dataclass
class Plan:
    """One run to be disturbed."""

    way: str
    kind: str
    phases: list[str]
    """Where to kill it, in this order."""


@dataclass
class Tally:
    """What was counted."""

    hit: Counter[str] = field(default_factory=Counter)
    """Kills by the phase in which they hit."""
    meant: Counter[str] = field(default_factory=Counter)
    written: Counter[str] = field(default_factory=Counter)
    """Half-written files left behind, by what they should have become."""
    exact: int = 0
    """Kills whose run ended as the undisturbed one."""
    runs: int = 0
    missed: int = 0
    """Runs that ended before the moment of their kill came; the kill was made up for."""
    starts: int = 0


def main(arguments: list[str] | None = None) -> int:
    """Soak, report, and write the record.

    Args:
        arguments: Command-line words; None = those of this process.

    Returns:
        0 when every run ended as the undisturbed one, 1 otherwise.
    """
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=50, metavar="N")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--record", type=Path, default=RECORD, metavar="FILE")
    options = parser.parse_args(arguments)
    print(f"soak: {options.kills} kills, seed {options.seed}", flush=True)
    begin, tally = time.perf_counter(), Tally()
    try:
        with tempfile.TemporaryDirectory(prefix="soak-") as scratch:
            soak(make_plans(options.kills, options.seed), options.seed, Path(scratch), tally)
    except SoakError as error:
        print(f"soak failed (seed {options.seed}): {error}", file=sys.stderr)
        return 1
    record = _record(tally, options.seed, time.perf_counter() - begin)
    options.record.parent.mkdir(parents=True, exist_ok=True)
    options.record.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(
        f"soak: killed {dict(tally.hit)}, {tally.exact} of {tally.hit.total()} resumes exact, "
        f"{tally.runs} runs, {tally.starts} starts, {record['seconds']:.0f} s, "
        f"{record['cpu_seconds']:.0f} CPU-seconds"
    )
    return 0


def make_plans(n_kills: int, seed: int, ways: tuple[str, ...] = WAYS) -> list[Plan]:
    """Spread kills over ways, models, runs and phases.

    Args:
        n_kills: Number of kills in all.
        seed: Decides the order of the phases.
        ways: The ways to train.

    Returns:
        Runs with at most nine kills each. One that is killed while it finishes has no steps left,
        so that this kill is its last, and there is one such at most.
    """
    draw = random.Random(seed)
    pairs = [(way, kind) for way in ways for kind in KINDS]
    plans = []
    for number, (way, kind) in enumerate(pairs):
        count = n_kills // len(pairs) + (number < n_kills % len(pairs))
        phases = [PATTERN[i % len(PATTERN)] for i in range(count)]
        draw.shuffle(phases)
        n_runs = -(-count // KILLS_A_RUN)
        for part in range(n_runs):
            ordered = sorted(phases[part::n_runs], key=lambda phase: phase == "finishing")
            once = [p for i, p in enumerate(ordered) if p != "finishing" or i == len(ordered) - 1]
            plans.append(Plan(way, kind, ["step"] * (len(ordered) - len(once)) + once))
    return plans


def soak(
    plans: list[Plan],
    seed: int,
    folder: Path,
    tally: Tally,
    tell: Callable[[str], None] = lambda line: print(line, flush=True),
) -> None:
    """Carry plans out.

    Args:
        plans: From `make_plans`.
        seed: Decides the moments, as far as the machine repeats itself.
        folder: For texts and runs.
        tally: Counted up as things happen, so that it is right when this raises, too.
        tell: Takes a line of progress.

    Raises:
        SoakError: A run did not end as the undisturbed one, or could not be resumed.
    """
    draw = random.Random(seed)
    text = write_text(folder / "text.txt")
    undisturbed: dict[tuple[str, str], Attempt] = {}
    for plan in plans:
        pair = plan.way, plan.kind
        if pair not in undisturbed:
            undisturbed[pair] = Attempt(*pair, text, folder / f"{plan.way}-{plan.kind}")
            undisturbed[pair].finish()
            tally.starts += 1
        waiting = list(plan.phases)
        while waiting:
            run = folder / f"{plan.way}-{plan.kind}-{tally.starts}"
            happened = _disturb(plan, waiting, text, run, undisturbed[pair], draw, tally)
            _end(plan, happened, text, run, undisturbed[pair], tally)
            phases = ", ".join(happened) or "nothing"
            tell(f"    {plan.way} {plan.kind}: killed in {phases}; ended exactly")


def _disturb(
    plan: Plan, waiting: list[str], text: Path, folder: Path, model_run: Attempt,
    draw: random.Random, tally: Tally,
) -> list[str]:  # fmt: skip
    """Begin a run and kill it in one phase after the other, as long as it has steps left."""
    happened: list[str] = []
    while waiting and "finishing" not in happened:
        attempt = Attempt(plan.way, plan.kind, text, folder)
        tally.starts += 1
        hit = attempt.kill(waiting[0], draw, model_run.startup_seconds)
        if hit is None:  # it ended before the moment came
            tally.missed += 1
            if tally.missed > MOST_MISSED:
                raise SoakError(f"{tally.missed} runs ended before the moment of their kill came")
            break
        happened.append(hit)
        tally.meant[waiting.pop(0)] += 1
        tally.hit[hit] += 1
        tally.written.update(attempt.left_behind())
        check_whole(folder)
    return happened


def _end(
    plan: Plan, happened: list[str], text: Path, folder: Path, model_run: Attempt, tally: Tally
) -> None:
    """Let a run end, compare it, and ask once more for what is there already."""
    expected = results(model_run.folder)
    for what in ("resumed to the end", "given once more"):
        attempt = Attempt(plan.way, plan.kind, text, folder)
        tally.starts += 1
        attempt.finish()
        found = results(folder)
        wrong = [name for name in expected if expected[name] != found[name]]
        if what == "given once more" and attempt.steps_seen:
            wrong.append("its number of steps")
        if wrong:
            raise SoakError(
                f"{plan.way} {plan.kind}, killed in {', '.join(happened)}, {what}: "
                f"{' and '.join(wrong)} not as in the undisturbed run"
            )
    tally.runs += 1
    tally.exact += len(happened)


def _record(tally: Tally, seed: int, seconds: float) -> dict[str, Any]:
    """Collect what is written to disk."""
    return {
        "seed": seed,
        "kills": dict(sorted(tally.hit.items())),
        "kills_meant": dict(sorted(tally.meant.items())),
        "half_written_files": dict(sorted(tally.written.items())),
        "resumes": tally.hit.total(),
        "resumes_exact": tally.exact,
        "runs": tally.runs,
        "missed": tally.missed,
        "starts": tally.starts,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(sum(psutil.Process().cpu_times()[:4]), 1),
        "versions": {"python": python_version()} | {name: version(name) for name in PACKAGES},
    }


if __name__ == "__main__":
    sys.exit(main())
