# SPDX-License-Identifier: MIT
"""How `text_to_text` scores one model's answers to five tasks, beside simple rules for each."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from experiments.ch06_t5.setup import (
    ask,
    by_length,
    cluster_interval,
    exact_spans,
    share_interval,
    split_ids,
    until_end,
    write_free,
)
from pretrain.t5 import T5
from pretrain_lab.statistics.intervals import wilson_interval
from pretrain_lab.statistics.rouge import rouge_l, rouge_n
from pretrain_lab.tasks.text_to_text import GENRES, SENTIMENTS, TASKS, Example
from pretrain_lab.tokenizers.subwords import SubwordTokenizer

AnswerAll = Callable[[list[Example]], list[str]]
N_EXAMPLES = 6
PREFIXES = (*(task.prefix for task in TASKS.values()), "")


def spread(examples: list[Example], n: int) -> list[Example]:
    """Take n examples at equal distances, so that all groups are among them."""
    n = min(n, len(examples))
    return [examples[i * len(examples) // n] for i in range(n)]


def mean(values: list[float]) -> float:
    """Average a list."""
    return sum(values) / len(values)


def clustered(values: list[float], examples: list[Example]) -> list[float]:
    """Average one number per example, with an interval over plays, films or words."""
    groups = {group: i for i, group in enumerate(dict.fromkeys(e.group for e in examples))}
    index = torch.tensor([groups[e.group] for e in examples])
    sums = torch.zeros(len(groups), dtype=torch.float64)
    sums.index_add_(0, index, torch.tensor(values, dtype=torch.float64))
    counts = torch.bincount(index)
    shares = set(values) <= {0.0, 1.0}
    return share_interval(sums, counts) if shares else cluster_interval(sums, counts)


def hits(answers: list[str], examples: list[Example]) -> list[float]:
    """Return for each answer whether it is the target, 1 or 0."""
    return [float(a == e.target) for a, e in zip(answers, examples, strict=True)]


def texts(examples: list[Example], prefix: str) -> list[str]:
    """Remove the prefix from the sources."""
    return [e.source.removeprefix(prefix) for e in examples]


def word_counts(train: list[Example], prefix: str) -> AnswerAll:
    """Fit a logistic regression on word counts; return a function from examples to answers."""
    vectorizer = CountVectorizer()
    counts = vectorizer.fit_transform(texts(train, prefix))
    model = LogisticRegression(max_iter=1000).fit(counts, [e.target for e in train])

    def answer(examples: list[Example]) -> list[str]:
        """Name the most likely class of each example."""
        return list(model.predict(vectorizer.transform(texts(examples, prefix))))

    return answer


def judge_class(
    name: str, ask_model: AnswerAll, train: list[Example], unseen: list[Example]
) -> dict[str, Any]:
    """Compare "genre" or "sentiment" with majority class and word counts, unseen groups and seen.

    `ask_model` is a function from examples to the model's answers; `unseen` are the questions.
    """
    counted = word_counts(train, TASKS[name].prefix)
    majority = Counter(e.target for e in train).most_common(1)[0][0]
    answers, seen = ask_model(unseen), spread(train, len(unseen) // 4)
    classes = sorted({e.target for e in train})
    return {
        "n": len(unseen),
        "n_groups": len({e.group for e in unseen}),
        "classes": classes,
        "majority_class": majority,
        "accuracy": {
            "t5": clustered(hits(answers, unseen), unseen),
            "word_counts": clustered(hits(counted(unseen), unseen), unseen),
            "majority": clustered(hits([majority] * len(unseen), unseen), unseen),
        },
        "t5_minus_word_counts": clustered(
            [
                a - b
                for a, b in zip(hits(answers, unseen), hits(counted(unseen), unseen), strict=True)
            ],
            unseen,
        ),
        "accuracy_on_training_groups": {
            "n": len(seen),
            "t5": clustered(hits(ask_model(seen), seen), seen),
            "word_counts": clustered(hits(counted(seen), seen), seen),
        },
        "answers": dict(Counter(answers).most_common(8)),
        "share_no_class": mean([float(a not in classes) for a in answers]),
        "examples": shown(answers, unseen),
    }


def shown(answers: list[str], examples: list[Example], **others: list[str]) -> list[dict[str, str]]:
    """Store some questions with their answers, at equal distances."""
    n = min(N_EXAMPLES, len(examples))
    rows = [i * len(examples) // n for i in range(n)]
    return [
        {
            "source": examples[i].source,
            "target": examples[i].target,
            "answer": answers[i],
            **{name: values[i] for name, values in others.items()},
        }
        for i in rows
    ]


def judge_reversal(answers: list[str], examples: list[Example]) -> dict[str, Any]:
    """Compare with copying, which is right for palindromes, and split by word length."""
    copied = hits(texts(examples, TASKS["reverse"].prefix), examples)
    right = hits(answers, examples)
    lens = [len(e.group) for e in examples]
    by_len = {
        str(k): [r for r, length in zip(right, lens, strict=True) if length == k]
        for k in sorted(set(lens))
    }
    return {
        "n": len(examples),
        "accuracy": {
            "t5": list(wilson_interval(int(sum(right)), len(right))),
            "copying": list(wilson_interval(int(sum(copied)), len(copied))),
        },
        "by_length": {k: list(wilson_interval(int(sum(v)), len(v))) for k, v in by_len.items()},
        "examples": shown(answers, examples),
    }


def frequent_capitals(plot: str, n: int) -> str:
    """Return the n most frequent capitalised words, never in lower case, in the plot's order."""
    words = [word.strip(".,;:!?()\"'") for word in plot.split()]
    counts = Counter(w for w in words if w[:1].isupper() and w.lower() not in set(words))
    best = [word for word, _ in counts.most_common(n)]
    return " ".join(sorted(best, key=words.index))


