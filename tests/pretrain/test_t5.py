# SPDX-License-Identifier: MIT
"""T5: what each position may see, the cache, and the same function as the published code."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import transformers
from torch import Tensor, nn
from transformers import T5ForConditionalGeneration
from transformers.models.t5.modeling_t5 import T5LayerNorm

from pretrain.objectives import IGNORE_INDEX, shift_right
from pretrain.t5 import T5, T5Config

Build = Callable[..., T5]
IDS = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]])
OUT = torch.tensor([[0, 7, 2, 8], [0, 1, 8, 2]])
REAL = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]]).bool()
TRIANGLE = torch.ones(4, 4).tril().bool()
V1_1 = {"activation": "gelu_tanh", "gated": True, "tie_head": False}
OPTIONS: list[dict[str, Any]] = [{}, V1_1, {"n_buckets": 8, "max_distance": 6, "d_head": None}]
VERSIONS = pytest.mark.parametrize("options", OPTIONS, ids=["T5", "1.1", "few buckets"])


def jacobian(model: T5, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Sum |d logits_t / d embedding_s| of the first row: (T, S) of the input, (T, T) of the output.

    Both come from the one table, so a hook hands out the given embeddings in turn.
    """
    embedded = [model.token(ids[:1]).detach() for ids in (IDS, OUT)]
    queue: list[Tensor] = []
    hook = model.token.register_forward_hook(lambda *_: queue.pop(0))

    def run(read: Tensor, written: Tensor) -> Tensor:
        """Run the model on these embeddings instead of its own."""
        queue[:] = [read, written]
        logits: Tensor = model(IDS[:1], OUT[:1], mask)[0]
        return logits

    parts = torch.autograd.functional.jacobian(run, tuple(embedded))  # (T, V, 1, S, D)
    hook.remove()
    return tuple(part.abs().sum(dim=(1, 2, 4)) for part in parts)


@VERSIONS
def test_no_peeking(tiny_t5: Build, options: dict) -> None:
    """Logit t depends on the output's tokens up to t and on all real ones of the input.

    Neither the encoder nor the cross-attention sees padding, on either side.
    """
    model = tiny_t5(**options)
    assert model.encode(IDS).shape == (2, 6, 8)
    assert model(IDS, OUT).shape == (2, 4, 11)
    for mask in (None, REAL[:1], REAL[:1].flip(1)):
        read, written = jacobian(model, mask)
        seen = torch.ones(1, 6).bool() if mask is None else mask
        assert torch.equal(read > 0, seen.expand(4, -1))
        assert torch.equal(written > 0, TRIANGLE)


@VERSIONS
def test_padding_changes_nothing(tiny_t5: Build, options: dict) -> None:
    """Positions are distances, so padding on the left is as good as none, or as on the right."""
    model = tiny_t5(**options)
    alone = model(IDS[:1, :4], OUT[:1])
    right = model(IDS, OUT, REAL)
    left = model(IDS.roll(2, dims=1), OUT, REAL.roll(2, dims=1))
    assert torch.allclose(right[:1], alone, rtol=0, atol=1e-12)
    assert torch.allclose(left[:1], alone, rtol=0, atol=1e-12)
    other = IDS.where(REAL, torch.tensor(7))
    assert torch.equal(model(other, OUT, REAL), right)
    assert torch.equal(model(IDS, OUT, REAL.long()), right)


