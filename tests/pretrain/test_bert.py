# SPDX-License-Identifier: MIT
"""BERT: sees both sides, ignores padding, and equals the published implementation."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from transformers import BertConfig, BertForMaskedLM

from pretrain.bert import BERT, MaskedLMHead
from pretrain.dropout import Dropout

Build = Callable[..., BERT]
IDS = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]])
OPTIONS: list[dict[str, object]] = [
    {},
    {"norm": "pre"},
    {"positions": "sinusoidal", "activation": "relu"},
    {"tie_head": False, "n_segments": 2},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_shapes(tiny_bert: Build, options: dict[str, object]) -> None:
    """encode gives (B, T, D), calling gives (B, T, V)."""
    model = tiny_bert(**options)
    assert model.encode(IDS).shape == (2, 6, 8)
    assert model(IDS).shape == (2, 6, 11)
    assert model.max_len == 12


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_position_sees_every_position(
    tiny_bert: Build,
    influence: Callable[[nn.Module, Tensor], Tensor],
    options: dict[str, object],
) -> None:
    """d logits_t / d embedding_s is nonzero for all t and s, the right-hand side included."""
    assert (influence(tiny_bert(**options), IDS[:1]) > 0).all()


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
    mask = torch.tensor([[1, 1, 1, 1, 0, 0]])
    alone = model.encode(IDS[:1, :4])
    assert torch.allclose(model.encode(IDS[:1], mask)[:, :4], alone, rtol=0, atol=1e-12)


def test_predict_runs_the_head_where_it_is_asked(tiny_bert: Build) -> None:
    """The rows come in row-major order and equal those of the full head."""
    model = tiny_bert()
    asked = torch.zeros(2, 6).bool()
    asked[0, 4] = asked[0, 1] = asked[1, 0] = True
    rows = model(IDS, predict=asked)
    assert rows.shape == (3, 11)
    assert torch.allclose(rows, model(IDS)[[0, 0, 1], [1, 4, 0]], rtol=0, atol=1e-12)


def test_segments_move_the_states(tiny_bert: Build) -> None:
    """Leaving segments out means segment 0; the second segment gives other states."""
    model = tiny_bert(n_segments=2)
    zeros = torch.zeros_like(IDS)
    assert torch.equal(model(IDS), model(IDS, None, zeros))
    assert not torch.allclose(model(IDS), model(IDS, None, zeros + 1))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_gradient_reaches_every_parameter(options: dict[str, object]) -> None:
    """Every parameter takes part in the logits."""
    model = BERT(11, d_model=8, n_layers=2, n_heads=2, max_len=6, **options)  # type: ignore[arg-type]
    nn.functional.cross_entropy(model(IDS).flatten(0, 1), IDS.flatten()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_the_head_is_tied_or_its_own() -> None:
    """Tied: the very same parameter. Untied: another one, drawn with the same spread."""
    sizes = {"d_model": 32, "n_layers": 1, "n_heads": 2, "max_len": 6}
    tied = BERT(200, **sizes)
    assert tied.head.output_weight is tied.embeddings.token.weight
    untied = BERT(200, **sizes, tie_head=False, init_std=0.5)
    assert untied.head.output_weight is not untied.embeddings.token.weight
    assert untied.head.output_weight.std().item() == pytest.approx(0.5, rel=0.05)


def test_post_norm_ends_in_a_norm() -> None:
    """BERT's own form hands out standardised vectors, at any depth."""
    model = BERT(11, d_model=16, n_layers=2, n_heads=2, max_len=6).eval()
    states = model.encode(IDS)
    assert torch.allclose(states.mean(dim=-1), torch.zeros(2, 6), atol=1e-5)
    assert torch.allclose(states.var(dim=-1, unbiased=False), torch.ones(2, 6), atol=1e-4)


def test_dropout_acts_in_training_only(tiny_bert: Build) -> None:
    """Evaluation is deterministic."""
    model = tiny_bert(dropout_prob=0.2)
    assert torch.equal(model(IDS), model(IDS))
    model.train()
    assert not torch.equal(model(IDS), model(IDS))


def test_options_rebuild_the_model(tiny_bert: Build) -> None:
    """What a model was made with is kept as plain values."""
    model = tiny_bert(n_segments=2, d_ff=24)
    twin = BERT(**model.options).double()
    twin.load_state_dict(model.state_dict())
    assert torch.equal(twin.eval()(IDS), model(IDS))


