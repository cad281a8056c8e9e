# SPDX-License-Identifier: MIT
"""Fill in the middle with a GPT: change the order of a text's parts, and nothing else.

Paper: Bavarian et al. 2022 (arXiv:2207.14255).

Implemented: the paper's two orders and the way back, the score of a given middle, and writing one;
the training is in `pretrain_lab.infilling.fill_in_the_middle`. The model, its mask and its loss are
those of any GPT: each token is predicted from the ones before it, but now the suffix is one of
them. Left out: cuts inside a token.

"psm"  <prefix> a b <suffix> e f <middle> c d <end>    the middle goes to the end
"spm"  <prefix><suffix> e f <middle> a b c d <end>     the suffix goes to the front, and the middle
                                                       follows its prefix as it always did

Train a GPT to fill the middle: ordinary prediction on data of which some are rearranged.

Paper: Bavarian et al. 2022 (arXiv:2207.14255).

Implemented: random cuts, batches that mix plain and transformed windows, and their loss in the form
that `pretrain.training.fit` takes. Left out: documents of their own (our windows are cut from one
long text), and mixing both orders.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from pretrain.generation import generate
from pretrain.gpt import GPT
from pretrain.objectives import BatchLoss, causal_targets, note_settings, random_windows
from pretrain_lab.scoring.spans import check_span, gpt_span_log_probs


class Markers(NamedTuple):
    """Ids that no text holds; any special tokens will do, such as three sentinels."""

    prefix: int
    """Stands before the prefix, and says that the text is transformed."""
    suffix: int
    """Stands before the suffix."""
    middle: int
    """Stands before the middle, and in "spm" before prefix and middle."""
    end: int
    """Closes the middle, so that a reader knows where to stop."""


N_MARKERS = len(Markers._fields)
ORDERS = ("psm", "spm")


def move_middle(
    ids: Tensor, start: int, end: int, markers: Markers, *, order: str = "psm"
) -> Tensor:
    """Write the three parts of a text with their markers, so that the middle comes last.

    Args:
        ids: int64 (..., L), texts without markers, all cut at the same places.
        start: Place where the middle starts, 0..L.
        end: Place after its last token, start..L.
        markers: The four ids.
        order: "psm" or "spm".

    Returns:
        int64 (..., L + 4).

    Raises:
        ValueError: Cuts outside the text, markers in it, another order, or no axis L.

    Source: Bavarian et al. 2022 (arXiv:2207.14255), section 3 and, for "spm", section 3.1.
    """
    check_order(order)
    if ids.dim() < 1:
        raise ValueError("expected ids (..., L), got a single number")
    if not 0 <= start <= end <= ids.shape[-1]:
        raise ValueError(
            f"expected 0 <= start <= end <= {ids.shape[-1]}, the text's length, got {start}, {end}"
        )
    found = sorted(set(ids.flatten().tolist()) & set(markers))
    if found:
        raise ValueError(f"expected a text without markers, got {found}")
    column = ids.new_ones(*ids.shape[:-1], 1)
    prefix, middle, suffix = ids.tensor_split([start, end], dim=-1)
    first, second = ([prefix], []) if order == "psm" else ([], [prefix])
    parts = [
        column * markers.prefix, *first, column * markers.suffix, suffix,
        column * markers.middle, *second, middle, column * markers.end,
    ]  # fmt: skip
    return torch.cat(parts, dim=-1)


def restore_middle(ids: Tensor, markers: Markers) -> Tensor:
    """Put the parts back: the text that `move_middle` was given, in either order.

    Args:
        ids: int64 (T,), transformed; the end marker may be missing, as in what a model wrote.
        markers: The four ids.

    Returns:
        int64 (L,).

    Raises:
        ValueError: ids is not (T,), or the markers are not there, in their order, each once.
    """
    if ids.dim() != 1:
        raise ValueError(f"expected ids (T,), got shape {tuple(ids.shape)}")
    tokens: list[int] = ids.tolist()
    places = [[i for i, token in enumerate(tokens) if token == marker] for marker in markers]
    complete = [*places[:3], places[3] or [len(tokens)]]
    flat = [place for found in complete for place in found]
    if any(len(found) != 1 for found in complete) or flat != sorted(flat) or flat[0] != 0:
        raise ValueError(
            f"expected the markers {tuple(markers)} once each, in this order and the first one in "
            f"front, got them at {places}"
        )
    _, suffix, middle, end = flat  # in "spm" nothing stands before the suffix
    return torch.cat([ids[1:suffix], ids[middle + 1 : end], ids[suffix + 1 : middle]])


def middle_log_probs(
    model: GPT, windows: Tensor, start: int, end: int, markers: Markers, *, order: str = "psm",
    batch_size: int = 64,
) -> Tensor:  # fmt: skip
    """Score the true middle of texts, given what stands on both of its sides.

    Args:
        model: A GPT trained with `fim_loss`; dropout is switched off meanwhile.
        windows: int64 (N, L); the model reads L + 3 tokens.
        start: First place of the middle.
        end: Place after the last one.
        markers: The four ids.
        order: The one that the model was trained on.
        batch_size: Rows at once.

    Returns:
        float (N, n + 1), n = end - start: log P of each token given both sides and the middle so
        far, and in the last column of the end after all of them, in nats.

    Raises:
        ValueError: The middle does not lie inside the window, or markers in the text.
    """
    check_span(windows, start, end)
    moved = move_middle(windows, start, end, markers, order=order)
    first = moved.shape[1] - (end - start) - 1
    return gpt_span_log_probs(model, moved, first, moved.shape[1], batch_size=batch_size)


def fill_middle(
    model: GPT,
    prefix: Tensor | Sequence[int],
    suffix: Tensor | Sequence[int],
    n_new_tokens: int,
    *,
    markers: Markers,
    order: str = "psm",
    **sampling: Any,
) -> Tensor:
    """Write what stands between two pieces of text.

    Args:
        model: A GPT trained with `fim_loss`; dropout is switched off meanwhile.
        prefix: int64 (P,), what stands before.
        suffix: int64 (S,), what stands after.
        n_new_tokens: Most tokens to write.
        markers: The four ids.
        order: The one that the model was trained on.
        sampling: `greedy`, or `generator` and the cuts of `pretrain.generation.generate`.

    Returns:
        int64 (n,), the middle, without the end marker; n = n_new_tokens when the model did not
        stop before.

    Raises:
        ValueError: As `generate` and `move_middle`; a prompt of P + S + 3 tokens and the middle
            must fit the trained context, or the model would lose the prefix as it writes.
    """
    left, right = (torch.as_tensor(part, dtype=torch.int64) for part in (prefix, suffix))
    if left.dim() != 1 or right.dim() != 1:
        raise ValueError(
            f"expected prefix (P,) and suffix (S,), got shapes {tuple(left.shape)} and "
            f"{tuple(right.shape)}"
        )
    text = torch.cat([left, right])
    moved = move_middle(text, len(left), len(left), markers, order=order)
    prompt = moved[None, :-1]  # an empty middle, still open
    if prompt.shape[1] + n_new_tokens > model.context_limit + 1:
        raise ValueError(
            f"expected prefix, suffix, markers and middle of at most {model.context_limit + 1} "
            f"tokens, got {prompt.shape[1]} and {n_new_tokens} new ones"
        )
    written = generate(model, prompt, n_new_tokens, stop_ids=[markers.end], **sampling)
    middle = written[0, prompt.shape[1] :]
    return middle[:-1] if len(middle) and middle[-1] == markers.end else middle


def check_order(order: str) -> None:
    """Refuse what is no order of the parts.

    Args:
        order: "psm" or "spm".

    Raises:
        ValueError: It is neither.
    """
    if order not in ORDERS:
        raise ValueError(f"expected an order from {ORDERS}, got {order!r}")


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
