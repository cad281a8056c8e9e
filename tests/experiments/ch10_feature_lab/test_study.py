# SPDX-License-Identifier: MIT
"""The feature lab: who chooses and who is judged, and statistics checked by hand."""

import math
from collections import Counter
from types import SimpleNamespace

import pytest
import torch
from torch import Generator, nn

from experiments.ch10_feature_lab import heads, probes, spaces
from pretrain_lab.corpora.loading import film_split, load_reviews, play_split
from pretrain_lab.tasks.character_ner import read_names


def test_tasks_on_words_are_balanced_and_parted_by_play() -> None:
    """Every class is equally frequent, and no passage of one split comes from another's play."""
    sizes = {"train": 60, "validation": 30, "test": 30}
    for task, items in probes.word_tasks(sizes).items():
        for split, part in items.items():
            counts = Counter(part.labels)
            assert len(counts) > 1, (task, split)
            assert len(set(counts.values())) == 1, (task, split)
            assert len(part.labels) == sum(map(len, part.places)) == len(part.types)
    for split in probes.SPLITS:
        assert {play_split(passage.play) for passage in read_names(split)} == {split}


def test_word_here_is_its_own_control() -> None:
    """Its type is the word that is asked, so its label is a function of the type."""
    sizes = {"train": 60, "validation": 30, "test": 30}
    items = probes.word_tasks(sizes)["word here"]["train"]
    label = dict(zip(items.types, items.labels, strict=True))
    assert items.labels == [label[kind] for kind in items.types]


def test_layer_is_chosen_on_validation() -> None:
    """Layer 1 knows the test labels best and layer 0 those of validation: 0 is chosen."""
    generator = Generator().manual_seed(0)
    labels = {split: [0, 1] * 60 for split in probes.SPLITS}
    items = {s: probes.Items([], [], found, [str(i) for i in found]) for s, found in labels.items()}
    states = {}
    for split in probes.SPLITS:
        noise = torch.randn(2, 120, 4, generator=generator)
        truth = torch.tensor(labels[split])
        known = {"train": (0, 1), "validation": (0,), "test": (1,)}[split]
        for layer in known:
            noise[layer, :, 0] = 6.0 * truth - 3.0
        states[split] = noise
    found = probes.judge(states, items, every=1)
    assert found["layers"] == [0, 1]
    assert found["chosen"] == 0
    assert found["peak"]["layer"] == 1
    assert found["accuracy"][1][0] == 1.0 > found["accuracy"][0][0]
    assert len(found["control"]) == 2


def test_peak_says_how_sure_it_is() -> None:
    """Equal layers share the draws; a clear winner takes them all."""
    peak = probes.peak
    halves = torch.tensor([[1.0, 0.0] * 20, [0.0, 1.0] * 20, [0.0] * 40], dtype=torch.float64)
    unsure = peak(halves, [0, 3, 6])
    assert (unsure["low"], unsure["high"]) == (0.0, 3.0)
    sure = peak(torch.tensor([[0.0] * 40, [1.0] * 40], dtype=torch.float64), [0, 6])
    assert sure == {"layer": 6, "low": 6.0, "high": 6.0}


def test_probed_layers_count_from_the_last_one() -> None:
    """The last layer is always asked."""
    assert probes._layers(31, 3) == list(range(0, 31, 3))
    assert probes._layers(6, 2) == [1, 3, 5]


def test_halves_loss_leaves_the_seam_out() -> None:
    """A model that copies perfectly from the second copy on pays nothing there."""
    ids = torch.tensor([[2, 0, 1, 2, 0, 1]])
    logits = torch.zeros(1, 6, 4)
    logits[0, 3, 0] = logits[0, 4, 1] = 100.0  # after the second 2 comes 0, after it 1
    first, second = heads.halves_loss(logits, ids)
    assert first == pytest.approx(math.log(4))
    assert second == pytest.approx(0.0, abs=1e-6)


def test_others_are_other_heads_of_the_same_layers() -> None:
    """As many from each layer, none of the chosen."""
    chosen = [(3, 0), (3, 4), (7, 8)]
    drawn = heads.others_of_layers(chosen, 9, Generator().manual_seed(1))
    assert Counter(layer for layer, _ in drawn) == {3: 2, 7: 1}
    assert not set(drawn) & set(chosen)
    assert len(set(drawn)) == 3


def test_muted_head_writes_nothing_until_it_is_let_go() -> None:
    """The output matrix gets zeros where the head wrote, and its own input again afterwards."""
    matrix = nn.Linear(6, 6, bias=False)
    layer = SimpleNamespace(self_attn=SimpleNamespace(o_proj=matrix))
    model = SimpleNamespace(model=SimpleNamespace(layers=[layer]))
    x = torch.randn(2, 3, 6, generator=Generator().manual_seed(2))
    cut = x.clone()
    cut[..., 2:4] = 0
    muted = heads.Muted(model, [(0, 1)], d_head=2)
    assert torch.equal(matrix(x), nn.functional.linear(cut, matrix.weight))
    muted.remove()
    assert torch.equal(matrix(x), nn.functional.linear(x, matrix.weight))


def test_noise_falls_into_clusters_on_the_map_only() -> None:
    """Ten clusters of noise overlap among the vectors and stand apart in the plane."""
    found = spaces.noise_space(60, 50)
    apart = found["silhouettes"]
    assert apart["vectors"] < 0.1
    assert min(apart["tsne"], apart["tsne_low"], apart["pca"]) > 0.25
    assert len(found["tsne"]) == len(found["tsne_low"]) == 60


def test_films_of_the_sentiment_task_are_disjoint() -> None:
    """The interval draws test films; none of them gave a training or validation sentence."""
    task = spaces.Sentiment({"train": 50, "validation": 30, "test": 40})
    assert {film_split(film) for film in task.films} == {"test"}
    known = {split: {" ".join(r.sentence.split()) for r in load_reviews(split)}
             for split in ("train", "validation")}  # fmt: skip
    for split, sentences in known.items():
        assert {" ".join(words) for words in task.texts[split]} <= sentences


def test_interval_over_films_is_wider_than_over_sentences() -> None:
    """Films whose sentences are all right or all wrong count as one draw each."""
    task = spaces.Sentiment({"test": 40})
    task.films = ["a"] * 20 + ["b"] * 20
    middle, low, high = task.over_films(torch.tensor([1.0] * 20 + [0.0] * 20))
    assert (middle, low, high) == (0.5, 0.0, 1.0)
