# SPDX-License-Identifier: MIT
"""Sizes and settings: divisions that come out even, memory, rounding, options."""

from pathlib import Path
from typing import Any

import torch
from harness import fuzz
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from strategies import ODD_FLOATS, SEEDS, TEXTS, calls, floats, mostly, random_floats, sizes
from torch import Generator, Tensor

from pretrain.figure_style import BASELINES, Style, style_of
from pretrain.hub_files import check_names
from pretrain.quantization import quantize_rows
from pretrain.quantized_checkpoints import float_state, rounded_state
from pretrain.resume import check_settings
from pretrain.sharding import key, keyed_generator, micro_batches
from pretrain.specifications import gigabytes, load_bytes, millions, training_bytes
from pretrain.train_config import Config, check_config
from pretrain.train_options import checked
from pretrain.trainable import last_layers

COUNTS = mostly(st.integers(0, 10**12), st.integers(-5, 0))
FORMATS = mostly(st.sampled_from(["float32", "float16", "int8"]), TEXTS)


@fuzz(load_bytes, calls(n_parameters=COUNTS, number_format=FORMATS))
def test_load_bytes(found: float, n_parameters: int, number_format: str) -> None:
    """At most four bytes each."""
    assert 0 <= found <= 4 * n_parameters
    assert load_bytes(2 * n_parameters, number_format) == 2 * found


@fuzz(training_bytes, calls(n_trained=COUNTS, n_frozen=COUNTS, frozen_format=FORMATS))
def test_training_bytes(found: float, n_trained: int, n_frozen: int, **_: Any) -> None:
    """A trained parameter costs more than a frozen one."""
    assert 4 * n_trained <= found <= 16 * n_trained + 4 * n_frozen


@fuzz(gigabytes, calls(n_bytes=st.floats(0, 1e15) | COUNTS))
def test_gigabytes(text: str, n_bytes: float) -> None:
    """The number comes back, to its last figure."""
    value = float(text.replace(",", ""))
    assert abs(value - n_bytes / 1e9) <= max(0.06, 0.5)


@fuzz(millions, calls(n_parameters=COUNTS))
def test_millions(text: str, n_parameters: int) -> None:
    """The number comes back, to its last figure."""
    assert abs(float(text.replace(",", "")) - n_parameters / 1e6) <= 0.5


@fuzz(
    micro_batches,
    calls(batch_size=sizes(12), micro_batch_size=sizes(4), n_processes=sizes(3),
          process=sizes(3, 0)),
)  # fmt: skip
def test_micro_batches(
    parts: list[range], batch_size: int, micro_batch_size: int, n_processes: int, process: int
) -> None:
    """The parts of all processes are the batch."""
    options = {"n_processes": n_processes}
    every = [
        part for p in range(n_processes)
        for part in micro_batches(batch_size, micro_batch_size, process=p, **options)
    ]  # fmt: skip
    assert [sample for part in every for sample in part] == list(range(batch_size))
    assert parts == every[process * len(parts) : (process + 1) * len(parts)]


@st.composite
def names(draw: DrawFn) -> dict[str, Any]:
    """Draw a seed and the name of a choice."""
    return {"*": (draw(st.integers(0, 2**64)), *draw(st.lists(SEEDS | TEXTS, max_size=3)))}


@fuzz(key, names())
def test_key(found: int, *name: Any) -> None:
    """Of 64 bits, and another one for another name."""
    assert 0 <= found < 2**64
    assert key(*name) == found != key(*name, 1)


@fuzz(keyed_generator, names())
def test_keyed_generator(generator: Generator, *name: Any) -> None:
    """The same numbers for the same name."""
    again = keyed_generator(*name)
    assert torch.equal(torch.rand(2, generator=generator), torch.rand(2, generator=again))


@fuzz(last_layers, calls(n_trained=sizes(4, 0), n_layers=sizes(5, 0), form=st.just("blocks.{}.*")))
def test_last_layers(patterns: tuple[str, ...], n_trained: int, n_layers: int, **_: Any) -> None:
    """The last blocks in order."""
    wanted = range(n_layers - n_trained, n_layers)
    assert patterns == tuple(f"blocks.{number}.*" for number in wanted)


@fuzz(
    style_of,
    calls(paradigm=mostly(st.sampled_from(["gpt", "bert", "t5", "baseline"]), TEXTS),
          baseline=sizes(4, 0)),
)  # fmt: skip
def test_style_of(style: Style, paradigm: str, baseline: int) -> None:
    """A colour of its own."""
    assert style.color
    assert paradigm != "baseline" or style == BASELINES[baseline]


FLOAT_TYPES = st.sampled_from([torch.float32, torch.float64, torch.bfloat16, torch.float16])


@st.composite
def matrices(draw: DrawFn) -> Tensor:
    """Draw matrices of all magnitudes and types, now and then something else."""
    return (
        draw(floats(2, high=1e-4, special=False)) * draw(st.sampled_from([1.0, 1e-30, 1e30]))
    ).to(draw(mostly(FLOAT_TYPES, st.just(torch.int64))))


