# SPDX-License-Identifier: MIT
"""The forward pass of the pages is that of PyTorch: scores, caches, files, cuts and messages.

Run with ``pytest -s`` to see what was measured.
"""

import base64
import itertools
import json
import math
from typing import NamedTuple

import numpy as np
import pytest
import torch
from safetensors.numpy import save
from torch import Generator, Tensor
from workshop import Workshop, spans_of, unpacked

from pretrain.bert import BERT, BERTConfig
from pretrain.generation import Sampling
from pretrain.gpt import GPT, GPTConfig
from pretrain.objectives import random_windows
from pretrain.positions import relative_position_bucket
from pretrain.span_corruption import corrupt_given_spans
from pretrain_lab.checkpoints import load_model, save_model
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.paths import CHECKPOINTS
from pretrain_lab.tokenizers.characters import CharTokenizer

NAMES = ("gpt_chars", "bert_chars", "t5_chars")
N_TEXTS = 30  # of each kind: cut from unseen plays, and drawn at random
N_HELD_OUT = 40
SCORES = """async ([file, inputs]) => {
  const { model } = await load(file);
  return inputs.map(([ids, written]) => pack(
    written ? model.decode(written, model.encode(ids)) : model.forward(ids)));
}"""


class Exercise(NamedTuple):
    """What a model reads, and the places at which it is asked something."""

    read: Tensor
    """int64 (S,)."""
    written: Tensor | None
    """int64 (T,): what T5's decoder reads."""
    answers: Tensor
    """int64 (T,), the true id at each place of the scores; -1 = not asked."""


@pytest.fixture(scope="module")
def unseen() -> str:
    """The plays that no model has read."""
    return "\n".join(play.text for play in load_shakespeare("test"))


def exercise(name: str, text: Tensor, tokenizer, generator: Generator) -> Exercise:
    """Prepare a text as the model's objective does: every seventh place is asked."""
    if name.startswith("gpt"):
        return Exercise(text, None, torch.cat([text[1:], text.new_tensor([-1])]))
    first = int(torch.randint(7, (), generator=generator)) % len(text)
    if name.startswith("bert"):
        asked = torch.arange(len(text)) % 7 == first
        masked = text.masked_fill(asked, tokenizer.mask_id)
        return Exercise(masked, None, text.masked_fill(~asked, -1))
    spans = [(place, place + 2) for place in range(first, len(text) - 2, 20)][:9]
    cut = corrupt_given_spans(text, spans or [(0, 1)], spans_of(tokenizer))
    answers = cut.targets.masked_fill(cut.targets < len(tokenizer.specials), -1)
    return Exercise(cut.inputs, torch.cat([cut.targets.new_tensor([0]), cut.targets[:-1]]), answers)


def many_texts(tokenizer, unseen: str) -> list[Tensor]:
    """Cut texts of many lengths from the plays, and draw as many of random characters."""
    generator = Generator().manual_seed(0)
    ids = tokenizer.encode(unseen)
    lengths = torch.randint(1, 127, (2 * N_TEXTS,), generator=generator).tolist()
    lengths[0], lengths[1], lengths[N_TEXTS] = 1, 126, 126
    cut = [random_windows(ids, 1, n, generator=generator)[0] for n in lengths[:N_TEXTS]]
    span = len(tokenizer.specials), len(tokenizer.tokens)
    return cut + [torch.randint(*span, (n,), generator=generator) for n in lengths[N_TEXTS:]]


def of_pytorch(model, given: Exercise) -> np.ndarray:
    """Score with PyTorch."""
    with torch.inference_mode():
        if given.written is None:
            return model(given.read[None])[0].numpy()
        return model(given.read[None], given.written[None])[0].numpy()


def of_page(workshop: Workshop, file: str, exercises: list[Exercise]) -> list[np.ndarray]:
    """Score in the page."""
    inputs = [
        [one.read.tolist(), None if one.written is None else one.written.tolist()]
        for one in exercises
    ]
    return [unpacked(one) for one in workshop.run(SCORES, [file, inputs])]


def bits(scores: list[np.ndarray], exercises: list[Exercise]) -> float:
    """Average what the true answers cost, in bits."""
    costs = []
    for score, one in zip(scores, exercises, strict=True):
        asked = one.answers >= 0
        log_probs = torch.tensor(score)[asked].double().log_softmax(dim=-1)
        costs.append(-log_probs.gather(1, one.answers[asked, None])[:, 0] / math.log(2))
    return torch.cat(costs).mean().item()


