# SPDX-License-Identifier: MIT
"""Two more heads on the same encoder: names in unseen plays, and who speaks a line.

Both are fine-tuned at two learning rates; the one that does better on the validation plays is
tested.
"""

from functools import partial
from typing import Any

import torch
from torch import Generator

from experiments.ch09_finetuning.methods import Plan, pad_id, published, train
from pretrain_lab.finetuning.hf_heads import (
    Encoded,
    decode_span,
    decode_tags,
    encode_span,
    encode_tags,
    predict_hf,
)
from pretrain_lab.hub.offline_models import load_hub_model
from pretrain_lab.tasks.character_ner import TAGS, NamePassage, read_names
from pretrain_lab.tasks.rule_baselines import bio_spans, entity_f1, name_rules, speaker_rules
from pretrain_lab.tasks.speakers import SpeakerQuestion, read_speakers

BASE = "sentence-transformers/all-MiniLM-L6-v2"
RATES: tuple[float, ...] = (1e-4, 3e-4)
N_EPOCHS = {"names": 3, "speakers": 2}
MAX_TOKENS = {"train": 96, "validation": 128, "test": 128}
"""Longer questions are left out; short ones are trained on, for they cost less."""


def spread(items: list[Any], n: int) -> list[Any]:
    """Take at most n items at equal distances."""
    n = min(n, len(items))
    return [items[i * len(items) // n] for i in range(n)]


def name_examples(plan: Plan, split: str) -> tuple[list[NamePassage], list[Encoded]]:
    """Encode passages of plays with a tag for each word."""
    passages = spread(read_names(split), plan.heads["names"][split])
    tokenizer = published()[1]
    encoded = [
        encode_tags(passage.words, [TAGS.index(tag) for tag in passage.tags], tokenizer)
        for passage in passages
    ]
    return passages, encoded


def speaker_examples(plan: Plan, split: str) -> tuple[list[SpeakerQuestion], list[Encoded]]:
    """Encode questions about lines; those that are too long are left out, not cut."""
    questions = read_speakers(split, generator=Generator().manual_seed(0))
    found = []
    for question in questions:
        encoded = encode_span(
            question.line, question.context, question.start, question.end, published()[1]
        )
        if encoded is not None and len(encoded["input_ids"]) <= MAX_TOKENS[split]:
            found.append((question, encoded))
    kept = spread(found, plan.heads["speakers"][split])
    return [question for question, _ in kept], [encoded for _, encoded in kept]


def tune_head(plan: Plan, task: str, examples: list[Encoded], lr: float, seed: int) -> Any:
    """Put a head of `transformers` on the encoder and train everything."""
    torch.manual_seed(seed)
    if task == "names":
        model = load_hub_model(BASE, "tokens", report=None, num_labels=len(TAGS)).model
    else:
        model = load_hub_model(BASE, "spans", report=None).model
    n_steps = N_EPOCHS[task] * -(-len(examples) // 16)
    made = train(plan, model, examples, lr, seed, n_steps=n_steps)
    return model, made


def mark_names(model: Any, encoded: list[Encoded]) -> list[list[str]]:
    """Let the model tag the words."""
    found = predict_hf(model, encoded, decode_tags, pad_id=pad_id())
    return [[TAGS[tag] for tag in tags] for tags in found]


def answer_speakers(
    model: Any, questions: list[SpeakerQuestion], encoded: list[Encoded]
) -> list[str]:
    """Let the model choose a span, and cut it out of the context."""
    found = predict_hf(model, encoded, partial(decode_span, max_len=12), pad_id=pad_id())
    texts = []
    for question, (first, last) in zip(questions, found, strict=True):
        batch = published()[1](question.line, question.context)
        start, end = batch.token_to_chars(first).start, batch.token_to_chars(last).end
        texts.append(question.context[start:end])
    return texts


def run_names(plan: Plan, lr: float, seed: int) -> dict[str, Any]:
    """Fine-tune at one rate: F1 of names on validation plays, and counts for each test passage."""
    _, train_examples = name_examples(plan, "train")
    model, made = tune_head(plan, "names", train_examples, lr, seed)
    known, encoded = name_examples(plan, "validation")
    validation = entity_f1(mark_names(model, encoded), [p.tags for p in known]).f1
    passages, encoded = name_examples(plan, "test")
    marked = mark_names(model, encoded)
    return {
        "validation": validation,
        "counts": [name_counts(m, p.tags) for m, p in zip(marked, passages, strict=True)],
        "plays": [p.play for p in passages],
        "word_accuracy": sum(
            a == b for m, p in zip(marked, passages, strict=True)
            for a, b in zip(m, p.tags, strict=True)
        ) / sum(len(p.tags) for p in passages),
        "examples": [
            {"words": " ".join(p.words), "found": named(p, m), "true": named(p, p.tags)}
            for p, m in zip(passages, marked, strict=True) if set(p.tags) != {"O"}
        ][:8],
        **made,
    }  # fmt: skip


def named(passage: NamePassage, tags: Any) -> list[str]:
    """List the names that tags mark in a passage."""
    return [" ".join(passage.words[a:b]) for a, b in bio_spans(tags)]


def name_counts(marked: Any, truth: Any) -> list[int]:
    """Count names found, names there, and names that are both."""
    found, real = set(bio_spans(marked)), set(bio_spans(truth))
    return [len(found), len(real), len(found & real)]


def name_baselines(plan: Plan) -> dict[str, Any]:
    """Score lists and rarity on the same test passages, and "nothing is a name" by words."""
    train, test = (spread(read_names(s), plan.heads["names"][s]) for s in ("train", "test"))
    rules = {rule: scores._asdict() for rule, scores in name_rules(train, test).items()}
    tags = [tag for passage in test for tag in passage.tags]
    return {
        "rules": rules,
        "n_passages": len(test),
        "n_names": sum(tag == "B" for tag in tags),
        "n_words": len(tags),
        "word_accuracy_of_nothing": tags.count("O") / len(tags),
    }


def token_f1(written: str, truth: str) -> float:
    """Return the harmonic mean of the shares of words that two answers have in common."""
    a, b = written.lower().split(), truth.lower().split()
    shared = sum(min(a.count(word), b.count(word)) for word in set(a))
    return 2 * shared / (len(a) + len(b)) if shared else 0.0


def run_speakers(plan: Plan, lr: float, seed: int) -> dict[str, Any]:
    """Fine-tune at one rate: exact answers in validation; exact and F1 for each test question."""
    _, train_examples = speaker_examples(plan, "train")
    model, made = tune_head(plan, "speakers", train_examples, lr, seed)
    scores = {}
    for split in ("validation", "test"):
        questions, encoded = speaker_examples(plan, split)
        texts = answer_speakers(model, questions, encoded)
        scores[split] = [
            [float(text == q.answer), token_f1(text, q.answer)]
            for text, q in zip(texts, questions, strict=True)
        ]
    validation = [exact for exact, _ in scores["validation"]]
    return {
        "n_train": len(train_examples),
        "validation": sum(validation) / len(validation),
        "scores": scores["test"],
        "plays": [q.play for q in questions],
        "examples": [
            {"line": q.line, "context": q.context, "found": text, "true": q.answer}
            for q, text in zip(questions, texts, strict=True)
        ][:: max(1, len(texts) // 6)][:6],
        **made,
    }


def speaker_baselines(plan: Plan) -> dict[str, Any]:
    """Score rules that do not read the line, on the same questions."""
    questions, _ = speaker_examples(plan, "test")
    return {"rules": speaker_rules(questions), "n_questions": len(questions)}
