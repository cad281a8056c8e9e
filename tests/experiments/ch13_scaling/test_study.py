# SPDX-License-Identifier: MIT
"""The study of scaling: what it trains and when, text read once, rates, the prediction."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Generator

from experiments.ch13_scaling import __main__ as study
from experiments.ch13_scaling import analysis, prediction, runs
from experiments.ch13_scaling.plan import (
    BATCH_SIZE,
    SEQ_LEN,
    TUNING_SEED,
    Cell,
    OnePass,
    Plan,
    size,
)
from pretrain_lab.scaling.laws import Law

TRUE = Law(e=1.1, a=30.0, alpha=0.4, b=90.0, beta=0.35)
PLAN = Plan()


def law_run(calls: list[str] | None = None) -> Callable[..., dict[str, Any]]:
    """Make a stand-in for a training that obeys a known law, best at a rate of 0.008."""

    def run(
        plan: Plan, cell: Cell, lr: float, seed: int, split: str, *, on_the_way: bool = False
    ) -> Any:
        """Give what a run gives."""
        if calls is not None:
            calls.append(f"{split} {cell.width} x {cell.level} seed {seed}")
        n, d = size(cell.width)[0], plan.n_characters(cell)
        worse = 0.02 * math.log(lr / 0.008) ** 2 if split == "validation" else 0.0
        passed = {str(k): 0.1 + float(TRUE.loss(n, d * k / cell.level)) for k in plan.levels}
        return {
            "loss": float(TRUE.loss(n, d)) + worse + 1e-4 * seed, "lr": lr, "started": 0.0,
            "on_the_way": passed if on_the_way else {}, "cpu_seconds": 1.0,
        }  # fmt: skip

    return run


def test_the_plan_fits_its_limits() -> None:
    """Sizes from 10^4 to 10^6, and no run is both fitted and predicted."""
    fitted, later = PLAN.fitted_cells(), PLAN.held_out()
    assert not set(fitted) & set(later)
    assert len({cell.width for cell in fitted}) >= 5
    assert all(len({c.level for c in fitted if c.width == w}) >= 3 for w in PLAN.widths)
    assert max(PLAN.flops(cell) for cell in fitted) <= PLAN.ceiling
    assert min(PLAN.flops(cell) for cell in later) > PLAN.ceiling
    main = Cell(PLAN.held_out_width, PLAN.levels[-1])
    assert later[main] == PLAN.seeds
    assert PLAN.flops(main) > 8 * PLAN.ceiling
    sizes = [size(width)[0] for width in (*PLAN.widths, PLAN.held_out_width)]
    assert sizes == sorted(sizes)
    assert sizes[0] < 1e4 < 1e6 < sizes[-1]
    assert TUNING_SEED not in PLAN.seeds


def test_sizes_are_those_of_the_model() -> None:
    """N without tables is 24 d^2 + 28 d here: two blocks with biases and norms, and a norm."""
    for width in (16, 48):
        n, total, cost = size(width)
        assert n == 24 * width**2 + 28 * width
        assert total == n + 2 * 64 * width
        assert cost > 6 * n  # scores and head come on top


def test_tuning_effort_is_equal() -> None:
    """Every size tries as many rates on as many amounts of text, none of them the largest."""
    cells = PLAN.tuned_cells()
    counts = [sum(cell.width == width for cell in cells) for width in PLAN.widths]
    assert set(counts) == {len(PLAN.tuning_levels)}
    assert set(cells) <= set(PLAN.fitted_cells())


def test_no_character_is_read_twice() -> None:
    """All windows of a pass read and predict different places; a second pass is refused."""
    n_windows = 5 * BATCH_SIZE
    text = torch.arange(n_windows * SEQ_LEN + 1)
    loss = OnePass(text, Generator().manual_seed(0))
    taken = torch.cat([loss.take() for _ in range(5)])
    assert taken[:, :-1].flatten().sort().values.tolist() == text[:-1].tolist()
    assert taken[:, 1:].flatten().sort().values.tolist() == text[1:].tolist()
    assert not torch.equal(taken[:, 0], taken[:, 0].sort().values)  # shuffled
    with pytest.raises(ValueError, match=f"at most {n_windows} windows in one pass"):
        loss.take()


def test_the_longest_run_fits_the_plays() -> None:
    """The training plays are long enough for one pass of every cell, and not for two."""
    available = (len(runs.plays()["train"]) - 1) // SEQ_LEN
    needed = PLAN.shortest * PLAN.levels[-1] * BATCH_SIZE
    assert 0.99 * available < needed <= available
    for split in ("validation", "test"):
        windows = runs.unread(split, PLAN.n_windows[split])
        assert windows.shape == (PLAN.n_windows[split], SEQ_LEN + 1)
        assert len(windows.unique(dim=0)) == len(windows)


def test_a_run_reads_what_its_cell_says() -> None:
    """Its text is its cell's; looking on the way changes nothing; a look is no shorter run."""
    plan, cell = Plan.quick(), Cell(16, 4)
    plain = runs.run(plan, cell, 8e-3, 0, "test")
    looked = runs.run(plan, cell, 8e-3, 0, "test", on_the_way=True)
    shorter = runs.run(plan, Cell(16, 1), 8e-3, 0, "test")
    assert plain["n_read"] == plain["n_characters"] == plan.n_characters(cell)
    assert plain["loss"] == looked["loss"] < math.log(64)
    assert list(looked["on_the_way"]) == ["1", "2"]
    assert plain["on_the_way"] == {}
    assert looked["on_the_way"]["1"] != shorter["loss"]


