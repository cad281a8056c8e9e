# SPDX-License-Identifier: MIT
"""Fill in the middle with a GPT: change the order of a text's parts, and nothing else.

"psm"  <prefix> a b <suffix> e f <middle> c d <end>    the middle goes to the end
"spm"  <prefix><suffix> e f <middle> a b c d <end>     the suffix goes to the front, and the middle
                                                       follows its prefix as it always did

Paper: Bavarian et al. 2022 (arXiv:2207.14255). Left out: cuts inside a token, documents of their
own (our windows are cut from one long text), mixing both orders.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from pretrain.gpt import GPT
from pretrain.objectives import Batch, CausalLM, causal_targets
from pretrain_lab.scoring.spans import check_span, gpt_span_log_probs


class Markers(NamedTuple):
    """Ids that no text holds; any special tokens will do, such as three sentinels."""

    prefix: int  # stands before the prefix, and says that the text is transformed
    suffix: int
    middle: int  # stands before the middle, and in "spm" before prefix and middle
    end: int  # closes the middle, so that a reader knows where to stop


N_MARKERS = len(Markers._fields)
ORDERS = ("psm", "spm")


def move_middle(
    ids: Tensor, start: int, end: int, markers: Markers, *, order: str = "psm"
) -> Tensor:
    """Write the three parts of a text with their markers, so that the middle comes last.

    All texts, int64 (..., L), are cut before `start` and before `end`. Returns int64 (..., L + 4).

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
    """Put the parts back: the text int64 (L,) that `move_middle` was given, in either order.

    `ids` are int64 (T,); the end marker may be missing, as in what a model wrote.

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

    The middle is start..end - 1 of windows, int64 (N, L), of which a GPT trained with
    `FillInTheMiddleLM` in this order reads L + 3 tokens. Returns float (N, n + 1), n = end - start:
    log P of each token given both sides and the middle so far, and in the last column of the end
    after all of them, in nats.

    Raises:
        ValueError: The middle does not lie inside the window, or markers in the text.
    """
    check_span(windows, start, end)
    moved = move_middle(windows, start, end, markers, order=order)
    first = moved.shape[1] - (end - start) - 1
    return gpt_span_log_probs(model, moved, first, moved.shape[1], batch_size=batch_size)


def check_order(order: str) -> None:
    """Raise ValueError for what is neither "psm" nor "spm"."""
    if order not in ORDERS:
        raise ValueError(f"expected an order from {ORDERS}, got {order!r}")


def random_cuts(batch_size: int, seq_len: int, *, generator: Generator) -> Tensor:
    """Choose where the middle of each text starts and ends: two places in 0..seq_len, int64 (B, 2).

    They are uniform and in order; prefix, middle or suffix may be empty.

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
    """Transform some windows, int64 (B, T), and leave the others, all of one length T > 4.

    A transformed window gives up its last four tokens to the markers. Its first half at least, up
    to a random place, is transformed; the rest follows as it is. If the end always stood in the
    last position, a model would learn to stop there, and not where the middle meets the suffix.
    `fim_prob` is the probability that a window is transformed.

    Raises:
        ValueError: fim_prob outside [0, 1], short windows, markers in the text, or another order.
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


@dataclass(frozen=True, eq=False)
class FillInTheMiddleLM(CausalLM):
    """A GPT predicts each next token of windows of which some are transformed.

    All tokens count, those of prefix and suffix and the markers too: the objective is the ordinary
    one, the data are not.

    Source: Bavarian et al. 2022 (arXiv:2207.14255), section 3. differs: one order, where the paper
        mixes both.
    """

    markers: Markers
    fim_prob: float = 0.5  # probability that a window is transformed
    order: str = "psm"  # or "spm"

    def __post_init__(self) -> None:
        """Refuse another order before the first batch."""
        check_order(self.order)

    def corrupt(self, windows: Tensor, generator: Generator) -> Batch:
        """Transform some windows, then ask for each next token."""
        mixed = fim_batch(
            windows, self.markers, fim_prob=self.fim_prob, generator=generator, order=self.order
        )
        return Batch(*causal_targets(mixed))