@pytest.mark.parametrize("name", [*NAMES, "gpt_plays", "bert_plays"])
def test_scores_are_those_of_pytorch(workshop: Workshop, unseen: str, name: str):
    model, tokenizer = load_model(name)
    generator = Generator().manual_seed(1)
    exercises = [
        exercise(name, text, tokenizer, generator) for text in many_texts(tokenizer, unseen)
    ]
    expected = [of_pytorch(model, one) for one in exercises]
    got = of_page(workshop, f"full/{name}.safetensors", exercises)
    assert [one.shape for one in got] == [one.shape for one in expected]
    worst = max(float(np.abs(a - b).max()) for a, b in zip(got, expected, strict=True))
    best = [(a.argmax(1), b.argmax(1)) for a, b in zip(got, expected, strict=True)]
    n_places = sum(len(a) for a, _ in best)
    n_equal = sum(int((a == b).sum()) for a, b in best)
    print(f"\n{name}, 32 bits: {len(exercises)} texts, {n_places} places, "
          f"largest difference {worst:.1e}, best id equal at {n_equal}")  # fmt: skip
    assert len(exercises) >= 50
    assert worst <= 1e-4
    assert n_equal == n_places


@pytest.mark.parametrize(
    ("kind", "config", "norm"), [(GPT, GPTConfig, "pre"), (BERT, BERTConfig, "pre")]
)
def test_rotary_positions_are_those_of_pytorch(workshop: Workshop, kind, config, norm: str):
    """At once and, for a GPT, in pieces with a cache."""
    torch.manual_seed(0)
    tokenizer = CharTokenizer("abcdefg", ("[PAD]", "[MASK]"))
    sizes = {"d_model": 24, "n_layers": 2, "n_heads": 3, "max_len": 40, "init_std": 0.3}
    model = kind(config(tokenizer.vocab_size, positions="rotary", norm=norm, **sizes)).eval()
    file = f"rotary_{kind.__name__}.safetensors"
    save_model(workshop.folder / file, model, tokenizer, {})
    ids = torch.randint(0, tokenizer.vocab_size, (40,), generator=Generator().manual_seed(1))
    with torch.inference_mode():
        expected = model(ids[None])[0].numpy()
    script = """async ([file, ids]) => {
      const { model } = await load(file);
      const cache = model.makeCache?.();
      const parts = [0, 7, 8].map((start, n) => ids.slice(start, [7, 8, 40][n]));
      return [pack(model.forward(ids)),
        cache ? parts.map((part) => pack(model.forward(part, { cache }))) : []];
    }"""
    whole, parts = workshop.run(script, [file, ids.tolist()])
    assert np.abs(unpacked(whole) - expected).max() <= 1e-4
    if parts:
        assert np.abs(np.concatenate([unpacked(p) for p in parts]) - expected).max() <= 1e-4


@pytest.mark.parametrize("name", ["book_bert", "bert_words"])
def test_word_pieces_and_segments_are_those_of_pytorch(workshop: Workshop, name: str):
    """The word-piece BERTs cut a sentence and fill its gap as in Python."""
    model, tokenizer = load_model(name)
    file = CHECKPOINTS / f"{name}.safetensors"
    (workshop.folder / file.name).write_bytes(file.read_bytes())
    text = "The doctor's unknowable heart, said ΣΑΣ, that Zoë's ﬁrst ÉCOLE was tired."
    ids = torch.cat(
        [
            torch.tensor([tokenizer.cls_id]),
            tokenizer.encode(text),
            torch.tensor([tokenizer.sep_id]),
        ]
    )
    ids[7] = tokenizer.mask_id
    with torch.inference_mode():
        expected = model(ids[None])[0].numpy()
    script = """async ([file, text]) => {
      const { model, tokenizer } = await load(file);
      const ids = tokenizer.encode(text).map(({ id }) => id);
      const read = [tokenizer.id("[CLS]"), ...ids, tokenizer.id("[SEP]")];
      read[7] = tokenizer.id("[MASK]");
      return [read, pack(model.forward(read)), read.map((id) => tokenizer.tokens[id])];
    }"""
    read, scores, names = workshop.run(script, [file.name, text])
    assert read == ids.tolist()
    assert names == [tokenizer.tokens[i] for i in ids.tolist()]
    assert np.abs(unpacked(scores) - expected).max() <= 1e-4


