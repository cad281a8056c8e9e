# SPDX-License-Identifier: MIT
"""The best that any model can do at span corruption of a known source.

Papers: Raffel et al. 2020 (arXiv:1910.10683), section 3.1.4, for the corruption whose exact inverse
is computed here; Rabiner 1989 for forward-backward. Left out: inferred lengths with `roll`, which
divides a span between the two ends of the text.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from pretrain.span_corruption import SpanCorrupted
from pretrain_lab.oracles.hmm import HiddenMarkovSource


def optimal_span_log_probs(
    source: HiddenMarkovSource,
    corrupted: SpanCorrupted,
    *,
    offset: int = 0,
    lengths_given: bool = False,
) -> Tensor:
    """Score each token of the target given the input and the target before it.

    When a token x_t of a span is to be written, everything to its left in the text is known, kept
    or written. To its right only the kept tokens are. So its posterior joins the forward message
    of the whole text and the backward message of the kept tokens.

    With lengths_given the length of each span is known: sentinels cost nothing, and the gaps on the
    right have their true widths. Otherwise they are inferred, as a model must. What is known is the
    total N of tokens cut out, and that all ways of dividing it are equally likely. Let g(t, n, s)
    be the sum, over the ways to place n unknown tokens in the gaps from t on, of P(kept tokens from
    t on | state s at t). From right to left, with g(end, 0, s) = 1 and A the transitions:

        t kept:                    g(t, n) = b(x_t | .) * A g(t + 1, n)
        a span from t up to e:     g(t, n) = sum over l = 1..n of A^l g(e, n - l)

    With f the forward message at the place where the next token would stand, n the tokens still to
    write, and the span that is being written reaching from t0 to e, the choice is between

        symbol v:                      f . (b(v | .) * g(t0, n))    one of l >= 1 more tokens
        the next sentinel (or the end): f . g(e, n)                 unless the span is empty

    which are normalised over all choices. The first sentinel is certain, and so is what follows
    when all N tokens are written.

    Args:
        source: Where the text comes from.
        corrupted: From `corrupt_spans` for a batch; without roll, unless the lengths are given.
        offset: Id of symbol 0.
        lengths_given: Whether the oracle is told which lengths were drawn.

    Returns:
        float64 (B, U), log P(target token | input, target before it), nats; 0 where the target is
        padding. The sum over a row is log P(target | input).

    Raises:
        ValueError: No batch, ids that do not fit the noise, a text that the source cannot emit,
            or spans that `random_noise` does not draw without roll.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 3.1.4, inverted by Bayes' rule.
    """
    noise = corrupted.noise
    text = _text(source, corrupted, offset)
    evidence = source.evidence(text)
    predicted = source.forward(evidence).predicted  # (B, T + 1, S)
    starts = noise & ~F.pad(noise, (1, 0))[:, :-1]
    if lengths_given:
        after = source.backward(evidence.masked_fill(noise[..., None], 1.0))
        states = predicted[:, :-1] * after
        symbols = ((states * evidence).sum(dim=2) / states.sum(dim=2)).log()
        sentinels = torch.zeros_like(symbols)
    else:
        symbols, sentinels = _unknown_lengths(source, evidence, predicted, noise, starts)
    # As in `corrupt_spans`: before each text position the sentinel of a span that starts there.
    values = torch.stack([sentinels, symbols], dim=2).flatten(1)
    used = torch.stack([starts, noise], dim=2).flatten(1)
    n_used = used.sum(dim=1, keepdim=True)
    result = torch.zeros(corrupted.targets.shape, dtype=torch.float64)
    result[torch.arange(result.shape[1]) < n_used] = values[used]
    return result


def _unknown_lengths(
    source: HiddenMarkovSource, evidence: Tensor, predicted: Tensor, noise: Tensor, starts: Tensor
) -> tuple[Tensor, Tensor]:
    """Score symbols and sentinels; both (B, T), a sentinel's at the start of its span."""
    n_rows, seq_len = noise.shape
    counts, n_spans = noise.sum(dim=1), starts.sum(dim=1)
    if noise[:, 0].any() or not noise[:, -1].all() or (counts != counts[0]).any() or (
        (n_spans != n_spans[0]).any()
    ):  # fmt: skip
        raise ValueError(
            "expected equal counts in all rows, a kept token first and a cut one last, as "
            "without roll; give the lengths otherwise"
        )
    ahead = _arrangements(source, evidence, noise, starts)  # (B, T + 1, N + 1, S)
    n_left = F.pad(noise.flip(1).cumsum(dim=1).flip(1), (0, 1))  # (B, T + 1): from t on
    place, row = torch.arange(seq_len + 1), torch.arange(n_rows)[:, None]
    is_start = F.pad(starts, (0, 1))  # (B, T + 1), like all that follows
    is_end = F.pad(noise, (1, 0)) & ~F.pad(noise, (0, 1))  # the first place after a span
    # Of the span that t belongs to, or that has just ended: where it starts, where it ends.
    start = torch.where(is_start, place, 0).cummax(dim=1).values
    end = torch.where(is_end, place, seq_len).flip(1).cummin(dim=1).values.flip(1)
    more = predicted * ahead[row, start, n_left]
    no_more = (predicted * ahead[row, end, n_left]).sum(dim=2).masked_fill(is_start, 0.0)
    total = more.sum(dim=2) + no_more
    symbols = ((more[:, :-1] * evidence).sum(dim=2) / total[:, :-1]).log()
    closing = (no_more / total).log()[is_end].view(n_rows, -1)  # (B, n_spans), at each span's end
    sentinels = torch.zeros_like(symbols)
    sentinels[starts] = F.pad(closing[:, :-1], (1, 0)).flatten()  # the first one is certain
    return symbols, sentinels


