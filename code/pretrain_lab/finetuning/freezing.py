# SPDX-License-Identifier: MIT
"""Which parameters a fine-tuning run changes, said by patterns of their names.

Linear probe, last layers, BitFit and full tuning are lists of patterns for `freeze_except`. Papers:
Howard & Ruder 2018 (arXiv:1801.06146) for unfreezing from the top; Ben Zaken et al. 2022
(arXiv:2106.10199) for BitFit, which trains biases alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase

import torch
from torch import Tensor, nn

FULL = ("*",)
BIASES = ("*bias",)
"""What BitFit trains, beside the head."""


def last_layers(n_trained: int, n_layers: int, *, form: str = "*.layer.{}.*") -> tuple[str, ...]:
    """Name the upper blocks of a stack, one pattern for each.

    `form` is the pattern of a block's parameters, with {} for its number: here that of
    `transformers`' BERT; ours is "blocks.{}.*".

    Raises:
        ValueError: n_trained outside 0..n_layers.
    """
    if not 0 <= n_trained <= n_layers:
        raise ValueError(f"expected n_trained in 0..{n_layers}, got {n_trained}")
    return tuple(form.format(i) for i in range(n_layers - n_trained, n_layers))


def freeze_except(model: nn.Module, patterns: Sequence[str]) -> list[str]:
    """Let the named parameters be trained, and freeze all others; return the trained names.

    A frozen parameter gets no gradient, and an optimiser needs no moments for it. Dropout is not
    frozen: it stays active in `model.train()`. A parameter is trained when one of the shell
    patterns fits its name in `named_parameters`; "*.bias" is every bias.

    Raises:
        ValueError: A pattern fits no name: it is misspelled, or meant for another model.

    Source: Howard & Ruder 2018 (arXiv:1801.06146), section 3.3, for freezing by layers.
    """
    names = [name for name, _ in model.named_parameters()]
    idle = [pattern for pattern in patterns if not any(fnmatchcase(n, pattern) for n in names)]
    if idle:
        raise ValueError(f"expected patterns of names such as {names[0]!r}, {idle} fit none")
    trained = [name for name in names if any(fnmatchcase(name, p) for p in patterns)]
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in trained)
    return trained


def count_parameters(model: nn.Module, *, trained_only: bool = False) -> int:
    """Count numbers in parameters, shared ones once."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad or not trained_only)


def trained_state(model: nn.Module) -> dict[str, Tensor]:
    """Copy what is trained and nothing else: all that must be stored for one more task."""
    return {n: p.detach().clone() for n, p in model.named_parameters() if p.requires_grad}


@torch.no_grad()
def load_trained(model: nn.Module, state: Mapping[str, Tensor]) -> None:
    """Put back what `trained_state` took from a model with the same trained parameters.

    Raises:
        ValueError: Names or shapes are not those of the trained parameters; nothing is changed.
    """
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if trained.keys() != state.keys():
        missing, extra = sorted(trained.keys() - state), sorted(state.keys() - trained)
        raise ValueError(f"expected the trained parameters: missing {missing}, unexpected {extra}")
    wrong = [name for name, p in trained.items() if p.shape != state[name].shape]
    if wrong:
        raise ValueError(f"expected the shapes of the model's parameters, {wrong} have others")
    for name, parameter in trained.items():
        parameter.copy_(state[name])


@contextmanager
def swapped_weights(model: nn.Module, state: Mapping[str, Tensor]) -> Iterator[nn.Module]:
    """Use another task's `trained_state` in the model inside a `with` block, then its own again.

    Raises:
        ValueError: As `load_trained`.
    """
    own = trained_state(model)
    load_trained(model, state)
    try:
        yield model
    finally:
        load_trained(model, own)
