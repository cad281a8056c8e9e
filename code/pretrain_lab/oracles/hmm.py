# SPDX-License-Identifier: MIT
"""A source whose best predictions are known: hidden states in a chain, each emitting a symbol.

Papers: Rabiner 1989 (Proceedings of the IEEE 77:257-286) for hidden Markov models and the scaled
forward-backward algorithm.
"""

import math
from typing import NamedTuple

import torch
from torch import Generator, Tensor


class Forward(NamedTuple):
    """What `HiddenMarkovSource.forward` returns."""

    predicted: Tensor  # float64 (B, T + 1, S): P(state at t | evidence before t), t = T included
    log_probs: Tensor  # float64 (B, T): log P(evidence at t | evidence before t), nats


class HiddenMarkovSource:
    """A Markov chain of S hidden states, each of which emits one of V symbols."""

    def __init__(self, transition: Tensor, emission: Tensor, start: Tensor) -> None:
        """Take the probabilities; they are kept in float64.

        Args:
            transition: float (S, S), P(next state | state), one row per state.
            emission: float (S, V), P(symbol | state), one row per state.
            start: float (S,), P(first state).

        Raises:
            ValueError: Shapes that do not fit, or rows that are no probabilities.

        Source: Rabiner 1989, section II.B, with A, B and pi in this order.
        """
        n_states = len(start) if start.dim() == 1 else 0
        if not n_states or transition.shape != (n_states, n_states) or (
            emission.dim() != 2 or len(emission) != n_states or not emission.shape[1]
        ):  # fmt: skip
            raise ValueError(
                "expected transition (S, S), emission (S, V) and start (S,), got shapes "
                f"{tuple(transition.shape)}, {tuple(emission.shape)} and {tuple(start.shape)}"
            )
        for name, rows in (("transition", transition), ("emission", emission), ("start", start)):
            sums = rows.double().sum(dim=-1)
            if not (rows >= 0).all() or not ((sums - 1).abs() < 1e-6).all():
                raise ValueError(f"expected {name} to hold probabilities that sum to 1 in each row")
        self.transition, self.emission, self.start = (
            rows.double() / rows.double().sum(dim=-1, keepdim=True)
            for rows in (transition, emission, start)
        )

    @property
    def n_states(self) -> int:
        """Number of hidden states S."""
        return len(self.start)

    @property
    def n_symbols(self) -> int:
        """Number of symbols V."""
        return self.emission.shape[1]

    def sample(self, n: int, seq_len: int, *, generator: Generator) -> Tensor:
        """Draw sequences of symbols in 0..V - 1, int64 (n, seq_len).

        Raises:
            ValueError: n < 1 or seq_len < 1.
        """
        if n < 1 or seq_len < 1:
            raise ValueError(f"expected n >= 1 and seq_len >= 1, got {n} and {seq_len}")
        state = torch.multinomial(self.start, n, replacement=True, generator=generator)
        states = [state]
        for _ in range(seq_len - 1):
            state = torch.multinomial(self.transition[state], 1, generator=generator)[:, 0]
            states.append(state)
        rows = self.emission[torch.stack(states, dim=1).flatten()]  # (n T, V)
        return torch.multinomial(rows, 1, generator=generator).view(n, seq_len)

    def evidence(self, symbols: Tensor) -> Tensor:
        """Say how well each state explains each symbol: P(symbol | state), float64 (B, T, S).

        Symbols are int64 (B, T). Set the evidence of a position to 1 where the symbol is unknown.

        Raises:
            ValueError: symbols is not (B, T) with B, T >= 1, or not in 0..V - 1.
        """
        if symbols.dim() != 2 or not symbols.numel() or symbols.is_floating_point():
            raise ValueError(
                f"expected whole symbols (B, T), got shape {tuple(symbols.shape)} of "
                f"{symbols.dtype}"
            )
        low, high = int(symbols.min()), int(symbols.max())
        if not 0 <= low <= high < self.n_symbols:
            raise ValueError(f"expected symbols in 0..{self.n_symbols - 1}, got {low}..{high}")
        return self.emission.T[symbols]

    def forward(self, evidence: Tensor) -> Forward:
        """Read from the left: what is known of each state before its own evidence.

        `evidence` is float64 (B, T, S), P(what is observed at t | state at t), up to any factor.
        The sum of the `log_probs` over t is the log-probability of all of it.

        Raises:
            ValueError: The evidence has probability 0, or is not (B, T, S) with T >= 1.

        Source: Rabiner 1989, section III.A and, for the scaling, section V.A.
        """
        self._check(evidence)
        predicted, log_probs = [self.start.expand(len(evidence), -1)], []
        for seen in evidence.unbind(dim=1):
            joint = predicted[-1] * seen  # (B, S)
            total = _positive(joint.sum(dim=1, keepdim=True))
            predicted.append(joint / total @ self.transition)
            log_probs.append(total[:, 0].log())
        return Forward(torch.stack(predicted, dim=1), torch.stack(log_probs, dim=1))

    def backward(self, evidence: Tensor) -> Tensor:
        """Read from the right: how well each state explains all evidence after it.

        Takes float64 (B, T, S) as `forward` does and returns the same shape, proportional to
        P(evidence after t | state at t), with a largest entry of 1. Its product with the predicted
        states is, up to a factor, the posterior of the state at t given everything but the evidence
        at t itself.

        Raises:
            ValueError: The evidence has probability 0, or is not (B, T, S) with T >= 1.

        Source: Rabiner 1989, section III.A.
        """
        self._check(evidence)
        message = torch.ones_like(evidence[:, 0])
        messages = [message]
        for seen in evidence[:, 1:].flip(1).unbind(dim=1):
            message = (seen * message) @ self.transition.T
            message = message / _positive(message.amax(dim=1, keepdim=True))
            messages.append(message)
        return torch.stack(messages[::-1], dim=1)

    def _check(self, evidence: Tensor) -> None:
        """Refuse evidence of another shape."""
        if evidence.dim() != 3 or not evidence.shape[1] or evidence.shape[2] != self.n_states:
            raise ValueError(
                f"expected evidence (B, T, {self.n_states}), T >= 1, got shape "
                f"{tuple(evidence.shape)}"
            )


