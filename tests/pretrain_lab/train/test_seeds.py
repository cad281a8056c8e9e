# SPDX-License-Identifier: MIT
"""Seeds and shares: what makes a run independent of the number of processes."""

import itertools

import pytest
import torch

from pretrain_lab.train.seeds import derive_generator, derive_seed, micro_batches


def test_a_seed_is_the_same_on_every_machine_and_differs_in_every_part() -> None:
    """Were the known values to change, old checkpoints would resume to other losses."""
    assert derive_seed(0, 1, 2) == 10_917_752_987_982_246_961
    assert derive_seed(0, "weights") == 5_868_073_730_023_306_893
    seeds = {derive_seed(*parts) for parts in itertools.product(range(20), repeat=3)}
    assert len(seeds) == 20**3
    assert derive_seed(0, 1, 23) != derive_seed(0, 12, 3) != derive_seed(0, 123)
    assert derive_seed(0, 1) != derive_seed(0, "1")


@pytest.mark.parametrize("place", range(3), ids=["seed", "step", "sample"])
def test_neighbouring_generators_are_independent(place: int) -> None:
    """Means and correlations of uniform draws are those of chance."""
    parts = [[3, 3, 3] for _ in range(2_000)]
    for n, part in enumerate(parts):
        part[place] = n
    draws = torch.stack([torch.rand(4, generator=derive_generator(*part)) for part in parts])
    assert (draws.mean(dim=0) - 0.5).abs().max() < 4 * (1 / 12 / 2_000) ** 0.5
    correlation = torch.corrcoef(torch.stack([draws[:-1, 0], draws[1:, 0]]))[0, 1]
    assert abs(float(correlation)) < 4 / 2_000**0.5


@pytest.mark.parametrize("n_processes", [1, 2, 3, 6])
def test_processes_together_compute_each_part_once(n_processes: int) -> None:
    """And the parts are the same whatever their number; an unequal share is refused."""
    shares = [micro_batches(24, 4, n_processes=n_processes, process=p) for p in range(n_processes)]
    assert [part for share in shares for part in share] == [
        range(k, k + 4) for k in range(0, 24, 4)
    ]
    assert len({len(share) for share in shares}) == 1
    with pytest.raises(ValueError, match=r"the 6 micro-batches of a batch \(24 windows, 4 at once"):
        micro_batches(24, 4, n_processes=4, process=0)
