# SPDX-License-Identifier: MIT
"""Our classifiers and taggers as the task models of `transformers`, where one computes the same.

A `WordTagger` is the family's ...ForTokenClassification: read it at the last token of each word. A
`TextClassifier` of a BERT with pooling "first" and BERT's pooler is BertForSequenceClassification;
that of a GPT with pooling "last" is its ...ForSequenceClassification, whose layer has no bias: ours
is added to the bias of the norm before it, along the directions that the layer reads. A
`NextSentenceBERT` is BertForPreTraining. No class of `transformers` has the mean of the states, or
classifies by a T5's encoder alone.
"""

from typing import Any

import torch
from torch import Tensor

from pretrain_lab.finetuning.next_sentence import NextSentenceBERT
from pretrain_lab.finetuning.sequence_classification import TextClassifier
from pretrain_lab.hub.conversion import ArchitectureMap

_STEMS = {"bert": "Bert", "gpt2": "GPT2", "gpt_neox": "GPTNeoX", "t5": "T5"}
"""What the names of a family's classes begin with."""
_FINAL_NORM = {
    "gpt2": "transformer.ln_f.bias", "gpt_neox": "gpt_neox.final_layer_norm.bias"
}  # fmt: skip
State = dict[str, Tensor]


def task_model(model: Any, family: ArchitectureMap, state: State) -> tuple[dict[str, Any], State]:
    """Put a head on a backbone in their names: options to change, and all tensors.

    `state` are the tensors of the backbone with its own head, which is left out unless their class
    has it too.

    Raises:
        ValueError: No class of theirs computes the same; the message says why.
    """
    if isinstance(model, NextSentenceBERT):
        pooler = _named("bert.pooler.dense", model.pooler)
        pairs = _named("cls.seq_relationship", model.classifier)
        return {"architectures": ["BertForPreTraining"]}, state | pooler | pairs
    kind, tensors = (
        _classifier(model, family, state)
        if isinstance(model, TextClassifier)
        else ("TokenClassification", _backbone(family, state) | _named("classifier", model.head))
    )
    options: dict[str, Any] = {
        "architectures": [f"{_STEMS[family.model_type]}For{kind}"],
        "id2label": {str(i): name for i, name in enumerate(model.labels)},
        "label2id": {name: i for i, name in enumerate(model.labels)},
        "classifier_dropout": 0.0,
    }
    if family.model_type == "t5":
        options |= {"is_encoder_decoder": False}
    return options, tensors


def _classifier(model: TextClassifier, family: ArchitectureMap, state: State) -> tuple[str, State]:
    """Find the class for a classifier of texts, or say what there is."""
    has_pooler, kind = model.pooler is not None, "SequenceClassification"
    if family.model_type == "bert" and model.pooling == "first" and has_pooler:
        head = _named("bert.pooler.dense", model.pooler) | _named("classifier", model.head)
        return kind, _backbone(family, state) | head
    if family.model_type in _FINAL_NORM and model.pooling == "last" and not has_pooler:
        state = _backbone(family, state)
        weight, bias = model.head.weight.detach(), model.head.bias.detach()
        norm = _FINAL_NORM[family.model_type]
        shift = torch.linalg.pinv(weight.double()) @ bias.double()
        if not torch.allclose(weight.double() @ shift, bias.double(), atol=1e-9):
            raise ValueError("expected classes that differ, got rows of the head that depend")
        shifted = {norm: (state[norm].double() + shift).to(weight.dtype)}
        return kind, state | shifted | {"score.weight": weight}
    raise ValueError(
        "expected a TextClassifier that `transformers` has a class for: of a BERT with "
        "pooling='first' and pooler=True, or of a GPT with pooling='last'; got a "
        f"{type(model.backbone).__name__} with pooling={model.pooling!r}, pooler={has_pooler}"
    )


def _backbone(family: ArchitectureMap, state: State) -> State:
    """Leave out the head over the vocabulary; a tagger of a T5 keeps its encoder alone."""
    if family.model_type == "t5":
        kept = [name for name in state if name.startswith(("shared.", "encoder."))]
        return {f"transformer.{name}": state[name] for name in kept}
    return {name: value for name, value in state.items() if name.startswith(family.prefix)}


def _named(name: str, layer: Any) -> State:
    """Name the tensors of a linear layer."""
    return {f"{name}.weight": layer.weight, f"{name}.bias": layer.bias}
