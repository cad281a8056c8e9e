# SPDX-License-Identifier: MIT
"""How the benchmarks measure: alternating pairs in one process, CPU-seconds beside wall time.

CPU-seconds are those of all threads of this process, so that other programs on the machine, which
stretch the wall time, matter little; what remains of their influence falls on both sides alike.
"""

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple


class Cost(NamedTuple):
    """What a piece of work took, in seconds."""

    cpu: float
    wall: float


class Pairs(NamedTuple):
    """Costs of alternating runs; entry i of both was measured in pair i."""

    ours: list[Cost]
    peer: list[Cost]

    def wall_ratio(self) -> float:
        """Return the median of ours / peer in wall time."""
        return statistics.median(a.wall / b.wall for a, b in zip(self.ours, self.peer, strict=True))


def measure(work: Callable[[], object]) -> Cost:
    """Run something once: CPU-seconds of all threads, and wall time."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return Cost(time.process_time() - cpu, time.perf_counter() - wall)


def alternate(
    ours: Callable[[], object], peer: Callable[[], object], *, n_pairs: int, n_warmup: int = 1
) -> Pairs:
    """Measure two pieces of work in turn; which goes first changes from pair to pair.

    Each is called `n_warmup` times before, which is not measured.

    Raises:
        ValueError: Fewer than one pair.
    """
    if n_pairs < 1:
        raise ValueError(f"expected n_pairs >= 1, got {n_pairs}")
    for _ in range(n_warmup):
        ours()
        peer()
    pairs = Pairs([], [])
    for i in range(n_pairs):
        sides = [(ours, pairs.ours), (peer, pairs.peer)]
        for work, costs in sides if i % 2 == 0 else reversed(sides):
            costs.append(measure(work))
    return pairs
