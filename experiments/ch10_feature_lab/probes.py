# SPDX-License-Identifier: MIT
"""What linear probes read from frozen states of each layer, and how much of it is word identity.

Six tasks with exact labels on plays: which frequent word stands here, which stood before, which
mark follows, is this word a name (tokens); does the speaker change, which genre (texts). All texts
are in lower case and, for the tasks on words, without marks. Each task has a control with the same
number of classes, whose labels belong to word types (Hewitt & Liang 2019); for a text the type is
its first word. Classes are balanced, so chance is one over their number.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor

from experiments.ch10_feature_lab.readers import Reader, Words
from pretrain_lab.corpora.scenes import normalise_word
from pretrain_lab.interpretability.linear_probes import control_labels, fit_probe
from pretrain_lab.statistics.intervals import wilson_interval
from pretrain_lab.tasks.character_ner import read_names
from pretrain_lab.tasks.speakers import load_speaker_changes
from pretrain_lab.tasks.text_to_text import GENRES, TASKS

SPLITS = ("train", "validation", "test")
N_FREQUENT = 20
MOST = {"train": 6000, "validation": 1500, "test": 3000}  # items of a task on words
MARKS = {"": 0, ",": 1, ".": 2, "?": 2, "!": 2, ";": 2, ":": 2}
N_BOOTSTRAP = 400


class Items(NamedTuple):
    """The items of one task and split: places, labels and types."""

    texts: Sequence[Words]
    places: list[list[int]]  # words asked about, text by text; empty for whole texts
    labels: list[int]
    types: list[str]


def passages(split: str, n: int) -> tuple[list[list[str]], list[list[int]], list[list[bool]]]:
    """Take passages with a name: words without marks, the mark behind each, and names."""
    found = [p for p in read_names(split) if "B" in p.tags]
    order = torch.randperm(len(found), generator=Generator().manual_seed(1)).tolist()
    texts, marks, names = [], [], []
    for i in order[:n]:
        kept = [
            (normalise_word(w) or "", w, t)
            for w, t in zip(found[i].words, found[i].tags, strict=True)
        ]
        kept = [item for item in kept if item[0]]
        texts.append([bare for bare, _, _ in kept])
        marks.append([MARKS.get(re.sub(r"^.*[a-z']", "", w)[:1], -1) for _, w, _ in kept])
        names.append([tag != "O" for _, _, tag in kept])
    return texts, marks, names


def word_tasks(sizes: dict[str, int]) -> dict[str, dict[str, Items]]:
    """Make the four tasks on words: task -> split -> items."""
    read = {split: passages(split, sizes[split]) for split in SPLITS}
    counts = Counter(word for text in read["train"][0] for word in text)
    frequent = {word: i for i, (word, _) in enumerate(counts.most_common(N_FREQUENT))}

    def label_of(task: str, split: str, i: int, j: int) -> int:
        """Return the label of word j of text i; -1 = not asked."""
        texts, marks, names = read[split]
        if task == "word here":
            return frequent.get(texts[i][j], -1)
        if task == "word before":
            return frequent.get(texts[i][j - 1], -1) if j else -1
        return marks[i][j] if task == "mark behind" else int(names[i][j])

    tasks: dict[str, dict[str, Items]] = {}
    for task in ("word here", "word before", "mark behind", "name"):
        tasks[task] = {}
        for split in SPLITS:
            texts = read[split][0]
            asked = [
                (i, j, label_of(task, split, i, j))
                for i in range(len(texts)) for j in range(len(texts[i]))
            ]  # fmt: skip
            tasks[task][split] = balanced(texts, [a for a in asked if a[2] >= 0], MOST[split])
    return tasks


def balanced(texts: list[list[str]], asked: list[tuple[int, int, int]], most: int) -> Items:
    """Keep equally many items of each class, at most `most` in all, in the order of the text.

    `asked` holds (text, word, label) of each item.
    """
    classes: dict[int, list[tuple[int, int, int]]] = {}
    for item in asked:
        classes.setdefault(item[2], []).append(item)
    n = min(most // len(classes), *map(len, classes.values()))
    generator = Generator().manual_seed(2)
    kept = []
    for _, members in sorted(classes.items()):
        order = torch.randperm(len(members), generator=generator)[:n].tolist()
        kept += [members[i] for i in order]
    places: list[list[int]] = [[] for _ in texts]
    kept.sort()
    for i, j, _ in kept:
        places[i].append(j)
    types = [texts[i][j] for i, j, _ in kept]
    return Items(texts, places, [label for _, _, label in kept], types)


def text_tasks(sizes: dict[str, int]) -> dict[str, dict[str, Items]]:
    """Make the two tasks on whole texts: task -> split -> items."""
    genre = {name: i for i, name in enumerate(sorted(GENRES.values()))}
    tasks: dict[str, dict[str, Items]] = {"speaker change": {}, "genre": {}}
    for split in SPLITS:
        pairs = load_speaker_changes(split, generator=Generator().manual_seed(0))
        told = [(f"{p.first} {p.second}".lower().split()[:60], p.label) for p in pairs]
        tasks["speaker change"][split] = _whole(told, sizes[split])
        parts = [(e.source.removeprefix("genre: "), genre[e.target])
                 for e in TASKS["genre"].examples(split)]  # fmt: skip
        tasks["genre"][split] = _whole([(t.lower().split(), c) for t, c in parts], sizes[split])
    return tasks


def _whole(told: list[tuple[list[str], int]], n: int) -> Items:
    """Draw n texts, equally many of each class; the type of a text is its first word."""
    asked = [(i, 0, label) for i, (_, label) in enumerate(told)]
    items = balanced([words for words, _ in told], asked, most=n)
    chosen = [i for i, places in enumerate(items.places) if places]
    texts = [told[i][0] for i in chosen]
    return Items(texts, [], items.labels, [normalise_word(words[0]) or words[0] for words in texts])


def probe_reader(reader: Reader, sizes: dict[str, dict[str, int]], every: int = 1) -> Any:
    """Probe every layer of one model on all tasks.

    Args:
        sizes: Number of "words" passages and of "texts", by split.
        every: Probe each such layer only, counted from the last one backwards.

    Returns:
        Task -> n_classes, layers, accuracy and control with intervals, the layer that validation
        plays choose, and the best layer on test with the range in which it falls when the test
        items are drawn anew.
    """
    record = {}
    tasks = word_tasks(sizes["words"])
    read = {split: _read_words(reader, tasks, split, every) for split in SPLITS}
    for task, items in tasks.items():
        states = {
            split: read[split][0][:, [read[split][1][at] for at in _where(part)]]
            for split, part in items.items()
        }
        record[task] = judge(states, items, every)
    for task, items in text_tasks(sizes["texts"]).items():
        states = {split: reader.mean_states(part.texts) for split, part in items.items()}
        states = {split: found[_layers(len(found), every)] for split, found in states.items()}
        record[task] = judge(states, items, every)
    return record


def _layers(n_states: int, every: int) -> list[int]:
    """List the layers that are probed, 0 = embeddings; the last one always is."""
    return sorted(range(n_states - 1, -1, -every))


def _where(items: Items) -> list[tuple[int, int]]:
    """List the items of a task on words as (text, word)."""
    return [(i, j) for i, places in enumerate(items.places) for j in places]


def _read_words(
    reader: Reader, tasks: dict[str, dict[str, Items]], split: str, every: int
) -> tuple[Tensor, dict[tuple[int, int], int]]:
    """Read once what any task asks of a split: states (layers, n, D), and the column of a word."""
    asked = sorted({at for items in tasks.values() for at in _where(items[split])})
    texts = next(iter(tasks.values()))[split].texts
    used = sorted({i for i, _ in asked})
    places = [[j for i, j in asked if i == text] for text in used]
    states = reader.word_states([texts[i] for i in used], places, every)
    return states, {at: column for column, at in enumerate(asked)}


def judge(states: dict[str, Tensor], items: dict[str, Items], every: int) -> dict[str, Any]:
    """Fit a probe and a control at each layer of one task."""
    labels = {split: torch.tensor(part.labels) for split, part in items.items()}
    n_classes = int(labels["train"].max()) + 1
    drawn = control_labels(
        [items[split].types for split in SPLITS], n_classes, generator=Generator().manual_seed(3)
    )
    control = dict(zip(SPLITS, drawn, strict=True))
    n_layers = (len(states["train"]) - 1) * every
    layers = _layers(n_layers + 1, every)
    hits: dict[str, list[Tensor]] = {"task": [], "control": []}
    tuned: list[int] = []  # right answers on validation, which alone may choose a layer
    for number in range(len(layers)):
        for kind, truth in (("task", labels), ("control", control)):
            at = {split: (states[split][number], truth[split]) for split in SPLITS}
            probe = fit_probe(at["train"], at["validation"])
            hits[kind].append(probe.hits(*at["test"]))
            if kind == "task":
                tuned.append(int(probe.hits(*at["validation"]).sum()))
    seen = set(items["train"].types)
    return {
        "n_classes": n_classes, "n_layers": n_layers, "layers": layers,
        "n_train": len(labels["train"]), "n_test": len(labels["test"]),
        "types_seen": sum(kind in seen for kind in items["test"].types) / len(labels["test"]),
        "accuracy": [share(hit) for hit in hits["task"]],
        "control": [share(hit) for hit in hits["control"]],
        "chosen": layers[tuned.index(max(tuned))],
        "peak": peak(torch.stack(hits["task"]).double(), layers),
    }  # fmt: skip


def share(hits: Tensor) -> list[float]:
    """Return a proportion with its Wilson interval."""
    return list(wilson_interval(int(hits.sum()), len(hits)))


def peak(hits: Tensor, layers: list[int]) -> dict[str, Any]:
    """Find the best layer, and those that would be best on other draws of the test items.

    `hits` is float64 (layers, n); `layers` are their numbers. Returns "layer"; "low" and "high",
    between which 95 % of bootstrap draws have their best layer.
    """
    generator = Generator().manual_seed(4)
    n = hits.shape[1]
    best = []
    for _ in range(N_BOOTSTRAP):
        chosen = torch.randint(n, (n,), generator=generator)
        best.append(layers[int(hits[:, chosen].mean(dim=1).argmax())])
    low, high = torch.tensor(best).double().quantile(torch.tensor([0.025, 0.975]).double()).tolist()
    return {"layer": layers[int(hits.mean(dim=1).argmax())], "low": low, "high": high}
