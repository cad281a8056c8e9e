# SPDX-License-Identifier: MIT
"""What the study of next-sentence prediction judges with: scores, shared words, frozen states."""

import numpy as np
import pytest
import torch
from torch import Generator

from experiments.ch05_bert import pair_probes
from pretrain.bert import BERT, BERTConfig
from pretrain_lab.finetuning.next_sentence import NextSentenceBERT, pack_segments
from pretrain_lab.tasks.sentence_pairs import Pairs, Segments, find_segments, next_sentence_pairs
from pretrain_lab.tokenizers.segments import pack_ids
from pretrain_lab.tokenizers.subwords import load_tokenizer

BOOK = load_tokenizer("plays_bpe")
SPEECHES = ("FIRST:\nA crown, my lord!\n\n", "SECOND:\nWhat crown?\n\n", "FIRST:\nYours.\n\n")


@pytest.fixture
def segments() -> Segments:
    """Give two documents of three speeches, each a segment of its own."""
    documents = [[BOOK.encode(text) for text in SPEECHES]] * 2
    return find_segments(documents, max(len(text) for text in documents[0]))


def test_judge_by_hand() -> None:
    """Four scores: three answers are right, and three of four (false, true) pairs are in order."""
    told = pair_probes.judge(np.array([1.0, -1.0, 0.5, -2.0]), torch.tensor([1, 1, 0, 0]))
    assert told == {
        "accuracy": 0.5, "auc": 0.75, "said_follows_true": 0.5, "said_follows_false": 0.5,
    }  # fmt: skip
    assert pair_probes.judge(np.array([2.0, 1.0]), torch.tensor([1, 0]))["auc"] == 1.0


def test_shared_words_by_hand(segments: Segments) -> None:
    """Crown is shared by the first two speeches, the speaker by the first and the third."""
    describe = pair_probes.SharedWords(segments, BOOK)
    pairs = Pairs(torch.tensor([0, 0]), torch.tensor([1, 2]), torch.tensor([0, 1]))
    first, second = describe(segments, pairs)
    rarity = {word: np.log(6 / (1 + n)) for word, n in (("crown", 4), ("first", 4))}
    assert first[:3] == pytest.approx([1, rarity["crown"], 0])
    assert second[:3] == pytest.approx([1, rarity["first"], 1])
    lens = segments.lens.tolist()
    assert first[3:].tolist() == [lens[0], lens[1], abs(lens[0] - lens[1])]


def test_frozen_states_are_those_of_the_encoder() -> None:
    """[CLS], the mean of each segment with its special tokens, and their product."""
    model = NextSentenceBERT(
        BERT(BERTConfig(11, d_model=8, n_layers=1, n_heads=2, max_len=12, n_segments=2))
    ).eval()
    rows = [(torch.tensor([7, 8]), torch.tensor([9])), (torch.tensor([5]), torch.tensor([6]))]
    batch = pack_ids(rows, cls_id=1, sep_id=2, pad_id=0)
    scores, inputs = pair_probes.answer(model, batch)
    with torch.no_grad():
        states = model.bert.encode(batch.ids, batch.attention_mask, batch.segment_ids)
        _, classes = model(batch)
    left, right = states[1, :3].mean(dim=0), states[1, 3:5].mean(dim=0)
    expected = torch.cat([states[1, 0], left, right, left * right])
    assert inputs[1] == pytest.approx(expected.double().numpy(), abs=1e-6)
    assert scores == pytest.approx((classes[:, 1] - classes[:, 0]).double().numpy(), abs=1e-6)


def test_a_probe_finds_what_is_there(generator: Generator) -> None:
    """Two documents of one token each: a probe on random states tells them apart, unlike order."""
    documents = [[torch.full((3,), 20 + d)] * 40 for d in range(2)]
    found = find_segments(documents, 3)
    model = NextSentenceBERT(
        BERT(
            BERTConfig(
                BOOK.vocab_size,
                d_model=16,
                n_layers=1,
                n_heads=2,
                max_len=12,
                n_segments=2,
                init_std=0.3,
            )
        )
    ).eval()
    drawn = {
        name: (found, next_sentence_pairs(found, n, generator=generator))
        for name, n in (("fit", 200), ("ask", 100))
    }
    told = pair_probes.judge_model(model, BOOK, {"other": drawn["ask"]}, {"other": drawn["fit"]})
    assert told["probes"]["other"]["other"]["accuracy"] > 0.95
    assert set(told["head"]["other"]) == set(told["probes"]["other"]["other"])
    assert pack_segments(*drawn["ask"], BOOK).ids.shape == (100, 9)
