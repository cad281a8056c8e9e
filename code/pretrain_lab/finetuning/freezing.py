# SPDX-License-Identifier: MIT
"""Which parameters a fine-tuning run changes, said by patterns of their names.

Papers: Howard & Ruder 2018 (arXiv:1801.06146) for unfreezing from the top; Ben Zaken et al. 2022
(arXiv:2106.10199) for BitFit, which trains biases alone.

Implemented: one function, `freeze_except`, that freezes everything but the named parameters. Linear
probe, last layers, BitFit and full tuning are lists of patterns for it. What was trained can be
taken out, kept and put back, which is all that swapping two tasks on one backbone needs. Left
out: groups of parameters with rates of their own, and unfreezing in the course of a run.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase

import torch
from torch import Tensor, nn

FULL = ("*",)
"""Every parameter."""
BIASES = ("*bias",)
"""What BitFit trains, beside the head."""


def last_layers(n_trained: int, n_layers: int, *, form: str = "*.layer.{}.*") -> tuple[str, ...]:
    """Name the upper blocks of a stack.

    Args:
        n_trained: How many, 0..n_layers.
        n_layers: Blocks in the stack N.
        form: Pattern of a block's parameters, with {} for its number. The default is that of
            `transformers`' BERT; ours is "blocks.{}.*".

    Returns:
        One pattern for each block.

    Raises:
        ValueError: n_trained outside its range.
    """
    if not 0 <= n_trained <= n_layers:
        raise ValueError(f"expected n_trained in 0..{n_layers}, got {n_trained}")
    return tuple(form.format(i) for i in range(n_layers - n_trained, n_layers))


def freeze_except(model: nn.Module, patterns: Sequence[str]) -> list[str]:
    """Let the named parameters be trained, and freeze all others.

    A frozen parameter gets no gradient, and an optimiser needs no moments for it. Dropout is
    not frozen: it stays active in `model.train()`.

    Args:
        model: Its parameters' `requires_grad` is set.
        patterns: Shell patterns of names as `named_parameters` gives them; "*.bias" is every
            bias. A parameter is trained when one of them fits.

    Returns:
        The names of the trained parameters, in the model's order.

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
    """Count numbers in parameters, shared ones once.

    Args:
        model: Any model.
        trained_only: Leave frozen parameters out.

    Returns:
        The number of entries.
    """
    return sum(p.numel() for p in model.parameters() if p.requires_grad or not trained_only)


def trained_state(model: nn.Module) -> dict[str, Tensor]:
    """Copy what is trained and nothing else: all that must be stored for one more task.

    Args:
        model: With frozen parameters, else this is the whole model.

    Returns:
        Name -> a copy of the parameter.
    """
    return {n: p.detach().clone() for n, p in model.named_parameters() if p.requires_grad}


@torch.no_grad()
def load_trained(model: nn.Module, state: Mapping[str, Tensor]) -> None:
    """Put back what `trained_state` took.

    Args:
        model: Changed in place; the same parameters must be trained in it.
        state: As `trained_state` gives it.

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
    """Use another task's trained parameters inside a `with` block.

    Args:
        model: Gets them, and afterwards its own back.
        state: As `trained_state` gave it for the other task.

    Yields:
        The same model.

    Raises:
        ValueError: As `load_trained`.
    """
    own = trained_state(model)
    load_trained(model, state)
    try:
        yield model
    finally:
        load_trained(model, own)
