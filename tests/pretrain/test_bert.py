# SPDX-License-Identifier: MIT
"""BERT: sees both sides, ignores padding, and equals the published implementation."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import BertConfig, BertForMaskedLM

from pretrain.bert import BERT, BERTConfig

Build = Callable[..., BERT]
Influence = Callable[[nn.Module, Tensor], Tensor]
IDS = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]])
OPTIONS: list[dict[str, Any]] = [
    {},
    {"norm": "pre"},
    {"positions": "sinusoidal", "activation": "relu"},
    {"positions": "rotary", "norm": "pre"},
    {"tie_head": False, "n_segments": 2},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_position_sees_every_position(
    tiny_bert: Build, influence: Influence, options: dict[str, Any]
) -> None:
    """d logits_t / d embedding_s is nonzero for all t and s, the right-hand side included."""
    model = tiny_bert(**options)
    assert model.encode(IDS).shape == (2, 6, 8)
    assert model(IDS).shape == (2, 6, 11)
    assert (influence(model, IDS[:1]) > 0).all()


@pytest.mark.parametrize(
    "real", [[1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1], [0, 1, 1, 0, 1, 0]], ids=str
)
def test_padding_never_changes_a_real_position(tiny_bert: Build, real: list[int]) -> None:
    """What stands in the padding, on either side or between, does not matter."""
    model = tiny_bert()
    mask = torch.tensor([real, [1] * 6]).bool()
    other = IDS.where(mask, torch.tensor(7))
    assert torch.equal(model(IDS, mask)[mask], model(other, mask)[mask])
    assert torch.allclose(model(IDS, mask)[1], model(IDS)[1], rtol=0, atol=1e-12)


def test_right_padding_equals_no_padding(tiny_bert: Build) -> None:
    """A padded sequence gives what the short one gives alone."""
    model = tiny_bert()
    alone = model(IDS[:1, :4])
    padded = model(IDS[:1], torch.tensor([[1, 1, 1, 1, 0, 0]]))[:, :4]
    assert torch.allclose(padded, alone, rtol=0, atol=1e-12)


def test_the_head_runs_where_it_is_asked(tiny_bert: Build) -> None:
    """The rows come in row-major order and equal those of the full head."""
    model = tiny_bert()
    asked = torch.zeros(2, 6).bool()
    asked[0, 4] = asked[0, 1] = asked[1, 0] = True
    rows = model(IDS, masked_positions=asked)
    assert rows.shape == (3, 11)
    assert torch.allclose(rows, model(IDS)[[0, 0, 1], [1, 4, 0]], rtol=0, atol=1e-12)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_gradient_reaches_every_parameter(options: dict[str, Any]) -> None:
    """Every parameter takes part in the logits."""
    model = BERT(BERTConfig(11, d_model=8, n_layers=2, n_heads=2, max_len=6, **options))
    F.cross_entropy(model(IDS).flatten(0, 1), IDS.flatten()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_the_head_is_tied_or_its_own() -> None:
    """Tied: the embedding matrix and one bias a token. Untied: a matrix with the same spread."""
    sizes = {"d_model": 32, "n_layers": 1, "n_heads": 2, "max_len": 6}
    tied = BERT(BERTConfig(200, **sizes))
    untied = BERT(BERTConfig(200, **sizes, tie_head=False, init_std=0.5))
    assert untied.head.output_weight.std().item() == pytest.approx(0.5, rel=0.05)
    counts = [sum(p.numel() for p in model.parameters()) for model in (tied, untied)]
    assert counts[1] - counts[0] == 200 * 32
    nn.init.normal_(tied.head.output_bias)
    for model, matrix in (
        (tied, tied.embeddings.token.weight),
        (untied, untied.head.output_weight),
    ):
        inner = model.head.norm(F.gelu(model.head.dense(model.encode(IDS))))
        expected = inner @ matrix.T + model.head.output_bias
        assert torch.allclose(model(IDS), expected, atol=1e-5)


def test_dropout_acts_in_training_only(tiny_bert: Build) -> None:
    """At one rate in all places; a dropout of 0 is no dropout, bit by bit."""
    model, plain = tiny_bert(dropout=0.2), tiny_bert()
    assert [part.p for part in model.modules() if isinstance(part, nn.Dropout)] == [0.2] * 3
    assert [block.attention.dropout for block in model.blocks] == [0.2] * 2
    assert torch.equal(model(IDS), model(IDS))
    assert not torch.equal(model.train()(IDS), model(IDS))
    assert torch.equal(plain.train()(IDS), plain.eval()(IDS))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_norms_of_both_forms(tiny_bert: Build, norm: str) -> None:
    """BERT has a norm behind the embeddings, pre-norm one at the end; one epsilon in all."""
    model = tiny_bert(norm=norm, norm_eps=0.25)
    norms = [part.eps for part in model.modules() if isinstance(part, nn.LayerNorm)]
    assert norms == [0.25] * (2 * 2 + 2)
    assert isinstance(model.embedding_norm, nn.LayerNorm) == (norm == "post")
    assert isinstance(model.final_norm, nn.LayerNorm) == (norm == "pre")


def published_bert(model: BERT, activation: str) -> BertForMaskedLM:
    """Make the published model with our weights; our stacked projection is cut in three."""
    c = model.config
    config = BertConfig(
        vocab_size=c.vocab_size, hidden_size=c.d_model, num_hidden_layers=c.n_layers,
        num_attention_heads=c.n_heads, intermediate_size=c.d_ff, hidden_act=activation,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, type_vocab_size=2,
        max_position_embeddings=c.max_len, layer_norm_eps=c.norm_eps,
    )  # fmt: skip
    pairs: dict[str, Tensor] = {}
    tables = {"word": "token", "position": "position", "token_type": "segment"}
    for theirs, ours in tables.items():
        table = model.embeddings.get_submodule(ours)
        pairs[f"bert.embeddings.{theirs}_embeddings.weight"] = table.weight
    head, state = "cls.predictions", model.state_dict()
    pairs[f"{head}.decoder.weight"] = model.embeddings.token.weight
    pairs[f"{head}.bias"] = pairs[f"{head}.decoder.bias"] = model.head.output_bias
    for kind in ("weight", "bias"):
        pairs[f"bert.embeddings.LayerNorm.{kind}"] = state[f"embedding_norm.{kind}"]
        pairs[f"{head}.transform.dense.{kind}"] = state[f"head.dense.{kind}"]
        pairs[f"{head}.transform.LayerNorm.{kind}"] = state[f"head.norm.{kind}"]
        for i in range(c.n_layers):
            own, layer = f"blocks.{i}", f"bert.encoder.layer.{i}"
            stacked = state[f"{own}.attention.qkv.{kind}"].chunk(3)
            for name, part in zip(("query", "key", "value"), stacked, strict=True):
                pairs[f"{layer}.attention.self.{name}.{kind}"] = part
            for name, ours in (
                ("attention.output.dense", "attention.output"),
                ("attention.output.LayerNorm", "attention_norm"),
                ("intermediate.dense", "feed_forward.up"),
                ("output.dense", "feed_forward.down"),
                ("output.LayerNorm", "feed_forward_norm"),
            ):
                pairs[f"{layer}.{name}.{kind}"] = state[f"{own}.{ours}.{kind}"]
    published = BertForMaskedLM(config).double().eval()
    published.load_state_dict(pairs)
    return published


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("ours", "theirs"), [("gelu", "gelu"), ("gelu_tanh", "gelu_new")])
def test_same_logits_as_the_published_bert(
    tiny_bert: Build, ours: str, theirs: str, seed: int
) -> None:
    """On a tiny random configuration, with padding and segments, the logits agree."""
    torch.manual_seed(seed)
    model = tiny_bert(activation=ours, d_ff=20, n_segments=2, n_heads=2 + 2 * seed)
    published = published_bert(model, theirs)
    real = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]])
    segments = torch.tensor([[0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 0, 1]])
    with torch.no_grad():
        assert torch.allclose(model(IDS), published(IDS).logits, rtol=0, atol=1e-10)
        theirs_out = published(IDS, attention_mask=real, token_type_ids=segments).logits
        ours_out = model(IDS, real, segments)
    assert torch.allclose(ours_out[real > 0], theirs_out[real > 0], rtol=0, atol=1e-10)


def test_bad_calls_are_named(tiny_bert: Build) -> None:
    """Wrong masks, segments, lengths and prediction places."""
    model = tiny_bert()
    cases: list[tuple[Tensor, dict[str, Any], str]] = [
        (IDS, {"attention_mask": torch.ones(2, 5)}, r"of shape \(2, 6\), .* got \(2, 5\)"),
        (IDS, {"attention_mask": torch.full((2, 6), 3)}, "only 0 and 1"),
        (IDS, {"segment_ids": torch.zeros_like(IDS)}, "expected no segment_ids"),
        (IDS.repeat(1, 3), {}, "at most max_len = 12 tokens, got 18"),
        (
            IDS,
            {"masked_positions": torch.ones_like(IDS)},
            r"bool of shape \(2, 6\), got torch.int64",
        ),
        (IDS, {"masked_positions": torch.ones(2, 5).bool()}, r"bool .* of shape \(2, 5\)"),
    ]
    for ids, options, message in cases:
        with pytest.raises(ValueError, match=message):
            model(ids, **options)
    with pytest.raises(ValueError, match="divisible by n_heads, got 8 and 3"):
        tiny_bert(n_heads=3)