def test_options_that_are_not_named() -> None:
    """BERT's form: a norm behind each branch, a tied head, no segments and no dropout."""
    model = BERT(11, d_model=8, n_layers=1, n_heads=2, max_len=6)
    assert model.options == {
        "vocab_size": 11, "d_model": 8, "n_layers": 1, "n_heads": 2, "max_len": 6, "d_ff": None,
        "dropout_prob": 0.0, "norm": "post", "norm_eps": 1e-12, "positions": "learned",
        "n_segments": 0, "activation": "gelu", "tie_head": True, "init_std": 0.02,
    }  # fmt: skip
    assert model.blocks[0].feed_forward.up.weight.shape == (32, 8)
    head = MaskedLMHead(64, 300, norm_eps=1e-12, activation="gelu")
    assert head.output_weight.shape == (300, 64)
    assert head.output_weight.std().item() == pytest.approx(0.02, rel=0.06)
    assert head.output_bias.eq(0).all()


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_options_reach_every_part(tiny_bert: Build, norm: str) -> None:
    """One epsilon in all norms, one probability in all dropouts; one std draws the weights."""
    model = tiny_bert(norm=norm, norm_eps=0.25, dropout_prob=0.3)
    parts = list(model.modules())
    norms = [part.eps for part in parts if isinstance(part, nn.LayerNorm)]
    assert norms == [0.25] * (2 * 2 + 2)
    assert {part.prob for part in parts if isinstance(part, Dropout)} == {0.3}
    wide = BERT(300, d_model=64, n_layers=2, n_heads=4, max_len=64, norm=norm, init_std=0.5)
    assert wide.embeddings.token.weight.std().item() == pytest.approx(0.5, rel=0.06)
    assert wide.head.dense.weight.std().item() == pytest.approx(0.5, rel=0.06)
    assert wide.blocks[1].feed_forward.down.weight.std().item() == pytest.approx(0.25, rel=0.06)
    assert isinstance(model.final_norm, nn.LayerNorm) == (norm == "pre")
    assert isinstance(model.embedding_norm, nn.LayerNorm) == (norm == "post")
    names = [set(tiny_bert(positions=kind).state_dict()) for kind in ("learned", "sinusoidal")]
    assert names[0] - names[1] == {"embeddings.position.weight"}


@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_the_activation_reaches_head_and_blocks(tiny_bert: Build, activation: str) -> None:
    """Below 0, ReLU gives nothing and GELU a little."""
    model = tiny_bert(activation=activation)
    x = torch.tensor([-1.0])
    for part in (model.head, *(block.feed_forward for block in model.blocks)):
        assert bool(part.activation(x) == 0) == (activation == "relu")


def published_bert(model: BERT, activation: str) -> BertForMaskedLM:
    """Make the published model with our weights; our stacked projection is cut in three."""
    o = model.options
    config = BertConfig(
        vocab_size=o["vocab_size"], hidden_size=o["d_model"], num_hidden_layers=o["n_layers"],
        num_attention_heads=o["n_heads"], intermediate_size=o["d_ff"], hidden_act=activation,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, type_vocab_size=2,
        max_position_embeddings=o["max_len"], layer_norm_eps=o["norm_eps"],
    )  # fmt: skip
    pairs: dict[str, Tensor] = {}
    tables = {"word": "token", "position": "position", "token_type": "segment"}
    for theirs, ours in tables.items():
        table = model.embeddings.get_submodule(ours)
        pairs[f"bert.embeddings.{theirs}_embeddings.weight"] = table.weight
    head, state = "cls.predictions", model.state_dict()
    pairs[f"{head}.decoder.weight"] = model.head.output_weight
    pairs[f"{head}.bias"] = pairs[f"{head}.decoder.bias"] = model.head.output_bias
    for kind in ("weight", "bias"):
        pairs[f"bert.embeddings.LayerNorm.{kind}"] = state[f"embedding_norm.{kind}"]
        pairs[f"{head}.transform.dense.{kind}"] = state[f"head.dense.{kind}"]
        pairs[f"{head}.transform.LayerNorm.{kind}"] = state[f"head.norm.{kind}"]
        for i in range(o["n_layers"]):
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
    with pytest.raises(ValueError, match=r"attention_mask of shape \(2, 6\), .* got \(2, 5\)"):
        model(IDS, torch.ones(2, 5))
    with pytest.raises(ValueError, match="only 0 and 1"):
        model(IDS, torch.full((2, 6), 3))
    with pytest.raises(ValueError, match="expected no segment_ids"):
        model.encode(IDS, None, torch.zeros_like(IDS))
    with pytest.raises(ValueError, match="at most max_len = 12 tokens, got 18"):
        model(IDS.repeat(1, 3))
    with pytest.raises(ValueError, match=r"predict to be bool of shape \(2, 6\), got torch.int64"):
        model(IDS, predict=torch.ones_like(IDS))
    with pytest.raises(ValueError, match=r"predict to be bool .* of shape \(2, 5\)"):
        model(IDS, predict=torch.ones(2, 5).bool())


def test_bad_sizes_are_named(tiny_bert: Build) -> None:
    """The parts refuse what they cannot be made of."""
    with pytest.raises(ValueError, match="divisible by n_heads, got 8 and 3"):
        tiny_bert(n_heads=3)
    with pytest.raises(ValueError, match="expected n_layers >= 1, got 0"):
        tiny_bert(n_layers=0)
