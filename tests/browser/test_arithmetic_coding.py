# SPDX-License-Identifier: MIT
"""The page codes as chapter 8's Python does: the same digits from the same counts, and back."""

import math
from fractions import Fraction

import pytest
import torch
from torch import Generator
from workshop import Workshop

from experiments.ch08_compression.arithmetic_coding import decode, encode, gpt_counts
from pretrain_lab.checkpoints import load_model

MODEL = "full/gpt_chars.safetensors"
TEXTS = [
    "I am a sentence that nobody has written before.",
    "Is this a dagger which I see before me, the handle toward my hand?",
    "zzzzqxj",
    "a",
]
FIGURE = ([0, 1, 1, 0], [[1, 1], [1, 1], [2, 1, 5], [1, 3]])
CODE = """async ([symbols, counts]) => {
  const coding = await import("/engine/arithmetic-coding.mjs");
  const { steps, ...point } = coding.encode(symbols, counts);
  const decoder = new coding.Decoder(point);
  const found = counts.map((own) => decoder.take(own));
  return { digits: coding.digitsOf(point), nBits: point.nBits, found,
    bits: steps.map(({ bits }) => bits), fixed: steps.map(({ after }) => after.fixedDigits),
    places: steps.map(({ before }) => before.placeOf(point)) };
}"""
COUNTS = """async ([file, texts]) => {
  const { CountReader } = await import("/engine/arithmetic-coding.mjs");
  const loaded = await load(file);
  const reader = new CountReader(loaded);
  return texts.map((text) => reader.read(loaded.tokenizer.encode(text)));
}"""


def random_case(seed: int) -> tuple[list[int], list[list[int]]]:
    """Draw counts for up to 60 places, some of them very uneven, and a symbol for each."""
    generator = Generator().manual_seed(seed)
    length = int(torch.randint(1, 60, (), generator=generator))
    n_symbols = int(torch.randint(2, 63, (), generator=generator))
    logits = torch.randn(length, n_symbols, generator=generator) * 3
    counts = (logits.softmax(dim=-1).double() * 2**16).floor().long() + 1
    symbols = torch.randint(n_symbols, (length,), generator=generator)
    return symbols.tolist(), counts.tolist()


CASES = [FIGURE, *(random_case(seed) for seed in range(12))]


@pytest.mark.parametrize(("symbols", "counts"), CASES)
def test_the_digits_are_those_of_python(workshop: Workshop, symbols: list, counts: list):
    got = workshop.run(CODE, [symbols, counts])
    code, n_bits = encode(symbols, lambda known: counts[len(known)])
    assert (got["nBits"], int(got["digits"], 2)) == (n_bits, code)
    assert len(got["digits"]) == n_bits
    assert got["found"] == symbols
    assert decode(code, n_bits, len(symbols), lambda known: counts[len(known)]) == symbols
    assert 0 <= n_bits - sum(got["bits"]) < 1.000001, "the bits are summed and rounded up once"


def test_the_figures_code(workshop: Workshop):
    assert workshop.run(CODE, [*FIGURE])["digits"] == "0101000"


@pytest.mark.parametrize(("symbols", "counts"), CASES[:6])
def test_fixed_digits_are_those_of_every_point(workshop: Workshop, symbols: list, counts: list):
    got = workshop.run(CODE, [symbols, counts])
    point = Fraction(int(got["digits"], 2), 2 ** got["nBits"])
    low, width = Fraction(0), Fraction(1)
    for place, (symbol, own) in enumerate(zip(symbols, counts, strict=True)):
        assert got["places"][place] == pytest.approx(float((point - low) / width), abs=1e-5)
        low += width * Fraction(sum(own[:symbol]), sum(own))
        width *= Fraction(own[symbol], sum(own))
        n = 0
        while low * 2 ** (n + 1) // 1 + 1 >= (low + width) * 2 ** (n + 1):
            n += 1
        fixed = f"{int(low * 2**n // 1):0{n}b}" if n else ""
        assert got["fixed"][place] == fixed
        assert got["digits"].startswith(fixed)


def test_the_bits_are_those_of_pytorch(workshop: Workshop):
    model, tokenizer = load_model("gpt_chars")
    n_special = len(tokenizer.special_ids)
    predict = gpt_counts(model, n_special)
    for text, rows in zip(TEXTS, workshop.run(COUNTS, [MODEL, TEXTS]), strict=True):
        symbols = (tokenizer.encode(text) - n_special).tolist()
        got = workshop.run(CODE, [symbols, rows])
        for place, symbol in enumerate(symbols):
            own = predict(symbols[:place])
            assert rows[place] == pytest.approx(own, abs=1 + 1e-5 * max(own))
            bits = math.log2(sum(own) / own[symbol])
            assert got["bits"][place] == pytest.approx(bits, abs=1e-3)
        assert abs(got["nBits"] - encode(symbols, predict)[1]) <= 1


def test_what_was_read_before_changes_no_count(workshop: Workshop):
    """Encoder and decoder must agree to the last count, in whatever pieces they read."""
    texts = ["my lord", "my lord, go", "my good lord", "my", "my good lord, go", "a", ""]
    expected = [workshop.run(COUNTS, [MODEL, [text]])[0] for text in texts]
    assert workshop.run(COUNTS, [MODEL, texts]) == expected


@pytest.mark.parametrize("text", TEXTS)
def test_a_model_that_reads_step_by_step_decodes(workshop: Workshop, text: str):
    script = """async ([file, text]) => {
      const coding = await import("/engine/arithmetic-coding.mjs");
      const { Tasks } = await import("/engine/tasks.mjs");
      const tasks = new Tasks(async () => (await fetch(file)).arrayBuffer());
      await tasks.run("load", "gpt");
      const { tokenizer } = await load(file);
      const first = tokenizer.specials.length;
      const ids = tokenizer.encode(text);
      const point = coding.encode(ids.map((id) => id - first), tasks.run("counts", "gpt", ids));
      const heard = (sent) => {
        const decoder = new coding.Decoder(sent);
        while (decoder.symbols.length < ids.length) {
          const known = decoder.symbols.map((symbol) => symbol + first);
          decoder.take(known.length ? coding.countsOfScores(tasks.run("next", "gpt", known), first)
            : coding.alike(tokenizer.tokens.length - first));
        }
        return tokenizer.decode(decoder.symbols.map((symbol) => symbol + first));
      };
      return [heard(point), heard(coding.flipped(point, 0))];
    }"""
    right, wrong = workshop.run(script, [MODEL, text])
    assert right == text
    assert len(wrong) == len(text)
    assert wrong[0] != text[0]
