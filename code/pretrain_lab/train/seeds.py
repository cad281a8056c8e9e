# SPDX-License-Identifier: MIT
"""Which process computes what, and from which random numbers.

Implemented: keys, which make every random choice of a run a function of the seed, the step and the
sample, and the division of a global batch into parts of a fixed size, which processes take in
turn. So a run does not depend on the number of processes, nor on where it was interrupted: there is
no state of a generator to carry along or to save.

A key has 64 bits, of which torch's generator on a CPU uses 32. Among 100,000 samples about one pair
has the same; then one window comes twice, which does no harm.
"""

import hashlib

from torch import Generator


def key(seed: int, *parts: int | str) -> int:
    """Mix a seed and the name of a random choice into one number.

    Args:
        seed: The seed of the run.
        parts: What the choice is for, such as a step and a sample.

    Returns:
        A number below 2^64 that looks random; the same on every machine.
    """
    name = repr((seed, *parts)).encode()
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little")


def keyed_generator(seed: int, *parts: int | str) -> Generator:
    """Make a generator for one random choice; its numbers depend on nothing but the key.

    Args:
        seed: The seed of the run.
        parts: What the choice is for, such as a step and a sample.

    Returns:
        A generator on the CPU.
    """
    return Generator().manual_seed(key(seed, *parts))


def micro_batches(
    batch_size: int, micro_batch_size: int, *, n_processes: int, process: int
) -> list[range]:
    """Give the parts of each global batch that one process computes.

    Args:
        batch_size: Samples in a global batch.
        micro_batch_size: Samples in each part.
        n_processes: Number of processes.
        process: Number of this one, counted from 0.

    Returns:
        Samples of each part, as numbers inside the global batch. Part k holds the samples from
        k * micro_batch_size on, whoever computes it.

    Raises:
        ValueError: The parts do not fill the batch, the processes cannot share them equally, or
            there is no such process.
    """
    if micro_batch_size < 1 or not 0 <= process < n_processes:
        raise ValueError(
            f"expected micro_batch_size >= 1 and process in 0..{n_processes - 1}, got "
            f"{micro_batch_size} and {process}"
        )
    n_parts, rest = divmod(batch_size, micro_batch_size)
    if rest or n_parts < 1:
        raise ValueError(
            f"expected a micro_batch_size that divides batch_size = {batch_size}, "
            f"got {micro_batch_size}"
        )
    if n_parts % n_processes:
        raise ValueError(
            f"expected a number of processes that divides the {n_parts} micro-batches of a batch "
            f"({batch_size} windows, {micro_batch_size} at once), got {n_processes}; "
            "choose another training.batch_size or training.micro_batch_size"
        )
    share = n_parts // n_processes
    starts = range(process * share, (process + 1) * share)
    return [range(k * micro_batch_size, (k + 1) * micro_batch_size) for k in starts]