def judge_titles(
    answers: list[str], train: list[Example], examples: list[Example]
) -> dict[str, Any]:
    """Compare titles by ROUGE with the plot's first words and other rules."""
    n_words = round(mean([len(e.target.split()) for e in train]))
    plots = texts(examples, TASKS["title"].prefix)
    common = Counter(word for e in train for word in e.target.split()).most_common(1)[0][0]
    ways = {
        "t5": answers,
        "lead_words": [" ".join(plot.split()[:n_words]) for plot in plots],
        "capitalised_words": [frequent_capitals(plot, n_words) for plot in plots],
        "most_frequent_word": [common] * len(plots),
    }
    known = {e.target for e in train}
    result: dict[str, Any] = {
        "n": len(examples),
        "n_words": n_words,
        "most_frequent_word": common,
        "share_of_answers_that_are_training_titles": mean([float(a in known) for a in answers]),
        "ways": {},
    }
    for name, titles in ways.items():
        pairs = [(title, e.target) for title, e in zip(titles, examples, strict=True)]
        result["ways"][name] = {
            "rouge_1_f1": clustered([rouge_n(*pair).f1 for pair in pairs], examples),
            "rouge_l_f1": clustered([rouge_l(*pair).f1 for pair in pairs], examples),
            "exact": clustered([float(a == b) for a, b in pairs], examples),
        }
    others = {name: titles for name, titles in ways.items() if name.endswith("_words")}
    return {**result, "examples": shown(answers, examples, **others)}


def judge_fill(model: T5, tokenizer: SubwordTokenizer, n: int, *, seed: int) -> dict[str, Any]:
    """Fill spans of unseen plays, as in `evaluation`: the model decides where they end."""
    asked = ask(tokenizer, split_ids(tokenizer, "test"), n, seed=seed)
    written = write_free(model, asked.corrupted.inputs, asked.corrupted.targets.shape[1] + 10)
    rows = [
        {
            "source": tokenizer.decode(asked.corrupted.inputs[i]),
            "target": tokenizer.decode(asked.corrupted.targets[i]),
            "answer": tokenizer.decode(until_end(written[i], tokenizer)),
        }
        for i in range(min(N_EXAMPLES, n))
    ]
    return {"n_windows": n, "exact": by_length(asked, exact_spans(written, asked, tokenizer)),
            "examples": rows}  # fmt: skip


def judge_prefixes(
    ask_texts: Callable[[list[str]], list[str]], unseen: dict[str, list[Example]], n: int
) -> dict[str, Any]:
    """Put every prefix, and none, before n review sentences and n passages of plays.

    `ask_texts` is a function from sources to the model's answers.

    Returns:
        For each kind of text and prefix ("" = none), the shares of answers that are a sentiment, a
        genre or something else; and the answers to some texts under every prefix.
    """
    result: dict[str, Any] = {"n": n, "shares": {}, "examples": []}
    for name in ("sentiment", "genre"):
        some = texts(spread(unseen[name], n), TASKS[name].prefix)
        answers = {p: ask_texts([p + text for text in some]) for p in PREFIXES}
        result["shares"][name] = {p: _kinds(given) for p, given in answers.items()}
        for i in range(0, len(some), -(-len(some) // 3)):
            row = {p: given[i] for p, given in answers.items()}
            result["examples"].append({"text_of": name, "text": some[i], "answers": row})
    return result


def _kinds(answers: list[str]) -> dict[str, float]:
    """Return the shares of answers that are a sentiment, a genre, or something else."""
    shares = {
        "sentiment": mean([float(a in SENTIMENTS) for a in answers]),
        "genre": mean([float(a in GENRES.values()) for a in answers]),
    }
    return {**shares, "other": 1 - sum(shares.values())}
