# SPDX-License-Identifier: MIT
"""The soak in small: two kills of a real run, and a soak that notices what is not exact."""

import random
from collections import Counter
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

import soak
import soak_runs
from soak_runs import Attempt, SoakError


@pytest.mark.slow
def test_killed_in_a_step_and_in_a_save_the_command_ends_exactly(tmp_path: Path) -> None:
    """SIGKILL from outside, the second as soon as half a checkpoint is seen."""
    tally, lines = soak.Tally(), []
    plan = soak.Plan("train", "causal", ["step", "writing"])
    soak.soak([plan], 0, tmp_path, tally, lines.append)
    assert tally.meant == {"step": 1, "writing": 1}
    assert (tally.hit.total(), tally.exact, tally.runs) == (2, 2, 1)
    assert lines[0].endswith("; ended exactly")


@pytest.mark.parametrize("n_kills", [1, 2, 13, 50])
def test_plans_hold_every_kill_and_a_finish_comes_last(n_kills: int) -> None:
    plans = soak.make_plans(n_kills, seed=n_kills)
    assert sum(len(plan.phases) for plan in plans) == n_kills
    assert soak.make_plans(n_kills, seed=n_kills) == plans
    for plan in plans:
        assert 0 < len(plan.phases) <= soak.KILLS_A_RUN
        assert "finishing" not in plan.phases[:-1]


def test_fifty_kills_reach_every_phase_of_every_way_and_model() -> None:
    plans = soak.make_plans(50, seed=0)
    pairs = {(plan.way, plan.kind) for plan in plans}
    assert len(pairs) == len(soak_runs.WAYS) * len(soak_runs.KINDS)
    for pair in pairs:
        phases = Counter(p for plan in plans if (plan.way, plan.kind) == pair for p in plan.phases)
        assert set(phases) == {"start-up", "step", "writing", "finishing"}
        assert min(phases["step"], phases["writing"]) >= 2


class Finished:
    """A run that ends at once and leaves a file."""

    def __init__(self, way: str, kind: str, text: Path, folder: Path) -> None:
        self.folder, self.startup_seconds, self.steps_seen = folder, 0.1, 0
        folder.mkdir(exist_ok=True)

    def finish(self) -> None:
        """Write what the undisturbed run writes, but not in a folder that ends in a number."""
        exact = not self.folder.name[-1].isdigit()
        (self.folder / "history.json").write_text("[1]" if exact else "[2]")

    def kill(self, *_: object) -> str:
        """Die in a step."""
        return "step"

    def left_behind(self) -> list[str]:
        """Leave nothing."""
        return []


def test_another_loss_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "Attempt", Finished)
    tally = soak.Tally()
    message = r"fit masked, killed in step, resumed to the end: history\.json not as in the undis"
    with pytest.raises(SoakError, match=message):
        soak.soak([soak.Plan("fit", "masked", ["step"])], 0, tmp_path, tally)
    assert (tally.hit.total(), tally.exact) == (1, 0)


def test_a_kill_that_comes_too_late_is_made_up_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that ended first is compared too; the kill that it escaped is another run's."""
    hits = iter([None, "step", "finishing", "writing"])
    monkeypatch.setattr(Finished, "kill", lambda *_: next(hits))
    monkeypatch.setattr(Finished, "finish", lambda _: None)
    monkeypatch.setattr(soak, "Attempt", Finished)
    tally, lines = soak.Tally(), []
    plan = soak.Plan("fit", "causal", ["step", "step", "writing"])
    soak.soak([plan], 0, tmp_path, tally, lines.append)
    assert tally.hit == {"step": 1, "finishing": 1, "writing": 1}
    assert (tally.missed, tally.runs, tally.exact) == (1, 3, 3)
    assert [line.split("killed in ")[1] for line in lines] == [
        "nothing; ended exactly", "step, finishing; ended exactly", "writing; ended exactly",
    ]  # fmt: skip


def test_a_soak_that_never_hits_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Finished, "kill", lambda *_: None)
    monkeypatch.setattr(Finished, "finish", lambda _: None)
    monkeypatch.setattr(soak, "Attempt", Finished)
    with pytest.raises(SoakError, match="21 runs ended before the moment"):
        soak.soak([soak.Plan("fit", "causal", ["step"])], 0, tmp_path, soak.Tally())


@pytest.mark.parametrize("name", ["checkpoint.safetensors", "history.json"])
def test_a_half_written_file_is_noticed(tmp_path: Path, name: str) -> None:
    save_file({"x": torch.zeros(100)}, tmp_path / "checkpoint.safetensors")
    (tmp_path / "history.json").write_text('{"losses": [1.5, 2.5]}')
    (tmp_path / "checkpoint.safetensors.77.part").write_bytes(b"half")  # nobody reads it
    soak_runs.check_whole(tmp_path)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SoakError, match=f"a kill left {name} half-written"):
        soak_runs.check_whole(tmp_path)


def test_a_run_that_fails_by_itself_is_not_taken_for_a_killed_one(tmp_path: Path) -> None:
    attempt = Attempt("fit", "causal", tmp_path / "no such text", tmp_path / "run")
    with pytest.raises(SoakError, match="fit causal: ended with code 1, saying:"):
        attempt.kill("writing", random.Random(0), startup=1.0)


def test_missing_results_are_named(tmp_path: Path) -> None:
    assert set(soak_runs.results(tmp_path).values()) == {"missing"}
