# SPDX-License-Identifier: MIT
"""The Transformer block and its initial weights."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from pretrain.attention import KVCache
from pretrain.blocks import ACTIVATIONS, Block, FeedForward, init_weights, make_block
from pretrain.gpt import GPT, GPTConfig
from pretrain.masks import causal_mask, padding_mask

TOLERANCE = 1e-10
REAL = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()
Scramble = Callable[[nn.Module], nn.Module]


def copy_attention(ours: nn.Module, theirs: nn.Module) -> None:
    """Copy the stacked projection and the output matrix into torch's layer."""
    theirs.in_proj_weight.copy_(ours.qkv.weight)
    theirs.in_proj_bias.copy_(ours.qkv.bias)
    theirs.out_proj.load_state_dict(ours.output.state_dict())


@torch.no_grad()
def copy_block(ours: Block, theirs: nn.Module, *, cross: bool = False) -> None:
    """Copy a block into torch's encoder layer, or decoder layer when it reads a memory."""
    copy_attention(ours.attention, theirs.self_attn)
    norms = [ours.attention_norm, ours.feed_forward_norm]
    if cross:
        copy_attention(ours.cross_attention, theirs.multihead_attn)
        norms.insert(1, ours.cross_norm)
    for i, norm in enumerate(norms, start=1):
        getattr(theirs, f"norm{i}").load_state_dict(norm.state_dict())
    theirs.linear1.load_state_dict(ours.feed_forward.up.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.down.state_dict())


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize(("activation", "eps"), [("gelu", 1e-5), ("relu", 1e-2)])
def test_block_equals_torch_encoder_layer(
    norm: str, activation: str, eps: float, scramble: Scramble
) -> None:
    """Copied weights give the same output under a causal mask with padding."""
    ours = make_block(12, 3, 20, norm=norm, activation=activation, norm_eps=eps)
    scramble(ours)
    theirs = nn.TransformerEncoderLayer(
        12, 3, 20, dropout=0.0, activation=activation, layer_norm_eps=eps, batch_first=True,
        norm_first=norm == "pre", dtype=torch.float64,
    )  # fmt: skip
    copy_block(ours, theirs)
    x = torch.randn(2, 5, 12, dtype=torch.float64)
    expected = theirs(x, src_mask=~causal_mask(5), src_key_padding_mask=~REAL)
    out = ours(x, causal_mask(5) & padding_mask(REAL))
    assert torch.allclose(out, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_cross_block_equals_torch_decoder_layer(norm: str, scramble: Scramble) -> None:
    """With cross-attention the block is the decoder layer of the first Transformer."""
    ours = make_block(12, 3, 20, norm=norm, activation="relu", cross_attention=True)
    scramble(ours)
    theirs = nn.TransformerDecoderLayer(
        12, 3, 20, dropout=0.0, batch_first=True, norm_first=norm == "pre", dtype=torch.float64
    )
    copy_block(ours, theirs, cross=True)
    x = torch.randn(2, 4, 12, dtype=torch.float64)
    memory = torch.randn(2, 5, 12, dtype=torch.float64)
    expected = theirs(x, memory, tgt_mask=~causal_mask(4), memory_key_padding_mask=~REAL)
    out = ours(x, causal_mask(4), memory=memory, memory_mask=padding_mask(REAL))
    assert torch.allclose(out, expected, rtol=0, atol=TOLERANCE)


def test_the_two_places_of_the_norm() -> None:
    """Pre-norm leaves the residual stream alone; post-norm standardises it after each branch."""
    x = 10 * torch.randn(2, 5, 8)
    pre, post = make_block(8, 2, 16, norm="pre"), make_block(8, 2, 16, norm="post")
    for block in (pre, post):
        for layer in (block.attention.output, block.feed_forward.down):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)
    assert torch.equal(pre(x), x)
    assert torch.allclose(post(x).var(dim=-1, unbiased=False), torch.ones(2, 5), atol=1e-3)


