# SPDX-License-Identifier: MIT
"""The best that any model can do on a known source: next token, single blank, masked tokens.

No model can have a lower expected loss than its oracle: a gap below zero, beyond its interval, is a
bug. Ids are symbols + offset; ids below the offset, and from offset + V on, can be special ones,
which must never occur in the text itself. Left out: selections of an exact count, as in BERT's
released code.

Papers: Rabiner 1989 for forward-backward; Devlin et al. 2019 (arXiv:1810.04805), section 3.1, for
the corruption whose exact inverse is computed here; Shannon 1948 for the entropy rate.
"""

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from pretrain.objectives import IGNORE_INDEX
from pretrain_lab.oracles.hmm import HiddenMarkovSource


def optimal_causal_log_probs(source: HiddenMarkovSource, ids: Tensor, *, offset: int = 0) -> Tensor:
    """Score each token given those before it: log P(x_t | x_1 .. x_{t-1}), float64 (B, T), nats.

    `ids` are int64 (B, T), symbols + `offset`. The targets of `causal_targets`, which leaves out
    the first token, have [:, 1:].

    Raises:
        ValueError: Ids that are no symbols, or a text that the source cannot emit.

    Source: Rabiner 1989, section III.A.
    """
    return source.forward(source.evidence(ids - offset)).log_probs


def optimal_cloze_log_probs(
    source: HiddenMarkovSource,
    windows: Tensor,
    places: Tensor,
    *,
    sides: str = "both",
    offset: int = 0,
) -> Tensor:
    """Fill one blank of each window: P(x_i | all others), or from one side alone.

    Windows are clean text, int64 (N, T), symbols + `offset`; places, int64 (N,), are in 0..T - 1.
    `sides` says which neighbours are read: "both", "left" or "right". Returns log-probabilities of
    the symbols, float64 (N, V), nats.

    Raises:
        ValueError: Shapes or sides that do not fit, ids that are no symbols, or an impossible text.
    """
    if sides not in ("both", "left", "right"):
        raise ValueError(f"expected sides to be 'both', 'left' or 'right', got {sides!r}")
    evidence = source.evidence(windows - offset)
    n_windows, seq_len, _ = evidence.shape
    inside = ((places >= 0) & (places < seq_len)).all() and not places.is_floating_point()
    if places.shape != (n_windows,) or not inside:
        raise ValueError(
            f"expected places ({n_windows},) in 0..{seq_len - 1}, got {places.tolist()[:5]} of "
            f"shape {tuple(places.shape)}"
        )
    left = evidence if sides != "right" else torch.ones_like(evidence)
    states = source.forward(left).predicted[:, :-1]  # (N, T, S)
    if sides != "left":
        states = states * source.backward(evidence)
    return _symbol_probs(source, states[torch.arange(n_windows), places]).log()


def optimal_masked_log_probs(
    source: HiddenMarkovSource,
    corrupted: Tensor,
    labels: Tensor,
    *,
    mask_id: int,
    offset: int = 0,
    mlm_probability: float = 0.15,
    mask_replace_prob: float = 0.8,
    random_replace_prob: float = 0.1,
) -> Tensor:
    """Restore each selected token from the corrupted text, knowing how it was corrupted.

    Let x be the text and y what is read. Position j is selected with probability p, and then
    becomes [MASK] with m, a uniformly drawn symbol with r, and stays with k = 1 - m - r:

        P(y_j = [MASK], selected | x_j) = p m
        P(y_j = v,      selected | x_j) = p (r / V + k [x_j = v])
        P(y_j = v,  not selected | x_j) = (1 - p) [x_j = v]

    Positions are corrupted independently of each other given x. A model reads y alone. It is asked
    about i because i was selected, but it is not told which others were; so for j != i both cases
    are added. With P(x_j = v | s_j) = b(v | s_j), what y_j says about the hidden state s_j is

        e_j(s) = p m                                         if y_j = [MASK]: nothing
        e_j(s) = (1 - p + p k) b(v | s) + p r / V            if y_j = v.

    A visible token thus counts less than it would in clean text. Forward-backward with this
    evidence at all j != i gives q_i(s) = P(s_i = s | y without y_i), and Bayes' rule at i, now with
    the two cases in which i is selected, gives the answer:

        P(x_i = u | y, i selected)  is proportional to  c_i(u) sum_s q_i(s) b(u | s)
        c_i(u) = 1                        if y_i = [MASK]
        c_i(u) = r / V + k [u = y_i]      if y_i shows a token.

    Neither the prior chance p of being selected nor m appears in c: being asked is known.

    Args:
        source: Where the text comes from.
        corrupted: int64 (B, T), what the model reads: the `ids` of `corrupt_mlm`, whose
            special_ids must have been all ids that are no symbols.
        labels: int64 (B, T), IGNORE_INDEX where nothing is asked; only where is looked at.
        mask_id: Id of [MASK].
        offset: Id of symbol 0.
        mlm_probability: Probability p that a token is selected.
        mask_replace_prob: Probability m that a selected token becomes [MASK].
        random_replace_prob: Probability r that a selected token becomes a random one.

    Returns:
        Log-probabilities of the symbols at the asked positions, float64 (n, V), nats, in row-major
        order, as in `masked_log_probs`.

    Raises:
        ValueError: Shapes that differ, nothing asked, probabilities out of range, ids that are
            neither [MASK] nor symbols, or a corrupted text that cannot arise.

    Source: Devlin et al. 2019 (arXiv:1810.04805), section 3.1, inverted by Bayes' rule.
    """
    if corrupted.shape != labels.shape or corrupted.dim() != 2:
        raise ValueError(
            "expected corrupted and labels of one shape (B, T), got "
            f"{tuple(corrupted.shape)} and {tuple(labels.shape)}"
        )
    keep_prob = 1.0 - mask_replace_prob - random_replace_prob
    if (
        not 0 < mlm_probability <= 1
        or min(mask_replace_prob, random_replace_prob) < 0
        or keep_prob < -1e-9
    ):
        raise ValueError(
            "expected mlm_probability in (0, 1] and mask_replace_prob, random_replace_prob >= 0 "
            f"with a sum of at most 1, got {mlm_probability}, {mask_replace_prob} and "
            f"{random_replace_prob}"
        )
    asked = labels != IGNORE_INDEX
    if not asked.any():
        raise ValueError("expected at least one label, got only IGNORE_INDEX")
    keep_prob, uniform = max(keep_prob, 0.0), random_replace_prob / source.n_symbols
    hidden = corrupted == mask_id
    symbols = torch.where(hidden, 0, corrupted - offset)  # 0 stands in for what is hidden
    right = 1.0 - mlm_probability + mlm_probability * keep_prob
    evidence = right * source.evidence(symbols) + mlm_probability * uniform
    evidence = evidence.masked_fill(hidden[..., None], 1.0)
    states = source.forward(evidence).predicted[:, :-1] * source.backward(evidence)  # (B, T, S)
    probs = _symbol_probs(source, states[asked])  # (n, V)
    shown = uniform + keep_prob * F.one_hot(symbols[asked].long(), source.n_symbols).double()
    probs = probs * torch.where(hidden[asked][:, None], 1.0, shown)
    return _normalised(probs).log()