@pytest.mark.parametrize("name", NAMES)
def test_half_precision_changes_little(workshop: Workshop, unseen: str, name: str):
    model, tokenizer = load_model(name)
    generator = Generator().manual_seed(2)
    windows = random_windows(tokenizer.encode(unseen), N_HELD_OUT, 120, generator=generator)
    exercises = [exercise(name, text, tokenizer, generator) for text in windows]
    expected = [of_pytorch(model, one) for one in exercises]
    got = of_page(workshop, f"half/{name}.safetensors", exercises)
    worst = max(float(np.abs(a - b).max()) for a, b in zip(got, expected, strict=True))
    agree = np.concatenate(
        [a.argmax(1) == b.argmax(1) for a, b in zip(got, expected, strict=True)]
    )  # fmt: skip
    before, after = bits(expected, exercises), bits(got, exercises)
    print(f"\n{name}, 16 bits: {len(agree)} places, largest difference {worst:.1e}, best id "
          f"equal at {agree.mean():.2%}, {before:.4f} -> {after:.4f} bits per asked character "
          f"({after - before:+.5f})")  # fmt: skip
    assert agree.mean() >= 0.995
    assert abs(after - before) < 0.005


@pytest.mark.parametrize("name", ["gpt_chars", "t5_chars"])
def test_with_a_cache_the_scores_are_the_same(workshop: Workshop, unseen: str, name: str):
    """Read a text at once, then in pieces with a cache."""
    _, tokenizer = load_model(name)
    ids = random_windows(tokenizer.encode(unseen), 1, 120, generator=Generator().manual_seed(3))[0]
    script = """async ([file, ids, pieces]) => {
      const { model } = await load(file);
      const states = model.encode?.(ids);
      const read = (part, options) => states
        ? model.decode(part, states, options) : model.forward(part, options);
      const cache = model.makeCache();
      const whole = read(ids);
      const parts = [];
      for (let start = 0, n = 0; start < ids.length; start += pieces[n++ % pieces.length]) {
        parts.push(pack(read(ids.slice(start, start + pieces[n % pieces.length]), { cache })));
      }
      return [pack(whole), parts];
    }"""
    for pieces in ([1], [7, 1, 30]):
        answer = workshop.run(script, [f"full/{name}.safetensors", ids.tolist(), pieces])
        whole, parts = unpacked(answer[0]), np.concatenate([unpacked(one) for one in answer[1]])
        assert parts.shape == whole.shape
        assert np.abs(parts - whole).max() <= 1e-5
        assert (parts.argmax(1) == whole.argmax(1)).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("wrong", [-1, 1000, 1.5, None])
def test_ids_that_do_not_exist_are_refused(workshop: Workshop, name: str, wrong):
    size = load_model(name)[1].vocab_size
    script = """async ([file, ids]) => {
      const { model } = await load(file);
      return model.encode ? model.encode(ids) : model.forward(ids);
    }"""
    message = workshop.error(script, [f"full/{name}.safetensors", [20, wrong]])
    assert message == f"expected ids in 0..{size - 1}, got {'null' if wrong is None else wrong}"


@pytest.mark.parametrize("name", ["gpt_chars", "bert_chars"])
def test_too_long_and_empty_texts_are_refused(workshop: Workshop, name: str):
    script = """async ([file, length]) => {
      const { model } = await load(file);
      return model.forward(Array(length).fill(20));
    }"""
    for length in (0, 129):
        message = workshop.error(script, [f"full/{name}.safetensors", length])
        assert message == f"expected 1 to 128 tokens, got {length}"
    assert workshop.run(f"async (x) => (await ({script})(x)).shape",
                        [f"full/{name}.safetensors", 128])[0] == 128  # fmt: skip


def test_a_cache_that_is_full_is_refused(workshop: Workshop):
    script = """async () => {
      const { model } = await load("full/gpt_chars.safetensors");
      const cache = model.makeCache();
      model.forward(Array(128).fill(20), { cache });
      model.forward([20], { cache });
    }"""
    assert workshop.error(script) == "expected 1 to 128 tokens, got 129"


def test_all_numbers_of_16_bits_are_read_as_numpy_reads_them(workshop: Workshop):
    script = """async () => {
      const { fromHalf } = await import("/engine/safetensors.mjs");
      const data = Float32Array.from({ length: 65536 }, (_, bits) => fromHalf(bits));
      return pack({ data, shape: [65536] });
    }"""
    expected = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)
    got = unpacked(workshop.run(script))
    assert np.array_equal(got, expected, equal_nan=True)
    assert np.array_equal(np.signbit(got), np.signbit(expected) & ~np.isnan(expected))


READ = """async (content) => {
  const { readSafetensors } = await import("/engine/safetensors.mjs");
  const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
  const { weights, metadata } = readSafetensors(bytes.buffer);
  return [Object.entries(weights).map(([name, one]) => [name, pack(one)]), metadata];
}"""


