# SPDX-License-Identifier: MIT
"""Probes find what is linear, nothing in noise, and control labels belong to types."""

import pytest
import torch
from torch import Generator, Tensor

from pretrain_lab.interpretability.linear_probes import control_labels, fit_probe


def split(states: Tensor, labels: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Cut into three equal parts: training, validation, test."""
    return list(zip(states.chunk(3), labels.chunk(3), strict=True))


def accuracy(states: Tensor, labels: Tensor) -> float:
    """Fit a probe, choose its strength, and give the share of right answers on the test part."""
    train, validation, test = split(states, labels)
    return fit_probe(train, validation).hits(*test).double().mean().item()


def test_linear_labels_are_found(generator: Generator) -> None:
    """Four classes along two directions of twenty."""
    states = torch.randn(6000, 20, generator=generator)
    labels = (states[:, 4] > 0).long() + 2 * (states[:, 7] > 0).long()
    assert accuracy(states, labels) > 0.9


def test_noise_gives_chance(generator: Generator) -> None:
    """Labels that have nothing to do with the states: half, give or take 4 standard deviations."""
    states = torch.randn(3000, 10, generator=generator)
    labels = torch.randint(2, (3000,), generator=generator)
    assert accuracy(states, labels) == pytest.approx(0.5, abs=4 * 0.5 / 1000**0.5)


def test_a_linear_probe_cannot_do_exclusive_or(generator: Generator) -> None:
    """What is there but not linear is not found."""
    states = torch.randn(3000, 2, generator=generator)
    labels = ((states[:, 0] > 0) ^ (states[:, 1] > 0)).long()
    assert accuracy(states, labels) < 0.6


def test_probe_is_ridge_regression(generator: Generator) -> None:
    """The weights solve the normal equations of one of the strengths."""
    states = torch.randn(200, 6, generator=generator).double()
    labels = torch.randint(3, (200,), generator=generator)
    probe = fit_probe((states, labels), (states, labels))
    centred = states - states.mean(dim=0)
    targets = torch.nn.functional.one_hot(labels, 3).double()
    gram = centred.T @ centred / 200
    right = centred.T @ (targets - targets.mean(dim=0)) / 200
    gaps = []
    for strength in (1e-3, 1e-2, 1e-1, 1.0, 10.0):
        ridge = gram + (strength * gram.trace() / 6 + 1e-12) * torch.eye(6).double()
        gaps.append(float((ridge @ probe.weight - right).abs().max()))
    assert min(gaps) < 1e-9
    assert sorted(gaps)[1] > 1e-6


def test_useless_dimensions_choose_more_strength(generator: Generator) -> None:
    """More dimensions than examples: the validation data prefer a regularised probe."""
    states = torch.randn(300, 400, generator=generator)
    labels = (states[:, 0] > 0).long()
    train, validation, _ = split(states, labels)
    probe = fit_probe(train, validation)
    weakest = torch.linalg.lstsq(
        train[0].double(), torch.nn.functional.one_hot(train[1], 2).double()
    ).solution
    assert probe.weight.norm() < weakest.norm()


def test_labels_must_fit(generator: Generator) -> None:
    """A class that training never shows, and a wrong number of labels."""
    states = torch.randn(4, 2, generator=generator)
    with pytest.raises(ValueError, match=r"label below 2 .* got 0\.\.2"):
        fit_probe((states, torch.tensor([0, 1, 0, 1])), (states, torch.tensor([0, 1, 2, 0])))
    with pytest.raises(ValueError, match=r"one label for each, .* \(4, 2\) and \(3,\)"):
        fit_probe((states, torch.tensor([0, 1, 0])), (states, torch.tensor([0, 1, 1, 0])))


def test_control_labels_belong_to_types(generator: Generator) -> None:
    """One label a word in all splits, and all classes occur."""
    words = [[f"w{i % 50}" for i in range(200)], ["w1", "w2", "new"]]
    labels = control_labels(words, 4, generator=generator)
    seen = dict(zip(words[0], labels[0].tolist(), strict=True))
    assert labels[0].tolist() == [seen[word] for word in words[0]]
    assert labels[1][:2].tolist() == [seen["w1"], seen["w2"]]
    assert set(seen.values()) == {0, 1, 2, 3}