def test_feed_forward_works_on_each_position_alone() -> None:
    """Changing one position changes the output there and nowhere else."""
    layer = FeedForward(8, 16)
    x = torch.randn(1, 4, 8)
    changed = x.clone()
    changed[0, 2] += 1.0
    moved = (layer(x) != layer(changed)).any(dim=-1)[0]
    assert moved.tolist() == [False, False, True, False]


@pytest.mark.parametrize(
    ("name", "at_one"), [("relu", 1.0), ("gelu", 0.841345), ("gelu_tanh", 0.841192)]
)
def test_activations_by_value(name: str, at_one: float) -> None:
    """GELU(1) is the normal distribution's value at 1; its tanh form differs in the 4th digit."""
    assert ACTIVATIONS[name](torch.tensor(1.0)).item() == pytest.approx(at_one, abs=1e-6)


@pytest.mark.parametrize("cross", [False, True])
def test_gradient_reaches_every_parameter(cross: bool) -> None:
    """No sublayer is left out of the sum."""
    block = make_block(8, 2, 16, cross_attention=cross)
    memory: Tensor | None = torch.randn(1, 3, 8) if cross else None
    block(torch.randn(1, 4, 8), causal_mask(4), memory=memory).square().sum().backward()
    for name, parameter in block.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@torch.no_grad()
def test_cached_block_equals_the_whole_pass(scramble: Scramble) -> None:
    """Self-attention reads its cache; cross-attention reads the whole memory each time."""
    block = make_block(8, 2, 16, cross_attention=True)
    scramble(block)
    x, memory = torch.randn(2, 1, 5, 8, dtype=torch.float64)
    cache = KVCache(5)
    rows = [block(x[:, t : t + 1], memory=memory, cache=cache) for t in range(5)]
    whole = block(x, causal_mask(5), memory=memory)
    assert torch.allclose(torch.cat(rows, dim=1), whole, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("part", ["attention", "cross_attention", "dropout"])
def test_dropout_reaches_weights_and_branches(part: str) -> None:
    """Each place drops by itself, at the rate that was given, and in training alone."""
    block = make_block(8, 2, 16, dropout=0.5, cross_attention=True).eval()
    x, memory = torch.randn(1, 4, 8), torch.randn(1, 3, 8)
    silent = block(x, memory=memory)
    assert torch.equal(block(x, memory=memory), silent)
    block.get_submodule(part).train()
    assert not torch.equal(block(x, memory=memory), silent)
    branch = block.dropout.train()(torch.ones(10_000))
    assert branch.unique().tolist() == [0.0, 2.0]
    assert branch.mean().item() == pytest.approx(1.0, abs=4 * 0.01)


def test_initial_weights_have_the_stated_spread() -> None:
    """std 0.02; the last matrix of each branch 0.02 / sqrt(2 N); biases 0; norms 1."""
    model = GPT(GPTConfig(300, d_model=64, n_layers=8, n_heads=4, max_len=64))
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2:
            small = name.endswith(("attention.output.weight", "feed_forward.down.weight"))
            expected = 0.02 / 4 if small else 0.02
            assert parameter.std().item() == pytest.approx(expected, rel=0.06), name
        elif "norm" in name and name.endswith("weight"):
            assert parameter.eq(1).all(), name
        else:
            assert parameter.eq(0).all(), name


def test_cross_attention_counts_as_a_branch() -> None:
    """Its output matrix is drawn small too."""
    block = make_block(64, 4, 128, cross_attention=True)
    init_weights(block, 8, std=0.4)
    assert block.cross_attention.output.weight.std().item() == pytest.approx(0.1, rel=0.06)
    assert block.cross_attention.qkv.weight.std().item() == pytest.approx(0.4, rel=0.06)


def test_bad_options_are_named() -> None:
    """Unknown names show what is known."""
    with pytest.raises(ValueError, match=r"\['gelu', 'gelu_tanh', 'relu'\], got 'swish'"):
        FeedForward(8, 16, activation="swish")
    with pytest.raises(ValueError, match="expected norm 'pre' or 'post', got 'middle'"):
        make_block(8, 2, 16, norm="middle")