def _arrangements(
    source: HiddenMarkovSource, evidence: Tensor, noise: Tensor, starts: Tensor
) -> Tensor:
    """Compute g, (B, T + 1, N + 1, S); one factor for a span and its end."""
    n_rows, seq_len, n_states = evidence.shape
    n_noise = int(noise[0].sum())
    ahead = torch.zeros(n_rows, n_noise + 1, n_states, dtype=torch.float64)
    ahead[:, 0] = 1.0
    result = [ahead]
    for t in range(seq_len - 1, -1, -1):
        kept = evidence[:, t, None] * (ahead @ source.transition.T)
        kept = kept / kept.amax(dim=(1, 2), keepdim=True)
        gap = [torch.zeros_like(ahead[:, 0])]  # no way to fill a span with 0 tokens
        for n in range(n_noise):
            gap.append((ahead[:, n] + gap[n]) @ source.transition.T)
        ahead = torch.where(starts[:, t, None, None], torch.stack(gap, dim=1), ahead)
        ahead = torch.where(noise[:, t, None, None], ahead, kept)
        result.append(ahead)
    return torch.stack(result[::-1], dim=1)


def _text(source: HiddenMarkovSource, corrupted: SpanCorrupted, offset: int) -> Tensor:
    """Put the symbols back in the order of the text, (B, T)."""
    noise = corrupted.noise
    if noise.dim() != 2:
        raise ValueError(f"expected a batch, got noise of shape {tuple(noise.shape)}")
    text = torch.zeros(noise.shape, dtype=torch.int64)
    for ids, mask, where in (
        (corrupted.inputs, corrupted.input_mask, ~noise),
        (corrupted.targets, corrupted.target_mask, noise),
    ):
        is_symbol = mask & (ids >= offset) & (ids < offset + source.n_symbols)
        if not torch.equal(is_symbol.sum(dim=1), where.sum(dim=1)):
            raise ValueError(
                f"expected the symbols {offset}..{offset + source.n_symbols - 1} wherever the "
                "noise says, got another number of them"
            )
        text[where] = ids[is_symbol] - offset
    return text