@fuzz(quantize_rows, calls(x=matrices()))
def test_quantize_rows(found: tuple[Tensor, Tensor], x: Tensor) -> None:
    """Whole numbers of at most 127, and a product that misses by half a scale at most."""
    whole, scales = found
    assert whole.dtype == torch.int8
    assert scales.dtype == x.dtype
    assert (whole.abs() <= 127).all()
    assert not (whole == -128).any()
    assert (whole.sign() * x.sign() >= 0).all()
    if x.dtype in (torch.float32, torch.float64) and (scales > 1e-36).all():
        error = (whole.double() * scales.double()[:, None] - x.double()).abs()
        assert (error <= 0.5001 * scales.double()[:, None]).all()


STATES = st.dictionaries(
    st.sampled_from(["a", "b.c"]),
    mostly(st.builds(random_floats, st.sampled_from([(2, 3), (3,), (), (1, 1)]), SEEDS), floats(2)),
)


@fuzz(rounded_state, calls(state=STATES))
def test_rounded_state(stored: dict[str, Tensor], state: dict[str, Tensor]) -> None:
    """Back to floats, all names are there and all numbers near."""
    back = float_state(stored)
    assert back.keys() == state.keys()
    for name, value in state.items():
        far = (back[name] - value).abs()
        assert (
            value.dim() != 2 or (far <= value.abs().amax(dim=1, keepdim=True) / 250 + 1e-38).all()
        )
        assert value.dim() == 2 or not far.any()


@st.composite
def stored_states(draw: DrawFn) -> dict[str, Any]:
    """Draw rounded states, now and then with something missing."""
    stored = dict(rounded_state({"a": random_floats((2, 3), draw(SEEDS)), "b": torch.ones(2)}))
    fault = draw(st.integers(0, 6))
    if fault >= 4:
        stored.pop(draw(st.sampled_from(sorted(stored))))
    if fault == 3:
        stored[draw(st.sampled_from(sorted(stored)))] = draw(floats(2))
    return {"stored": stored}


@fuzz(float_state, stored_states())
def test_float_state(state: dict[str, Tensor], stored: dict[str, Tensor]) -> None:
    """No scales, no whole numbers."""
    assert set(state) <= set(stored)
    assert all(value.dtype == torch.float32 for value in state.values())


NAMES = st.sets(st.sampled_from("ab"))


@fuzz(check_names, calls(expected=NAMES, found=NAMES, where=st.just(Path("here"))))
def test_check_names(result: None, expected: set[str], found: set[str], **_: Any) -> None:
    """What passes is equal."""
    assert result is None
    assert expected == found


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=6,
)
SETTINGS = st.dictionaries(st.sampled_from("ab"), st.integers(0, 1) | VALUES, max_size=2)


@fuzz(
    check_settings,
    calls(path=st.just(Path("run")), saved=SETTINGS, settings=SETTINGS, otherwise=TEXTS).map(
        lambda call: {**call, "saved": call["settings"]} if len(call["otherwise"]) % 2 else call
    ),
)
def test_check_settings(
    result: None, saved: dict[str, Any], settings: dict[str, Any], **_: Any
) -> None:
    """What passes is equal (a missing option is one of None)."""
    assert result is None
    for name in {**saved, **settings}:
        assert saved.get(name) == settings.get(name)


LIMITS = st.fixed_dictionaries({}, optional={"low": st.integers(-2, 2), "below": st.integers(0, 9)})
KINDS = st.sampled_from([int, float, str, bool, int | None, tuple[int, ...], tuple[float, float]])


@fuzz(
    checked,
    calls(where=st.just("a.b"), value=st.integers(-3, 12) | VALUES, wanted=KINDS, limits=LIMITS),
)
def test_checked(found: Any, wanted: Any, limits: dict[str, Any], **_: Any) -> None:
    """Of the type, and inside the limits."""
    plain = wanted in (int, float, str, bool)
    assert not plain or type(found) is wanted
    if wanted in (int, float):
        assert found >= limits.get("low", found)
        assert found < limits.get("below", found + 1)


WORKING: dict[str, dict[str, Any]] = {
    "data": {"files": ["a.txt"], "seq_len": 8},
    "tokenizer": {"kind": "characters"},
    "model": {"d_model": 4, "n_layers": 1, "n_heads": 1},
    "objective": {"kind": "causal"},
    "training": {"n_steps": 1, "batch_size": 1, "lr": 1e-3},
    "output": {"folder": "out"},
}


@st.composite
def configurations(draw: DrawFn) -> dict[str, Any]:
    """Draw a configuration in which something may be wrong."""
    content: dict[str, Any] = {section: dict(options) for section, options in WORKING.items()}
    fault = draw(st.integers(0, 3))
    section = draw(st.sampled_from(sorted(content)))
    if fault == 1:
        content[section] = draw(VALUES)
    elif fault == 2:
        name = draw(st.sampled_from(sorted(content[section])) | TEXTS)
        content[section][name] = draw(VALUES | ODD_FLOATS)
    elif fault == 3:
        content.pop(section)
    return {"content": content}


@fuzz(check_config, configurations())
def test_check_config(config: Config, content: dict[str, Any]) -> None:
    """What was given is there."""
    assert config.training.n_steps == content["training"]["n_steps"]
    assert config.data.seq_len == content["data"]["seq_len"]
