# SPDX-License-Identifier: MIT
"""The first layer: tokens, positions and segments added up."""

import math

import pytest
import torch
from torch import Tensor

from pretrain.embeddings import Embeddings, check_attention_mask
from pretrain.positions import sinusoidal_positions

IDS = torch.tensor([[3, 1, 3]])


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_three_tables_are_added(dtype: torch.dtype) -> None:
    """Token, position and segment vectors, each looked up where it should be."""
    layer = Embeddings(5, 4, 6, n_segments=2)
    segments = torch.tensor([[0, 1, 1]])
    out = layer(IDS.to(dtype), segments)
    for t in range(3):
        parts = (layer.token.weight[IDS[0, t]], layer.segment.weight[segments[0, t]])
        assert torch.allclose(out[0, t], parts[0] + layer.position.weight[t] + parts[1])


def test_no_segments_means_the_first_segment() -> None:
    """Leaving segment_ids out is the same as all zeros."""
    layer = Embeddings(5, 4, 6, n_segments=2)
    assert torch.equal(layer(IDS), layer(IDS, torch.zeros_like(IDS)))


def test_sinusoids_are_added_to_scaled_tokens() -> None:
    """The 2017 form: token vectors times sqrt(D), plus the fixed table, which is no parameter."""
    layer = Embeddings(5, 4, 6, positions="sinusoidal")
    expected = layer.token.weight[IDS[0]] * math.sqrt(4) + sinusoidal_positions(6, 4)[:3]
    assert torch.allclose(layer(IDS)[0], expected)
    assert [name for name, _ in layer.named_parameters()] == ["token.weight"]
    assert "sinusoids" not in layer.state_dict()


@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_past_length_shifts_the_positions(positions: str) -> None:
    """The last tokens alone get the vectors that they have within the whole sequence."""
    layer = Embeddings(5, 4, 6, positions=positions)
    ids = torch.tensor([[0, 1, 2, 3, 4]])
    assert torch.equal(layer(ids[:, 3:], past_length=3), layer(ids)[:, 3:])


@pytest.mark.parametrize(
    "ids",
    [torch.zeros(3).long(), torch.zeros(1, 0).long(), torch.zeros(1, 3), torch.zeros(1, 1, 3)],
    ids=["1-D", "empty", "float", "3-D"],
)
def test_bad_ids(ids: Tensor) -> None:
    """Only integer ids of shape (B, T) are ids."""
    with pytest.raises(ValueError, match=r"integer ids of shape \(B, T\) with T >= 1, got torch"):
        Embeddings(5, 4, 6)(ids)


@pytest.mark.parametrize("bad_id", [-1, 5])
def test_ids_outside_the_vocabulary(bad_id: int) -> None:
    """The message gives the allowed range and the range that came."""
    low, high = min(bad_id, 2), max(bad_id, 2)
    with pytest.raises(ValueError, match=rf"ids in 0\.\.4, got {low}\.\.{high}"):
        Embeddings(5, 4, 6)(torch.tensor([[2, bad_id]]))


def test_too_many_tokens() -> None:
    """A sequence beyond the last position is refused, cached tokens included."""
    layer = Embeddings(5, 4, 6)
    with pytest.raises(ValueError, match="at most max_len = 6 tokens, got 7"):
        layer(torch.zeros(1, 7, dtype=torch.int64))
    with pytest.raises(ValueError, match="at most max_len = 6 tokens, got 8"):
        layer(IDS, past_length=5)


def test_bad_segments() -> None:
    """Segments need a table, and ids of the table."""
    with pytest.raises(ValueError, match=r"expected no segment_ids: .* n_segments=0"):
        Embeddings(5, 4, 6)(IDS, torch.zeros_like(IDS))
    with pytest.raises(ValueError, match=r"segment_ids in 0\.\.1, got 0\.\.2"):
        Embeddings(5, 4, 6, n_segments=2)(IDS, torch.tensor([[0, 1, 2]]))


def test_unknown_positions() -> None:
    """The message gives the kinds that there are."""
    with pytest.raises(ValueError, match=r"expected positions in .*, got 'alibi'"):
        Embeddings(5, 4, 6, positions="alibi")


def test_attention_mask_must_have_the_shape_of_the_ids() -> None:
    """A mask of another batch would broadcast silently, so the shapes must be equal."""
    check_attention_mask(torch.ones(1, 3), IDS)
    with pytest.raises(ValueError, match=r"attention_mask of shape \(1, 3\), .* got \(1, 1\)"):
        check_attention_mask(torch.ones(1, 1), IDS)