def test_best_rate_is_a_vertex() -> None:
    """A parabola over log rate gives its vertex; at an end the end itself."""
    rates = [1e-3, 2e-3, 4e-3, 8e-3]
    losses = [2 + (math.log(rate / 2.5e-3)) ** 2 for rate in rates]
    assert runs.best_rate(rates, losses) == (pytest.approx(2.5e-3), True)
    assert runs.best_rate(rates, [4.0, 3.0, 2.0, 1.0]) == (8e-3, False)


def test_rate_rule() -> None:
    """A true rule is found and goes on beyond the tuned sizes."""
    n, d = [1e4, 1e4, 1e5, 1e5], [2e5, 8e5, 2e5, 8e5]
    rates = [0.5 * a**-0.3 * b**-0.1 for a, b in zip(n, d, strict=True)]
    rule = runs.RateRule(n, d, rates)
    assert rule(1e6, 3e6) == pytest.approx(0.5 * 1e6**-0.3 * 3e6**-0.1)
    assert rule.worst_factor == pytest.approx(1.0)
    assert runs.RateRule(n, d, [2 * rates[0], *rates[1:]]).worst_factor > 1.1


def test_rates_go_on_until_the_best_lies_inside() -> None:
    """The grid grows where its best is at an end, and only there."""
    for grid, n_tried in (((1e-3, 2e-3), 5), ((4e-3, 8e-3, 16e-3), 3)):
        made = study.tune(
            lambda _, function, *given: function(*given), Plan(rates=grid), Cell(16, 1), law_run()
        )
        assert made["inside"]
        assert len(made["rates"]) == len(made["losses"]) == n_tried
        assert made["best"] == pytest.approx(0.008, rel=1e-6)


def test_prediction_comes_before_the_runs(tmp_path: Path) -> None:
    """It is made and written when no held-out run has started; then they hit it."""
    plan, calls = Plan.quick(), list[str]()
    run = law_run(calls)
    arms: dict[str, Any] = {}
    before: list[list[str]] = []

    def get(name: str, function: Any, *given: Any) -> Any:
        """Compute an arm unless it is there."""
        if name not in arms:
            arms[name] = function(*given)
        return arms[name]

    def publish(said: dict[str, Any]) -> None:
        """Write it and note which runs there were."""
        prediction.publish(said, tmp_path)
        before.append(list(calls))

    assert study.study(get, plan, stop=True, publish=publish, run=run) is None
    record = study.study(get, plan, stop=False, publish=publish, run=run)
    later = {f"{cell.width} x {cell.level}" for cell in plan.held_out()}
    assert not [call for call in before[0] if call.split(" ", 1)[1].split(" seed")[0] in later]
    names = list(arms)
    assert names[-1] == f"run 64 x {plan.levels[-1]} seed 1"
    assert before[0] == before[1]  # going on after the stop trained nothing anew
    tested = names[names.index("prediction") + 1 :]
    assert {name.removeprefix("run ").split(" seed")[0] for name in tested} == later
    assert {call.split()[0] for call in calls if "seed 10" in call} == {"validation"}
    assert {call.split()[0] for call in calls if "seed 10" not in call} == {"test"}
    written = json.loads((tmp_path / "scaling_prediction.json").read_text())
    assert written == record["prediction"]
    assert set(record["misses"]) == later
    for miss in record["misses"].values():
        assert abs(miss["ways"]["main"]["percent"]) < 1
    assert record["law"]["r_squared"] > 0.999
    json.dumps(record, allow_nan=False)


