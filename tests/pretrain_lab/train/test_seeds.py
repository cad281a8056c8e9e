# SPDX-License-Identifier: MIT
"""Keys and shares: what makes a run independent of the number of processes."""

import itertools

import pytest
import torch

from pretrain_lab.train.seeds import key, keyed_generator, micro_batches


def test_a_key_is_the_same_on_every_machine() -> None:
    """Known values: were they to change, old checkpoints would resume to other losses."""
    assert key(0, 1, 2) == 10_917_752_987_982_246_961
    assert key(0, "weights") == 5_868_073_730_023_306_893


def test_keys_differ_in_every_part() -> None:
    """Seed, step and sample each count, and (1, 23) is not (12, 3)."""
    keys = {key(*parts) for parts in itertools.product(range(20), repeat=3)}
    assert len(keys) == 20**3
    assert key(0, 1, 23) != key(0, 12, 3) != key(0, 123)
    assert key(0, 1) != key(0, "1")


def test_neighbouring_generators_are_independent() -> None:
    """Means of uniform draws over samples, over steps and over seeds are those of chance."""
    for place in range(3):
        parts = [[3, 3, 3] for _ in range(2_000)]
        for n, part in enumerate(parts):
            part[place] = n
        draws = torch.stack([torch.rand(4, generator=keyed_generator(*part)) for part in parts])
        assert (draws.mean(dim=0) - 0.5).abs().max() < 4 * (1 / 12 / 2_000) ** 0.5
        correlation = torch.corrcoef(torch.stack([draws[:-1, 0], draws[1:, 0]]))[0, 1]
        assert abs(float(correlation)) < 4 / 2_000**0.5


@pytest.mark.parametrize("n_processes", [1, 2, 3, 6])
def test_processes_together_compute_each_part_once(n_processes: int) -> None:
    """And the parts are the same whatever their number."""
    shares = [micro_batches(24, 4, n_processes=n_processes, process=p) for p in range(n_processes)]
    assert [part for share in shares for part in share] == [
        range(k, k + 4) for k in range(0, 24, 4)
    ]
    assert len({len(share) for share in shares}) == 1


def test_the_smallest_share() -> None:
    """One sample at once, and one part for the whole batch."""
    assert micro_batches(2, 1, n_processes=2, process=1) == [range(1, 2)]
    assert micro_batches(3, 3, n_processes=1, process=0) == [range(3)]


def test_what_cannot_be_shared_is_refused() -> None:
    """The messages name the numbers that do not fit."""
    with pytest.raises(ValueError, match="divides batch_size = 24, got 5"):
        micro_batches(24, 5, n_processes=1, process=0)
    with pytest.raises(ValueError, match="divides batch_size = 4, got 8"):
        micro_batches(4, 8, n_processes=1, process=0)
    with pytest.raises(ValueError, match="divides batch_size = 0, got 4"):
        micro_batches(0, 4, n_processes=1, process=0)
    for size, process in ((0, 0), (-1, 0), (4, 2), (4, -1)):
        with pytest.raises(ValueError, match=rf"process in 0\.\.1, got {size} and {process}"):
            micro_batches(24, size, n_processes=2, process=process)
    with pytest.raises(ValueError, match=r"the 6 micro-batches of a batch \(24 windows, 4 at once"):
        micro_batches(24, 4, n_processes=4, process=0)