def test_a_safetensors_file_of_three_kinds_of_numbers(workshop: Workshop):
    rng = np.random.default_rng(0)
    whole = rng.integers(-127, 128, (5, 3), dtype=np.int8)
    scale = rng.random(5, dtype=np.float32)
    tensors = {
        "f32": rng.standard_normal((3, 4)).astype(np.float32),
        "f16": rng.standard_normal((2, 3)).astype(np.float16),
        "i8": whole,
        "i8.scale": scale,
        "steps": np.array([3]),
    }
    content = save(tensors, metadata={"a": "b"})
    weights, metadata = workshop.run(READ, base64.b64encode(content).decode())
    got = {name: unpacked(one) for name, one in weights}
    assert metadata == {"a": "b"}
    assert sorted(got) == ["f16", "f32", "i8"]
    assert np.array_equal(got["f32"], tensors["f32"])
    assert np.array_equal(got["f16"], tensors["f16"].astype(np.float32))
    assert np.array_equal(got["i8"], whole.astype(np.float32) * scale[:, None])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: b"<html>not here</html>", "header cannot be read"),
        (lambda data: b"", "header cannot be read"),
        (lambda data: data[:-4], "the file is cut"),
        (lambda data: data[:20], "header cannot be read"),
        (lambda data: data.replace(b'"F32"', b'"F64"'), "of type F32, F16 or I8, got F64"),
    ],
)
def test_a_damaged_file_gives_a_message(workshop: Workshop, damage, message: str):
    content = damage(save({"a": np.ones((2, 2), dtype=np.float32)}))
    assert message in workshop.error(READ, base64.b64encode(content).decode())


def test_sampling_cuts_are_those_of_the_package(workshop: Workshop):
    script = """async (cases) => {
      const { filterProbabilities } = await import("/engine/sampling.mjs");
      return cases.map(([logits, options]) => [...filterProbabilities(logits, options)]);
    }"""
    generator = Generator().manual_seed(4)
    rows = [scale * torch.randn(62, generator=generator) for scale in (0.1, 1.0, 5.0)]
    rows.append(torch.tensor([2.0, 1.0, 1.0, 1.0, 0.0, -3.0]))  # ties
    grid = itertools.product((0.1, 0.7, 1.0, 2.5), (None, 1, 2, 3, 10, 500), (None, 0.2, 0.9, 1.0))
    cases = [(row, settings) for settings in grid for row in rows]
    given = []
    for row, (temperature, top_k, top_p) in cases:
        options = {"temperature": temperature, "topK": top_k, "topP": top_p}
        given.append([row.tolist(), {k: v for k, v in options.items() if v is not None}])
    for (row, (temperature, top_k, top_p)), got in zip(
        cases, workshop.run(script, given), strict=True
    ):
        # In 64 bits, as the page computes, or a sum may cross top_p by rounding alone.
        expected = Sampling(temperature=temperature, top_k=top_k, top_p=top_p).distribution(
            row.double()
        )
        assert got == pytest.approx(expected.tolist(), abs=1e-9), (temperature, top_k, top_p)
    print(f"\nsampling: {len(cases)} settings and rows agree")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 0}, "expected temperature > 0, got 0"),
        ({"topK": 0}, "expected top-k >= 1, got 0"),
        ({"topP": 0}, "expected top-p in (0, 1], got 0"),
        ({"topP": 1.5}, "expected top-p in (0, 1], got 1.5"),
    ],
)
def test_settings_that_describe_no_distribution_are_refused(
    workshop: Workshop, options: dict[str, float], message: str
):
    script = """async (options) => {
      const { filterProbabilities } = await import("/engine/sampling.mjs");
      return filterProbabilities([1, 2], options);
    }"""
    assert workshop.error(script, options) == message


@pytest.mark.parametrize("bidirectional", [True, False])
def test_distances_fall_into_the_buckets_of_the_package(workshop: Workshop, bidirectional: bool):
    distances = list(range(-300, 301))
    script = """async ([distances, both]) => {
      const { bucket } = await import("/engine/t5.mjs");
      return distances.map((one) => bucket(one, both, 32, 128));
    }"""
    expected = relative_position_bucket(torch.tensor(distances), bidirectional=bidirectional)
    assert workshop.run(script, [distances, bidirectional]) == expected.tolist()


def test_an_unknown_model_is_refused(workshop: Workshop):
    description = {"model": "RNN", "options": {}, "tokenizer": {}}
    metadata = {"pretrain": json.dumps(description)}
    content = save({"a": np.ones(2, dtype=np.float32)}, metadata=metadata)
    (workshop.folder / "rnn.safetensors").write_bytes(content)
    message = workshop.error('async () => load("rnn.safetensors")')
    assert message == "expected GPT, BERT or T5, got RNN"