def test_a_changed_prediction_is_refused(tmp_path: Path) -> None:
    """Its hash survives writing and reading, and no change of its content."""
    plan, run = Plan(n_resamples=5), law_run()
    losses = {
        cell: [run(plan, cell, 0.008, seed, "test")["loss"] for seed in PLAN.seeds]
        for cell in PLAN.fitted_cells()
    }
    main = Cell(PLAN.held_out_width, PLAN.levels[-1])
    made = prediction.predict(plan, losses, [main])
    value, low, high = made["content"]["main"]["208 x 16"]
    truth = run(plan, main, 0.008, 0, "test")["loss"]
    assert value == pytest.approx(truth, rel=0.002)
    assert low <= value <= high
    # without an end to learning, straight on in log compute, the promise is too good
    assert made["content"]["compute line"]["208 x 16"] < value
    prediction.publish(made, tmp_path)
    read = json.loads((tmp_path / "scaling_prediction.json").read_text())
    assert prediction.checked(read) == made
    read["content"]["main"]["208 x 16"][0] += 1e-5
    with pytest.raises(ValueError, match="expected a prediction with hash"):
        prediction.checked(read)


def test_misses() -> None:
    """A run that lost 2 % more than predicted missed by +2 %; each run is inside or not."""
    cell = Cell(208, 16)
    content = {
        "main": {"208 x 16": [2.0, 1.9, 2.05]},
        "kaplan": {"208 x 16": [2.04, 2.03, 2.2]},
        "compute line": {"208 x 16": 1.02},
    }
    found = prediction.misses({"content": content}, {cell: [2.02, 2.06]})
    ways = found["208 x 16"]["ways"]
    assert ways["main"]["percent"] == pytest.approx(2.0)
    assert ways["main"]["inside"] == [True, False]
    assert ways["kaplan"]["inside"] == [False, True]
    assert ways["compute line"]["percent"] == pytest.approx(100.0)
    assert ways["compute line"]["inside"] is None


def test_checkpoints_are_compared_at_equal_text() -> None:
    """A checkpoint stands beside the run that ended there; the longest run is its own."""
    plan, run = Plan(n_resamples=5), law_run()
    widths = (16, 24, 32)
    losses = {
        Cell(w, k): [run(plan, Cell(w, k), 0.008, s, "test")["loss"] for s in PLAN.seeds]
        for w in widths
        for k in PLAN.levels
    }
    passed = {
        w: [run(plan, Cell(w, 16), 0.008, 0, "test", on_the_way=True)["on_the_way"]] for w in widths
    }
    found = analysis.schedule_record(plan, losses, passed)["cells"]
    assert found["16 x 16"]["ended"] == found["16 x 16"]["on_the_way"]
    assert found["24 x 2"]["on_the_way"][0] - found["24 x 2"]["ended"][0] == pytest.approx(0.1)
    assert len(found) == len(widths) * len(PLAN.levels)


def test_plan_table_adds_up() -> None:
    """Minutes are steps times seconds, the reading of unread windows included."""
    rows = PLAN.table(dict.fromkeys((*PLAN.widths, PLAN.held_out_width), 0.06))
    by_width = {row["width"]: row for row in rows}
    last = by_width[PLAN.held_out_width]
    steps = PLAN.shortest * PLAN.levels[-1] + PLAN.n_windows["test"] / BATCH_SIZE / 3
    assert last["held out: minutes"] == pytest.approx(3 * steps / 1000)
    assert last["fit: minutes"] == last["tuning: minutes"] == 0
    tuned = by_width[16]["tuning: minutes"]
    assert tuned == by_width[128]["tuning: minutes"] > 0
