# SPDX-License-Identifier: MIT
"""Gaps are filled and priced in the page as PyTorch does it."""

import math

import pytest
import torch
from torch import Generator, Tensor
from workshop import Workshop, spans_of

from pretrain.evaluation import cloze_log_probs, left_log_probs
from pretrain.generation import Sampling, generate, generate_seq2seq
from pretrain.objectives import random_windows
from pretrain.span_corruption import corrupt_given_spans
from pretrain_lab.checkpoints import load_model
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.scoring.spans import bert_span_log_probs, gpt_span_log_probs

CASES = [  # length of the text, gaps
    (33, [(18, 22)]),
    (62, [(1, 2)]),
    (62, [(60, 61)]),
    (12, [(1, 11)]),
    (40, [(3, 5), (7, 8), (30, 35)]),
    (62, [(2, 3), (10, 12), (20, 23), (31, 33), (40, 42), (50, 52)]),
]
FILES = {name: f"full/{name}.safetensors" for name in ("gpt_chars", "bert_chars", "t5_chars")}


def text_of(tokenizer, length: int) -> Tensor:
    """Cut the same characters of an unseen play for every model, a line end before them."""
    text = "".join(play.text for play in load_shakespeare("test"))
    start = int(random_windows(torch.arange(len(text)), 1, length,
                               generator=Generator().manual_seed(length))[0, 0])  # fmt: skip
    return tokenizer.encode("\n" + text[start : start + length - 1])


def in_bits(nats: Tensor) -> list[float]:
    """Turn log-probabilities into costs in bits."""
    return (-nats.double().flatten() / math.log(2)).tolist()


def infill(workshop: Workshop, call: str, name: str, *arguments: object):
    """Call a function of infill.mjs with a model, its tokeniser and ids and gaps."""
    script = f"""async ([file, ids, gaps, extra]) => {{
      const {{ model, tokenizer }} = await load(file);
      const infill = await import("/engine/infill.mjs");
      const found = await infill.{call};
      return JSON.parse(JSON.stringify(found, (_, value) =>
        value instanceof Float64Array ? [...value] : value));
    }}"""
    return workshop.run(script, [FILES[name], *arguments])


def close(found, expected) -> None:
    """Compare costs or probabilities: within a hundredth of a bit, or 1e-4."""
    assert found == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("length", "gaps"), CASES)
def test_gpt_from_the_left(workshop: Workshop, length: int, gaps):
    gpt, tokenizer = load_model("gpt_chars")
    ids = text_of(tokenizer, length)
    found = infill(workshop, "gptInfill(model, ids, gaps)", "gpt_chars", ids.tolist(), gaps)
    written, answers, costs = ids[:0], [], []
    done = 0
    for start, end in gaps:
        written = torch.cat([written, ids[done:start]])
        written = generate(gpt, written[None], end - start, Sampling(greedy=True))[0]
        answers.append(written[start:end].tolist())
        costs += in_bits(gpt_span_log_probs(gpt, ids[None], start, end))
        done = end
    first = left_log_probs(gpt, ids[None], torch.tensor([gaps[0][0]]))[0].exp()
    assert found["answers"] == answers
    close(found["costs"], costs)
    close(found["first"], first.tolist())


@pytest.mark.parametrize(("length", "gaps"), CASES)
def test_bert_expects_at_all_masks_at_once(workshop: Workshop, length: int, gaps):
    bert, tokenizer = load_model("bert_chars")
    ids = text_of(tokenizer, length)
    places = [place for start, end in gaps for place in range(start, end)]
    call = "bertGuesses(model, ids, gaps, tokenizer)"
    found = infill(workshop, call, "bert_chars", ids.tolist(), places)
    masked = ids.clone()
    masked[places] = tokenizer.mask_id
    with torch.inference_mode():
        expected = bert(masked[None])[0, places].softmax(dim=-1)
    for shown, probs in zip(found, expected.tolist(), strict=True):
        close(shown, probs)
    if len(places) == 1:  # the package's answer for one blank
        one = cloze_log_probs(bert, ids[None], torch.tensor(places), mask_id=tokenizer.mask_id)
        close(found[0], one[0].exp().tolist())