@VERSIONS
def test_gradient_reaches_every_parameter(tiny_t5: Build, options: dict) -> None:
    """Every parameter takes part in the logits; of the tables, the buckets that occur."""
    model = tiny_t5(**options)
    F.cross_entropy(model(IDS, OUT).flatten(0, 1), OUT.flatten()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name
    if "n_buckets" not in options:  # distances -5..5, and 0..3 to the left
        tables = [stack.relative_bias.weight for stack in (model.encoder, model.decoder)]
        assert [int(table.grad.abs().sum(dim=1).ne(0).sum()) for table in tables] == [11, 4]


@torch.no_grad()
@VERSIONS
@pytest.mark.parametrize("pieces", [[1] * 4, [2, 1, 1], [1, 3], [4]], ids=str)
def test_cache_gives_the_same_logits(tiny_t5: Build, options: dict, pieces: list[int]) -> None:
    """However the output is cut, reading on with a cache equals one whole pass.

    Keys and values of the states are computed once: later calls do not look at the states.
    """
    model = tiny_t5(**options)
    states = model.encode(IDS, REAL)
    cache = model.make_cache(4, 6)
    rows = []
    for part in OUT.split(pieces, dim=1):
        rows.append(model.decode(part, states, REAL, cache=cache))
        states = torch.zeros_like(states)
    assert torch.allclose(torch.cat(rows, dim=1), model(IDS, OUT, REAL), rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="at most 4 tokens in the cache, got 5"):
        model.decode(OUT[:, :1], states, cache=cache)


def test_head_tied_and_scaled_or_untied_and_not(tiny_t5: Build) -> None:
    """Tied: the embedding matrix on states scaled by D^-0.5. Untied: one more matrix, no scale."""
    tied, untied = tiny_t5(), tiny_t5(tie_head=False)
    for model, weight, scale in (
        (tied, tied.token.weight, 8**-0.5),
        (untied, untied.head.weight, 1.0),
    ):
        states = model.decoder(model.token(OUT), memory=model.encode(IDS))
        assert torch.allclose(model(IDS, OUT), scale * states @ weight.T, rtol=0, atol=1e-12)
    counts = [sum(p.numel() for p in model.parameters()) for model in (tied, untied)]
    assert counts[1] - counts[0] == 11 * 8


def test_initial_weights_have_the_stated_spread() -> None:
    """The standard deviations of the original code; they make up for the missing 1 / sqrt(K)."""
    expected = {
        "token": 1.0, "query": (64 * 32) ** -0.5, "key": 64**-0.5, "value": 64**-0.5,
        "output": (4 * 32) ** -0.5, "up": 64**-0.5, "gate": 64**-0.5, "down": 192**-0.5,
        "head": 64**-0.5, "relative_bias": 64**-0.5,
    }  # fmt: skip
    model = T5(
        T5Config(
            500, d_model=64, n_layers=4, n_heads=4, d_head=32, d_ff=192, n_buckets=200,
            gated=True, tie_head=False,
        )
    )  # fmt: skip
    for name, parameter in model.named_parameters():
        kind = name.split(".")[-2]
        if "norm" in kind:
            assert parameter.eq(1).all(), name
        else:
            tolerance = 5 / (2 * parameter.numel()) ** 0.5
            assert parameter.std().item() == pytest.approx(expected[kind], rel=tolerance), name


def test_a_fresh_untied_model_knows_nothing() -> None:
    """At the start the loss is that of guessing, half a nat for the spread of the logits added."""
    model = T5(T5Config(50, d_model=64, n_layers=2, n_heads=4, d_ff=128, **V1_1))  # type: ignore[arg-type]
    ids = torch.randint(50, (64, 16))
    loss = F.cross_entropy(model(ids, ids).flatten(0, 1), torch.randint(50, (1024,)))
    assert loss.item() == pytest.approx(math.log(50) + 0.5, abs=0.2)


def test_dropout_acts_in_training_only_and_in_every_place(tiny_t5: Build) -> None:
    """In each block: weights, inner layer, branches; in each stack: embeddings, final states."""
    model = tiny_t5(dropout=0.2, **V1_1)
    silent = model(IDS, OUT)
    assert torch.equal(model(IDS, OUT), silent)
    for name, module in model.named_modules():
        if "dropout" in name.rsplit(".", 1)[-1]:
            assert module.p == 0.2
        elif not name.endswith("attention"):
            continue
        module.train()
        assert not torch.equal(model(IDS, OUT), silent), name
        module.eval()
    plain = tiny_t5()
    assert torch.equal(plain.train()(IDS, OUT), plain.eval()(IDS, OUT))


def test_masks_have_the_type_and_place_of_the_model(tiny_t5: Build) -> None:
    """In 16 bits, too, and on another device, here the one without numbers."""
    model = tiny_t5().to(torch.bfloat16)
    assert model(IDS, OUT).dtype == torch.bfloat16
    assert model(IDS, OUT, REAL).isfinite().all()
    assert model.to("meta")(IDS.to("meta"), OUT.to("meta")).device.type == "meta"


def published_t5(model: T5) -> T5ForConditionalGeneration:
    """Make the published model with our weights."""
    c = model.config
    config = transformers.T5Config(
        vocab_size=c.vocab_size, d_model=c.d_model, d_kv=c.d_head, d_ff=c.d_ff,
        num_layers=c.n_layers, num_heads=c.n_heads, dropout_rate=0.0,
        relative_attention_num_buckets=c.n_buckets,
        relative_attention_max_distance=c.max_distance, layer_norm_epsilon=c.norm_eps,
        feed_forward_proj="gated-gelu" if c.gated else "relu", tie_word_embeddings=c.tie_head,
    )  # fmt: skip
    theirs = T5ForConditionalGeneration(config).double().eval()  # tied, whatever the config says
    parts = {"query": "q", "key": "k", "value": "v", "output": "o"}
    names = {"attention_norm": "layer.0.layer_norm", "cross_norm": "layer.1.layer_norm"}
    for own, other in parts.items():
        names[f"attention.{own}"] = f"layer.0.SelfAttention.{other}"
        names[f"cross_attention.{own}"] = f"layer.1.EncDecAttention.{other}"
    inner = {
        "feed_forward_norm": "layer_norm",
        "feed_forward.down": "DenseReluDense.wo",
        "feed_forward.gate": "DenseReluDense.wi_0",
        "feed_forward.up": "DenseReluDense.wi_1" if c.gated else "DenseReluDense.wi",
    }
    state = {"shared.weight": model.token.weight}
    for stack_name, last in (("encoder", 1), ("decoder", 2)):
        stack = getattr(model, stack_name)
        table = f"{stack_name}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        state[table] = stack.relative_bias.weight
        state[f"{stack_name}.final_layer_norm.weight"] = stack.final_norm.weight
        for i, block in enumerate(stack.blocks):
            for own, part in block.named_modules():
                name = names.get(own) or (own in inner and f"layer.{last}.{inner[own]}")
                if name:
                    state[f"{stack_name}.block.{i}.{name}.weight"] = part.weight
    missing, unexpected = theirs.load_state_dict(state, strict=False)
    assert not unexpected
    own_names = ["decoder.embed_tokens.weight", "encoder.embed_tokens.weight", "lm_head.weight"]
    assert sorted(missing) == own_names
    theirs.tie_weights()
    if model.head is not None:
        theirs.lm_head.weight = nn.Parameter(model.head.weight.detach().clone())
    return theirs


@pytest.fixture
def float64_norm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the published norm compute in the dtype of its input, as ours does."""

    def forward(self: T5LayerNorm, x: Tensor) -> Tensor:
        """Scale to a mean square of 1."""
        return self.weight * x * (x.square().mean(-1, True) + self.variance_epsilon).rsqrt()

    monkeypatch.setattr(T5LayerNorm, "forward", forward)


PUBLISHED: list[dict[str, Any]] = [
    {},
    V1_1,
    {"n_layers": 3, "n_heads": 3, "d_head": 5, "n_buckets": 8, "max_distance": 6, "norm_eps": 0.1},
]


def relabelled(model: T5, theirs: T5ForConditionalGeneration) -> list[tuple[str, Tensor, Tensor]]:
    """Pair our parameters' gradients with theirs: the weights were copied, so values tell them."""
    pairs = []
    for name, parameter in model.named_parameters():
        same = [p for p in theirs.parameters() if torch.equal(p.detach(), parameter.detach())]
        assert len(same) == 1, name
        pairs.append((name, parameter.grad, same[0].grad))
    assert len(pairs) == len(list(theirs.parameters()))
    return pairs


@pytest.mark.usefixtures("float64_norm")
@pytest.mark.parametrize("options", PUBLISHED, ids=["T5", "1.1", "other sizes"])
@pytest.mark.parametrize(("n_read", "n_written"), [(6, 4), (150, 140)])
def test_same_logits_and_gradients_as_the_published_t5(
    tiny_t5: Build, options: dict, n_read: int, n_written: int
) -> None:
    """Logits and all gradients agree within 1e-10, with padding on both sides.

    The long texts reach far beyond the buckets that hold one distance each.
    """
    model = tiny_t5(**options)
    theirs = published_t5(model)
    ids, labels = torch.randint(11, (2, n_read)), torch.randint(11, (2, n_written))
    real = torch.arange(n_read) < torch.tensor([[n_read], [n_read - 2]])
    labels[0, -1] = IGNORE_INDEX
    decoder_ids = shift_right(labels)
    ours = model(ids, decoder_ids, real)
    published = theirs(
        input_ids=ids, attention_mask=real.long(), decoder_input_ids=decoder_ids
    ).logits
    assert ours.std() > 0.1
    assert torch.allclose(ours, published, rtol=0, atol=1e-10)
    for logits in (ours, published):
        F.cross_entropy(logits.flatten(0, 1), labels.flatten()).backward()
    for name, own, other in relabelled(model, theirs):
        assert own.abs().max() > 1e-8, name
        assert torch.allclose(own, other, rtol=0, atol=1e-10), name


def test_bad_calls_are_named(tiny_t5: Build) -> None:
    """Wrong shapes, wrong ids, and an input without tokens."""
    model = tiny_t5()
    cases: list[tuple[Tensor, Tensor, Tensor | None, str]] = [
        (IDS[0], OUT, None, r"integer ids of shape \(B, T\) with T >= 1, got .* shape \(6,\)"),
        (IDS, OUT[:, :0], None, r"integer decoder_ids of shape \(B, T\) .* shape \(2, 0\)"),
        (IDS + 5, OUT, None, r"expected ids in 0\.\.10, got 6\.\.14"),
        (IDS, OUT - 1, None, r"expected decoder_ids in 0\.\.10, got -1\.\.7"),
        (IDS, OUT[:1], None, r"states \(B, S, D\) of 1 inputs, .* got shape \(2, 6, 8\)"),
        (IDS, OUT, REAL[:, :4], r"attention_mask of shape \(2, 6\), .* got \(2, 4\)"),
        (IDS, OUT, REAL & False, r"got none in rows \[0, 1\]"),
    ]
    for ids, decoder_ids, mask, message in cases:
        with pytest.raises(ValueError, match=message):
            model(ids, decoder_ids, mask)
    states = model.encode(IDS)
    with pytest.raises(ValueError, match=r"got shape \(6, 8\)"):
        model.decode(OUT, states[0])
    with pytest.raises(ValueError, match=r"attention_mask of shape \(2, 6\), .* got \(2, 5\)"):
        model.decode(OUT, states, REAL[:, :5])


def test_bad_sizes_are_named(tiny_t5: Build) -> None:
    """Heads that D cannot be cut into, unless they have a width of their own."""
    with pytest.raises(ValueError, match="divisible by n_heads, or a d_head, got 8 and 3"):
        tiny_t5(n_heads=3, d_head=None)
    assert tiny_t5(n_heads=3, d_head=4).encode(IDS).shape == (2, 6, 8)
    for wrong, got in (
        ({"n_heads": 0, "d_head": None}, "8 and 0"),
        ({"n_heads": 0, "d_head": 4}, "8 and 0"),
        ({"n_heads": -2, "d_head": None}, "8 and -2"),
        ({"d_model": 0, "d_head": 4}, "0 and 2"),
    ):
        with pytest.raises(ValueError, match=f"d_model >= 1 and n_heads >= 1, got {got}"):
            tiny_t5(**wrong)
    with pytest.raises(ValueError, match=r"\['gelu', 'gelu_tanh', 'relu'\], got 'swish'"):
        tiny_t5(activation="swish")
