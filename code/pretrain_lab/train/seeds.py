# SPDX-License-Identifier: MIT
"""Which process computes what, and from which random numbers.

A seed is derived for every random choice of a run from the run's seed, the step and the sample, and
processes take parts of a fixed size of each global batch. So a run depends neither on the number of
processes nor on where it was interrupted: there is no state of a generator to carry or to save.

A derived seed has 64 bits, of which torch's generator on a CPU uses 32. Among 100,000 samples about
one pair has the same; then one window comes twice, which does no harm.
"""

import hashlib

from torch import Generator


def derive_seed(seed: int, *parts: int | str) -> int:
    """Mix a run's seed and the name of a random choice, such as a step and a sample.

    The number is below 2^64 and looks random; it is the same on every machine.
    """
    name = repr((seed, *parts)).encode()
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little")


def derive_generator(seed: int, *parts: int | str) -> Generator:
    """Make a generator, on the CPU, for one random choice; arguments are those of `derive_seed`."""
    return Generator().manual_seed(derive_seed(seed, *parts))


def micro_batches(
    batch_size: int, micro_batch_size: int, *, n_processes: int, process: int
) -> list[range]:
    """Give the parts of each global batch that one process, counted from 0, computes.

    Part k holds the samples, numbered inside the global batch, from k * micro_batch_size on,
    whoever computes it. The size is a divisor of batch_size.

    Raises:
        ValueError: The processes cannot share the parts equally.
    """
    n_parts, rest = divmod(batch_size, micro_batch_size)
    assert rest == 0 <= process < n_processes, "the configuration was refused otherwise"
    if n_parts % n_processes:
        raise ValueError(
            f"expected a number of processes that divides the {n_parts} micro-batches of a batch "
            f"({batch_size} windows, {micro_batch_size} at once), got {n_processes}; "
            "choose another training.batch_size or training.micro_batch_size"
        )
    share = n_parts // n_processes
    starts = range(process * share, (process + 1) * share)
    return [range(k * micro_batch_size, (k + 1) * micro_batch_size) for k in starts]
