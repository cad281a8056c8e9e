# SPDX-License-Identifier: MIT
"""The first layer: tokens, positions and segments added up."""

import math

import pytest
import torch
from torch import Tensor

from pretrain.embeddings import Embeddings, check_attention_mask
from pretrain.positions import sinusoidal_positions

IDS = torch.tensor([[3, 1, 3]])


def test_three_tables_are_added() -> None:
    """Token, position and segment vectors, each looked up where it should be."""
    layer = Embeddings(5, 4, 6, n_segments=2)
    segments = torch.tensor([[0, 1, 1]])
    out = layer(IDS, segments)
    for t in range(3):
        parts = (layer.token.weight[IDS[0, t]], layer.segment.weight[segments[0, t]])
        assert torch.allclose(out[0, t], parts[0] + layer.position.weight[t] + parts[1])


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_one_of_everything(dtype: torch.dtype) -> None:
    """One token id, one channel, one position and one token are enough."""
    layer = Embeddings(1, 1, 1)
    out = layer(torch.zeros(1, 1, dtype=dtype))
    assert torch.equal(out[0], layer.token.weight + layer.position.weight)


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
def test_n_past_shifts_the_positions(positions: str) -> None:
    """The last tokens alone get the vectors that they have within the whole sequence."""
    layer = Embeddings(5, 4, 6, positions=positions)
    ids = torch.tensor([[0, 1, 2, 3, 4]])
    assert torch.equal(layer(ids[:, 3:], n_past=3), layer(ids)[:, 3:])


def test_trained_len_is_the_longest_sequence_seen_in_training() -> None:
    """It grows in training, never shrinks, and stands still in evaluation."""
    layer = Embeddings(5, 4, 6)
    lengths = []
    for seq_len, training in ((2, True), (4, True), (3, True), (6, False)):
        layer.train(training)(torch.zeros(1, seq_len, dtype=torch.int64))
        lengths.append(int(layer.trained_len))
    assert lengths == [2, 4, 4, 4]


def test_reading_without_gradients_is_not_training() -> None:
    """A model that was never put into evaluation mode must not count what it generates."""
    layer = Embeddings(5, 4, 6).train()
    with torch.no_grad():
        layer(IDS)
    with torch.inference_mode():
        layer(IDS)
    assert int(layer.trained_len) == 0


def test_trained_len_is_saved_with_the_weights() -> None:
    """A loaded model knows how far its training reached."""
    layer, fresh = Embeddings(5, 4, 6).train(), Embeddings(5, 4, 6)
    layer(IDS)
    fresh.load_state_dict(layer.state_dict())
    assert int(fresh.trained_len) == 3
    assert fresh.trained_len.dtype == torch.int64


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
        layer(IDS, n_past=5)


def test_bad_segments() -> None:
    """Segments need a table, the shape of the ids and ids of the table."""
    with pytest.raises(ValueError, match=r"expected no segment_ids: .* n_segments=0"):
        Embeddings(5, 4, 6)(IDS, torch.zeros_like(IDS))
    layer = Embeddings(5, 4, 6, n_segments=2)
    with pytest.raises(ValueError, match=r"segment_ids of shape \(1, 3\), got \(1, 2\)"):
        layer(IDS, torch.zeros(1, 2, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"segment_ids in 0\.\.1, got 0\.\.2"):
        layer(IDS, torch.tensor([[0, 1, 2]]))


@pytest.mark.parametrize("sizes", [(0, 4, 6), (5, 0, 6), (5, 4, 0)])
def test_bad_sizes(sizes: tuple[int, int, int]) -> None:
    """What no table can have is refused when the layer is made."""
    message = "d_model and max_len >= 1, got {}, {} and {}".format(*sizes)
    with pytest.raises(ValueError, match=message):
        Embeddings(*sizes)


def test_unknown_positions() -> None:
    """The message gives the kinds that there are."""
    with pytest.raises(ValueError, match="'learned' or 'sinusoidal', got 'rotary'"):
        Embeddings(5, 4, 6, positions="rotary")


def test_attention_mask_must_have_the_shape_of_the_ids() -> None:
    """A mask of another batch would broadcast silently, so the shapes must be equal."""
    check_attention_mask(torch.ones(1, 3), IDS)
    with pytest.raises(ValueError, match=r"attention_mask of shape \(1, 3\), .* got \(1, 1\)"):
        check_attention_mask(torch.ones(1, 1), IDS)
