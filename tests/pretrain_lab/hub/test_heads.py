# SPDX-License-Identifier: MIT
"""Classifiers and taggers in `transformers`: the same scores, or a refusal that says why."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import nn

from pretrain.bert import BERT, BERTConfig
from pretrain.gpt import GPT, GPTConfig
from pretrain.t5 import T5, T5Config
from pretrain_lab.finetuning.next_sentence import NextSentenceBERT
from pretrain_lab.finetuning.sequence_classification import TextClassifier
from pretrain_lab.finetuning.token_classification import Words, WordTagger
from pretrain_lab.hub.weights import to_huggingface
from pretrain_lab.tokenizers.characters import CharTokenizer
from pretrain_lab.tokenizers.segments import Packed

Scramble = Callable[[nn.Module], nn.Module]
TOKENIZER = CharTokenizer("abcdefghijklmnopq")  # 19 ids
SIZES: dict[str, Any] = {"d_model": 12, "n_layers": 2, "n_heads": 3}
IDS = torch.tensor([[5, 3, 8, 18, 7, 2], [9, 4, 4, 6, 0, 0], [12, 3, 0, 0, 0, 0]])
REAL = IDS != 0
LABELS = ("person", "place", "none")


def bert(**options: Any) -> BERT:
    """Make a BERT of 19 tokens."""
    return BERT(BERTConfig(19, max_len=10, **SIZES, **options))


def gpt(**options: Any) -> GPT:
    """Make a GPT of 19 tokens."""
    options = {"positions": "learned", **options}
    return GPT(GPTConfig(19, max_len=10, **{**SIZES, "n_heads": 2}, **options))


def t5() -> T5:
    """Make a T5 of 19 tokens."""
    return T5(T5Config(19, **SIZES))


def reload(model: Any, folder: Path, auto: str) -> Any:
    """Write a model with its tokeniser, and let `transformers` load it, whole."""
    to_huggingface(model, folder, TOKENIZER)
    kind = getattr(transformers, auto)
    peer, loading = kind.from_pretrained(folder, output_loading_info=True)
    assert not any(loading.values()), loading
    return peer


@pytest.mark.parametrize(
    "backbone",
    [bert, lambda: bert(n_segments=2), gpt, lambda: gpt(positions="rotary"), t5],
    ids=["BERT", "BERT with segments", "GPT", "rotary GPT", "T5"],
)
def test_taggers(tmp_path: Path, scramble: Scramble, backbone: Callable[[], Any]) -> None:
    """The score of every token is that of a word which ends there; labels go along."""
    model: Any = scramble(WordTagger(backbone(), 3, labels=LABELS)).float().eval()
    peer = reload(model, tmp_path, "AutoModelForTokenClassification")
    logits = peer(input_ids=IDS, attention_mask=REAL).logits
    words = [
        Words(row[real], torch.arange(int(real.sum()))) for row, real in zip(IDS, REAL, strict=True)
    ]
    torch.testing.assert_close(logits[REAL], model(words, 0), atol=1e-5, rtol=1e-5)
    assert peer.config.id2label == dict(enumerate(LABELS))


@pytest.mark.parametrize(
    ("backbone", "options"),
    [
        (bert, {"pooling": "first", "pooler": True}),
        (gpt, {"pooling": "last"}),
        (lambda: gpt(positions="rotary"), {"pooling": "last"}),
    ],
    ids=["BERT", "GPT", "rotary GPT"],
)
def test_classifiers(
    tmp_path: Path, scramble: Scramble, backbone: Callable[[], Any], options: dict[str, Any]
) -> None:
    """The same scores in a padded batch; the bias that their GPT lacks is in its last norm."""
    classifier = TextClassifier(backbone(), 3, labels=LABELS, **options)
    model: Any = scramble(classifier).float().eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    peer = reload(model, tmp_path, "AutoModelForSequenceClassification")
    logits = peer(input_ids=IDS, attention_mask=REAL).logits
    torch.testing.assert_close(logits, model(IDS, REAL), atol=1e-5, rtol=1e-5)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    classify = transformers.pipeline("text-classification", model=str(tmp_path))
    best = model(TOKENIZER.encode("abcde")[None])[0].argmax()
    assert classify("abcde")[0]["label"] == LABELS[best]


def test_pairs_of_segments(tmp_path: Path, scramble: Scramble) -> None:
    """A `NextSentenceBERT` is BERT with both of its pre-training heads."""
    model: Any = scramble(NextSentenceBERT(bert(n_segments=2))).float().eval()
    peer = reload(model, tmp_path, "AutoModelForPreTraining")
    segments = (torch.arange(6) > 2).long().expand(3, 6)
    output = peer(input_ids=IDS, attention_mask=REAL, token_type_ids=segments)
    tokens, pairs = model(Packed(IDS, segments, REAL))
    torch.testing.assert_close(output.prediction_logits[REAL], tokens[REAL], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(output.seq_relationship_logits, pairs, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("backbone", "options", "message"),
    [
        (bert, {}, "got a BERT with pooling='mean', pooler=False"),
        (bert, {"pooling": "first"}, "got a BERT with pooling='first', pooler=False"),
        (gpt, {"pooling": "mean"}, "got a GPT with pooling='mean', pooler=False"),
        (gpt, {"pooling": "last", "pooler": True}, "got a GPT with pooling='last', pooler=True"),
        (t5, {}, "got a T5 with pooling='mean', pooler=False"),
        (lambda: bert(norm="pre"), {}, "expected norm = 'post', as BertForMaskedLM has it"),
    ],
)
def test_classifiers_that_no_class_has(
    tmp_path: Path, backbone: Callable[[], Any], options: dict[str, Any], message: str
) -> None:
    """What there is and what was given are named; nothing is written."""
    with pytest.raises(ValueError, match=message):
        to_huggingface(TextClassifier(backbone(), 2, **options), tmp_path / "new", TOKENIZER)
    assert not (tmp_path / "new").exists()


def test_a_head_whose_classes_are_one(tmp_path: Path) -> None:
    """A bias that equal rows cannot carry is refused."""
    model = TextClassifier(gpt(), 2, pooling="last")
    with torch.no_grad():
        model.head.weight[1] = model.head.weight[0]
        model.head.bias[1] = 1.0
    with pytest.raises(ValueError, match="expected classes that differ"):
        to_huggingface(model, tmp_path / "new")
    assert not (tmp_path / "new").exists()