def entropy_rate(
    source: HiddenMarkovSource,
    *,
    generator: Generator,
    n_sequences: int = 1000,
    seq_len: int = 256,
    n_context: int = 128,
) -> tuple[float, float, float]:
    """Estimate the entropy of a symbol given a long past, which has no closed form.

    Every scored symbol has `n_context` others before it, 0..seq_len - 1; with few, the expected
    value lies above the rate. At least two sequences are drawn.

    Returns:
        Mean of -log P(symbol | past), in nats per symbol, and the ends of its 95 % interval.

    Raises:
        ValueError: n_context outside its range, or fewer than two sequences.

    Source: Shannon 1948, section 7.
    """
    if not 0 <= n_context < seq_len:
        raise ValueError(f"expected n_context in 0..{seq_len - 1}, got {n_context}")
    symbols = source.sample(n_sequences, seq_len, generator=generator)
    losses = -optimal_causal_log_probs(source, symbols)[:, n_context:]
    rows = torch.arange(n_sequences)[:, None].expand_as(losses)
    return gap_interval(losses.flatten(), rows.flatten())


def gap_interval(gaps: Tensor, rows: Tensor, *, z: float = 1.96) -> tuple[float, float, float]:
    """Compute the mean excess loss with an interval that respects which tokens share a window.

    `gaps` are model loss - oracle loss at each scored token, in nats, float (n,), or any number;
    `rows` are their windows, int64 (n,), independent of each other; `z` is a normal quantile, 1.96
    for 95 %. Returns the mean over tokens, the lower and the upper end.

    Raises:
        ValueError: Shapes that differ, or fewer than two windows.

    Source: Cochran 1977, Sampling Techniques, section 6.3: the variance of a ratio of sums.
    """
    if gaps.dim() != 1 or gaps.shape != rows.shape or len(rows.unique()) < 2:
        raise ValueError(
            "expected gaps (n,) and rows (n,) of at least two windows, got shapes "
            f"{tuple(gaps.shape)} and {tuple(rows.shape)}"
        )
    values = gaps.double()
    mean = values.mean()
    _, index = rows.unique(return_inverse=True)
    n_rows = int(index.max()) + 1
    deviations = torch.zeros(n_rows, dtype=torch.float64).index_add(0, index, values - mean)
    spread = (deviations.square().sum() * n_rows / (n_rows - 1)).sqrt() / len(values)
    half = z * spread.item()
    return mean.item(), mean.item() - half, mean.item() + half


def _symbol_probs(source: HiddenMarkovSource, states: Tensor) -> Tensor:
    """Turn weights of states, (n, S), into probabilities of symbols, (n, V)."""
    return _normalised(states) @ source.emission


def _normalised(weights: Tensor) -> Tensor:
    """Make each row sum to 1."""
    total = weights.sum(dim=-1, keepdim=True)
    if not (total > 0).all():
        raise ValueError("expected what the source and the corruption can produce, got none of it")
    return weights / total
