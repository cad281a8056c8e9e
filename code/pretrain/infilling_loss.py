# SPDX-License-Identifier: MIT
"""Train a GPT to fill the middle: ordinary prediction on data of which some are rearranged.

Paper: Bavarian et al. 2022 (arXiv:2207.14255).

Implemented: random cuts, batches that mix plain and transformed windows, and their loss in the form
that `pretrain.training.fit` takes. Left out: documents of their own (our windows are cut from one
long text), and mixing both orders.
"""

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from pretrain.infilling import N_MARKERS, Markers, check_order, move_middle
from pretrain.objectives import BatchLoss, causal_targets, note_settings, random_windows


def random_cuts(batch_size: int, seq_len: int, *, generator: Generator) -> Tensor:
    """Choose where the middle of each text starts and ends: two places, uniform, in order.

    Args:
        batch_size: Number of texts B.
        seq_len: Length L of each, in tokens.
        generator: Source of randomness.

    Returns:
        int64 (B, 2), each in 0..L; prefix, middle or suffix may be empty.

    Raises:
        ValueError: A size below 0.

    Source: Bavarian et al. 2022 (arXiv:2207.14255), section 3: spans at uniformly random places.
    """
    if min(batch_size, seq_len) < 0:
        raise ValueError(f"expected batch_size, seq_len >= 0, got {batch_size} and {seq_len}")
    cuts = torch.randint(seq_len + 1, (batch_size, 2), generator=generator)
    return cuts.sort(dim=1).values


def fim_batch(
    windows: Tensor, markers: Markers, *, fim_prob: float, generator: Generator, order: str = "psm"
) -> Tensor:
    """Transform some windows and leave the others, all of one length.

    A transformed window gives up its last four tokens to the markers. Its first half at least, up
    to a random place, is transformed; the rest follows as it is. If the end always stood in the
    last position, a model would learn to stop there, and not where the middle meets the suffix.

    Args:
        windows: int64 (B, T), T > 4, plain text.
        markers: The four ids.
        fim_prob: Probability that a window is transformed.
        generator: Source of randomness.
        order: "psm" or "spm".

    Returns:
        int64 (B, T).

    Raises:
        ValueError: fim_prob outside [0, 1], windows too short, markers in the text, or another
            order.
    """
    check_order(order)
    if not 0.0 <= fim_prob <= 1.0 or windows.dim() != 2 or windows.shape[1] <= N_MARKERS:
        raise ValueError(
            f"expected fim_prob in [0, 1] and windows (B, T) with T > {N_MARKERS}, got "
            f"{fim_prob} and shape {tuple(windows.shape)}"
        )
    longest = windows.shape[1] - N_MARKERS
    chosen = torch.rand(len(windows), generator=generator) < fim_prob
    out = windows.clone()
    for row in chosen.nonzero().flatten().tolist():
        length = int(torch.randint((longest + 1) // 2, longest + 1, (), generator=generator))
        start, end = random_cuts(1, length, generator=generator)[0].tolist()
        moved = move_middle(windows[row, :length], start, end, markers, order=order)
        out[row] = torch.cat([moved, windows[row, length:longest]])
    return out


def fim_loss(
    ids: Tensor, *, batch_size: int, seq_len: int, markers: Markers, fim_prob: float = 0.5,
    order: str = "psm",
) -> BatchLoss:  # fmt: skip
    """Make the loss of next-token prediction on windows of which some are transformed.

    All tokens count, those of prefix and suffix and the markers too: the objective is the ordinary
    one, the data are not.

    Args:
        ids: int64 (L,), the tokens of the corpus.
        batch_size: Windows in a batch B.
        seq_len: Tokens that the model reads in each, T, markers included.
        markers: The four ids.
        fim_prob: Probability that a window is transformed.
        order: "psm" or "spm".

    Returns:
        A function of model and generator; mean loss in nats per token.

    Raises:
        ValueError: Another order.

    Source: Bavarian et al. 2022 (arXiv:2207.14255), section 3. differs: one order, where the paper
        mixes both.
    """
    check_order(order)

    def loss(model: nn.Module, generator: Generator) -> Tensor:
        """Draw windows of T + 1 tokens, transform some, and score each next token."""
        windows = random_windows(ids, batch_size, seq_len + 1, generator=generator)
        mixed = fim_batch(windows, markers, fim_prob=fim_prob, generator=generator, order=order)
        inputs, targets = causal_targets(mixed)
        return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())

    return note_settings(
        loss, ids, kind="fim", batch_size=batch_size, seq_len=seq_len, markers=list(markers),
        fim_prob=fim_prob, order=order,
    )  # fmt: skip