def random_source(
    n_states: int,
    n_symbols: int,
    *,
    generator: Generator,
    transition_sharpness: float = 2.0,
    emission_sharpness: float = 2.0,
) -> HiddenMarkovSource:
    """Draw a source that starts in its stationary distribution.

    Each row of both matrices is the softmax of `sharpness` times standard normal numbers: with 0
    all outcomes are equally likely, which leaves nothing to predict; at 2 a few of them dominate;
    far above, each row has a single outcome and the source repeats itself. At moderate values both
    neighbours tell something about a symbol, and none tells everything, since several states share
    each symbol. Because the start is stationary, any window of a long sequence has the same
    distribution as a sequence of that length.

    Raises:
        ValueError: A size below 1, a sharpness that is negative or infinite, or one so large that
            the drawn chain falls apart (`stationary_start`).
    """
    sharp = all(0 <= value < math.inf for value in (transition_sharpness, emission_sharpness))
    if min(n_states, n_symbols) < 1 or not sharp:
        raise ValueError(
            "expected n_states, n_symbols >= 1 and sharpness >= 0, got "
            f"{n_states}, {n_symbols}, {transition_sharpness} and {emission_sharpness}"
        )

    def rows(n_columns: int, sharpness: float) -> Tensor:
        """Draw S distributions over so many outcomes."""
        draws = torch.randn(n_states, n_columns, generator=generator, dtype=torch.float64)
        return (sharpness * draws).softmax(dim=1)

    transition = rows(n_states, transition_sharpness)
    emission = rows(n_symbols, emission_sharpness)
    return HiddenMarkovSource(transition, emission, stationary_start(transition))


def stationary_start(transition: Tensor) -> Tensor:
    """Find the distribution of states, float64 (S,), that a step of the chain leaves unchanged.

    In `transition`, float (S, S), every state can be reached from every other.

    Raises:
        ValueError: Several distributions are stationary, or rows that are no probabilities.
    """
    n_states = len(transition) if transition.dim() else 0
    sums = transition.double().sum(dim=-1)
    fits = bool((transition >= 0).all()) and bool(((sums - 1).abs() < 1e-6).all())
    if n_states < 1 or transition.shape != (n_states, n_states) or not fits:
        raise ValueError(
            "expected transition (S, S) whose rows are probabilities, got shape "
            f"{tuple(transition.shape)}"
        )
    change = transition.double().T - torch.eye(n_states, dtype=torch.float64)
    equations = torch.cat([change, torch.ones(1, n_states, dtype=torch.float64)])
    if int(torch.linalg.matrix_rank(equations)) < n_states:
        raise ValueError("expected a chain with one stationary distribution, got several")
    wanted = torch.zeros(n_states + 1, 1, dtype=torch.float64)
    wanted[-1] = 1.0
    start = torch.linalg.lstsq(equations, wanted).solution[:, 0].clamp(min=0.0)
    return start / start.sum()


def _positive(total: Tensor) -> Tensor:
    """Refuse evidence that the source cannot have produced."""
    impossible = (total <= 0).flatten().nonzero().flatten().tolist()
    if impossible:
        raise ValueError(f"expected what the source can emit, got none in rows {impossible[:5]}")
    return total
