# SPDX-License-Identifier: MIT
"""How a model's answers to the tasks are scored, beside simple rules for each."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
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
from pretrain_lab.statistics.rouge import common_len, rouge_l, rouge_n
from pretrain_lab.tasks.text_to_text import (
    GENRES,
    MOVES,
    PLACES,
    SENTIMENTS,
    TASKS,
    Example,
    bare,
)
from pretrain_lab.tokenizers.subwords import SubwordTokenizer

AnswerAll = Callable[[list[Example]], list[str]]
N_EXAMPLES = 6
_STORY_SENTENCE = re.compile(rf"\S+ ({'|'.join(MOVES)}) the ({'|'.join(PLACES)})\.")
PREFIXES = (*(TASKS[name].prefix for name in ("reverse", "genre", "sentiment", "title")), "")


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


def judge_questions(answers: list[str], examples: list[Example]) -> dict[str, Any]:
    """Compare with rules that read less than is asked, and with the one that made the answers.

    Right is an answer that is the whole sentence; `place_right` asks for its last word only.
    """
    rules: dict[str, list[str]] = {"last_sentence": [], "first_about": [], "last_about": []}
    n_about, stories = [], []
    for text in texts(examples, TASKS["answer"].prefix):
        question, story = text.split("? ", 1)
        said = [f"{sentence}." for sentence in story.removesuffix(".").split(". ")]
        about = [sentence for sentence in said if sentence.split()[0] == question.split()[-1]]
        rules["last_sentence"].append(said[-1])
        rules["first_about"].append(about[0])
        rules["last_about"].append(about[-1])
        n_about.append(len(about))
        stories.append(said)
    targets = [e._replace(target=e.target.strip()) for e in examples]
    ways = {"t5": answers, **rules}
    several = [i for i, n in enumerate(n_about) if n > 1]
    chosen = [targets[i] for i in several]
    places = [
        float(answer.split()[-1:] == e.target.split()[-1:])
        for answer, e in zip(answers, targets, strict=True)
    ]
    return {
        "n": len(examples),
        "n_groups": len({e.group for e in examples}),
        "accuracy": {
            name: clustered(hits(given, targets), targets) for name, given in ways.items()
        },
        "place_right": clustered(places, targets),
        "when_named_more_than_once": {
            "n": len(several),
            **{
                name: clustered(hits([given[i] for i in several], chosen), chosen)
                for name, given in ways.items()
            },
        },
        "share_no_sentence_of_the_story": mean(
            [float(answer not in said) for answer, said in zip(answers, stories, strict=True)]
        ),
        "examples": shown(answers, targets),
    }


class CommonForms:
    """Writes each word as it was mostly written in training: before the next word, if they met.

    Else as it was mostly written inside a sentence, or at its end.
    """

    def __init__(self, train: list[Example]) -> None:
        """Count the forms of each word before each other; None ends a sentence."""
        self._forms: dict[tuple[str, str | bool | None], Counter[str]] = {}
        for example in train:
            written, words = example.target.split(), bare(example.target).split()
            if len(written) != len(words):  # a dash stands alone, or joins two words
                continue
            for form, word, after in zip(written, words, [*words[1:], None], strict=True):
                for key in (after, after is None):
                    self._forms.setdefault((word, key), Counter())[form] += 1

    def __call__(self, words: str) -> str:
        """Restore a sentence: known forms, a capital first, and a mark at the end."""
        parts = words.split()
        forms = [self._form(*pair) for pair in zip(parts, [*parts[1:], None], strict=True)]
        return closed(" ".join(forms))

    def _form(self, word: str, after: str | None) -> str:
        """Write one word before another."""
        for key in (after, after is None):
            if (word, key) in self._forms:
                return self._forms[word, key].most_common(1)[0][0]
        return word


def closed(sentence: str) -> str:
    """Begin with a capital, and end with a full stop where no mark ends the sentence."""
    ended = sentence if sentence[-1] in ".?!" else sentence.rstrip(",;:-") + "."
    return ended[:1].upper() + ended[1:]


def share_restored(answer: str, target: str) -> float:
    """Return the share of written words, marks and capitals with them, that an answer has right.

    The longest sequence that both have in this order, over the longer of the two.
    """
    a, b = answer.split(), target.split()
    return common_len(a, b) / max(len(a), len(b), 1)


def judge_restorations(
    answers: list[str], train: list[Example], examples: list[Example]
) -> dict[str, Any]:
    """Compare with a capital and a full stop, and with the common form of each word."""
    asked, forms = texts(examples, TASKS["restore"].prefix), CommonForms(train)
    ways = {
        "t5": answers,
        "common_forms": [forms(text) for text in asked],
        "capital_and_stop": [closed(text) for text in asked],
    }
    shares = {
        name: [share_restored(a, e.target) for a, e in zip(given, examples, strict=True)]
        for name, given in ways.items()
    }
    gaps = [a - b for a, b in zip(shares["t5"], shares["common_forms"], strict=True)]
    return {
        "n": len(examples),
        "n_groups": len({e.group for e in examples}),
        "exact": {name: clustered(hits(given, examples), examples) for name, given in ways.items()},
        "words_right": {name: clustered(values, examples) for name, values in shares.items()},
        "t5_minus_common_forms": clustered(gaps, examples),
        "share_other_words": mean(
            [float(bare(a) != text) for a, text in zip(answers, asked, strict=True)]
        ),
        "examples": shown(answers, examples, common_forms=ways["common_forms"]),
    }


def kind_of(answer: str) -> str:
    """Name the task whose answers look like this one; "other" for none."""
    letters = answer.split()
    if answer in SENTIMENTS:
        return "sentiment"
    if len(letters) > 1 and all(len(letter) == 1 for letter in letters):
        return "reverse"
    if _STORY_SENTENCE.fullmatch(answer):
        return "answer"
    return "restore" if answer[:1].isupper() and answer[-1:] in (".", "?", "!") else "other"


def judge_kinds(
    ask_texts: Callable[[list[str]], list[str]],
    unseen: dict[str, list[Example]],
    names: Sequence[str],
    n: int,
) -> dict[str, Any]:
    """Put every prefix, and none, before n texts of each task: what kind of answer comes?

    `ask_texts` is a function from sources to answers.

    Returns:
        For each task's texts and each prefix, the shares of the kinds of answers; and one text of
        each task with its answers.
    """
    shares: dict[str, dict[str, dict[str, float]]] = {}
    examples = []
    prefixes = [*(TASKS[name].prefix for name in names), ""]
    for name in names:
        some = texts(spread(unseen[name], n), TASKS[name].prefix)
        answers = {p: ask_texts([p + text for text in some]) for p in prefixes}
        shares[name] = {}
        for prefix, given in answers.items():
            kinds = Counter(kind_of(answer) for answer in given)
            shares[name][prefix] = {
                kind: kinds[kind] / len(some) for kind in (*names, "other") if kinds[kind]
            }
        row = {prefix: given[0] for prefix, given in answers.items()}
        examples.append({"text_of": name, "text": some[0], "answers": row})
    return {"n": n, "shares": shares, "examples": examples}


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