@pytest.mark.parametrize(("length", "gaps"), CASES)
def test_bert_in_order(workshop: Workshop, length: int, gaps):
    bert, tokenizer = load_model("bert_chars")
    ids = text_of(tokenizer, length)
    call = "bertInfill(model, ids, gaps, tokenizer)"
    found = infill(workshop, call, "bert_chars", ids.tolist(), gaps)
    masked = ids.clone()
    places = [place for start, end in gaps for place in range(start, end)]
    masked[places] = tokenizer.mask_id
    costs, written = [], masked.clone()
    for n, (start, end) in enumerate(gaps):
        known = ids.clone()
        for later in gaps[n + 1 :]:
            known[later[0] : later[1]] = tokenizer.mask_id
        costs += in_bits(
            bert_span_log_probs(bert, known[None], start, end, mask_id=tokenizer.mask_id)
        )
    with torch.inference_mode():
        for place in places:
            logits = bert(written[None])[0, place]
            logits[list(tokenizer.special_ids)] = -torch.inf
            written[place] = logits.argmax()
    assert found["answers"] == [written[start:end].tolist() for start, end in gaps]
    close(found["costs"], costs)


@pytest.mark.parametrize(("length", "gaps"), CASES)
def test_t5_writes_and_pays_for_letters_and_ends(workshop: Workshop, length: int, gaps):
    t5, tokenizer = load_model("t5_chars")
    ids = text_of(tokenizer, length)
    found = infill(
        workshop, "t5Infill(model, ids, gaps, tokenizer)", "t5_chars", ids.tolist(), gaps
    )
    cut = corrupt_given_spans(ids, gaps, spans_of(tokenizer))
    start = torch.cat([torch.tensor([tokenizer.pad_id]), cut.targets[:-1]])
    with torch.inference_mode():
        log_probs = t5(cut.inputs[None], start[None])[0].log_softmax(dim=-1)
    costs = in_bits(log_probs.gather(1, cut.targets[:, None]))
    letters = [
        cost for cost, i in zip(costs, cut.targets, strict=True) if i >= len(tokenizer.specials)
    ]
    assert len(letters) == sum(end - start for start, end in gaps)
    close(found["costs"], letters)
    assert found["ends"] == pytest.approx(sum(costs) - sum(letters), abs=1e-3)
    close(found["first"], log_probs[1].exp().tolist())
    most = 2 * len(cut.targets) + 8
    written = generate_seq2seq(
        t5, cut.inputs[None], most, Sampling(greedy=True), eos_id=tokenizer.ids["</s>"]
    )[0].tolist()  # fmt: skip
    after = tokenizer.ids[f"<extra_id_{len(gaps)}>"]  # here the page stops, for the gaps are full
    if after in written:
        written = written[: written.index(after) + 1]
    assert found["written"] == written
    for n, answer in enumerate(found["answers"]):
        sentinel = tokenizer.ids[f"<extra_id_{n}>"]
        after = written[written.index(sentinel) + 1 :] if sentinel in written else []
        ends = [i for i, token in enumerate(after) if token < len(tokenizer.specials)]
        assert answer == after[: ends[0] if ends else None]


def test_more_gaps_than_sentinels_are_refused(workshop: Workshop):
    script = """async (gaps) => {
      const { tokenizer } = await load("full/t5_chars.safetensors");
      return (await import("/engine/infill.mjs")).spanTask(Array(60).fill(20), gaps, tokenizer);
    }"""
    gaps = [[place, place + 1] for place in range(1, 21, 2)]
    assert "expected fewer gaps than there are sentinels, got 10" in workshop.error(script, gaps)
    assert len(workshop.run(script, gaps[:9])["targets"]) == 9 + 9 + 2


def test_places_are_joined_to_gaps(workshop: Workshop):
    script = """async (places) => {
      const { gapsOf, placesOf } = await import("/engine/infill.mjs");
      return [gapsOf(new Set(places)), placesOf(gapsOf(places))];
    }"""
    assert workshop.run(script, [7, 3, 4, 9, 8]) == [[[3, 5], [7, 10]], [3, 4, 7, 8, 9]]
    assert workshop.run(script, []) == [[], []]
