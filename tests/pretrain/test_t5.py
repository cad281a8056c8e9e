# SPDX-License-Identifier: MIT
"""T5: what each position may see, the cache, and the same function as the published code."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import T5Config, T5ForConditionalGeneration
from transformers.models.t5.modeling_t5 import T5LayerNorm

from pretrain import t5 as t5_attention
from pretrain.objectives import IGNORE_INDEX, shift_right
from pretrain.t5 import T5, T5Attention, T5FeedForward, T5Stack
from pretrain_lab.hub.model_specs import T5_SIZES

Build = Callable[..., T5]
IDS = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]])
OUT = torch.tensor([[0, 7, 2, 8], [0, 1, 8, 2]])
REAL = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]]).bool()
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
def test_logits_have_one_row_per_output_token(tiny_t5: Build, options: dict) -> None:
    """(B, S) and (B, T) ids give (B, T, V) logits; the two lengths are free."""
    model = tiny_t5(**options)
    assert model(IDS, OUT).shape == (2, 4, 11)
    assert model(IDS[:, :1], OUT).isfinite().all()
    assert model.encode(IDS).shape == (2, 6, 8)
    long = torch.randint(11, (1, 300))
    assert model(long, long).shape == (1, 300, 11)


@VERSIONS
def test_no_peeking(tiny_t5: Build, options: dict) -> None:
    """Logit t depends on all of the input and on the output's tokens up to t, and only on those."""
    read, written = jacobian(tiny_t5(**options))
    assert (read > 0).all()
    assert torch.equal(written > 0, torch.ones(4, 4).tril().bool())


@VERSIONS
def test_padding_is_never_read(tiny_t5: Build, options: dict) -> None:
    """Neither the encoder nor the decoder's cross-attention sees padding, on either side."""
    model = tiny_t5(**options)
    for mask in (REAL[:1], REAL[:1].flip(1)):
        read, written = jacobian(model, mask)
        assert torch.equal(read > 0, mask.expand(4, -1))
        assert torch.equal(written > 0, torch.ones(4, 4).tril().bool())


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


def test_each_half_of_the_mask_matters(tiny_t5: Build) -> None:
    """Encoder and cross-attention hide the padding each by itself."""
    model = tiny_t5()
    states = model.encode(IDS, REAL)
    assert not torch.allclose(states[0, :4], model.encode(IDS)[0, :4])
    masked, open_ = model.decode(OUT, states, REAL), model.decode(OUT, states)
    assert not torch.allclose(masked[0], open_[0])
    assert torch.allclose(masked[1], open_[1], rtol=0, atol=1e-12)


@VERSIONS
def test_gradient_reaches_every_parameter(tiny_t5: Build, options: dict) -> None:
    """Every parameter takes part in the logits; of the tables, the buckets that occur."""
    model = tiny_t5(**options)
    F.cross_entropy(model(IDS, OUT).flatten(0, 1), OUT.flatten()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name
    met = {"encoder": model.encoder, "decoder": model.decoder}
    used = {
        k: v.relative_bias.weight.grad.abs().sum(dim=1).ne(0).sum().item() for k, v in met.items()
    }
    if options.get("n_buckets") is None:
        assert used == {"encoder": 11, "decoder": 4}  # distances -5..5, and 0..3 to the left


@VERSIONS
def test_every_layer_adds_the_one_table(tiny_t5: Build, options: dict) -> None:
    """Each self-attention adds the stack's table to its scores; cross-attention adds none."""
    model = tiny_t5(**options)
    biases: dict[str, list[Tensor | None]] = {"attention": [], "cross_attention": []}
    for block in model.decoder.blocks:
        for kind, found in biases.items():
            part = block.get_submodule(kind)
            part.register_forward_hook(lambda _, args, out, found=found: found.append(args[3]))
    model(IDS, OUT)
    assert biases["cross_attention"] == [None, None]
    first, second = biases["attention"]
    assert first is second
    table = model.decoder.relative_bias.weight
    assert first[0, 3, 1] == table[2, 0]  # head 0: two to the left
    assert first[1, 2, 2] == table[0, 1]  # head 1: itself
    assert first[0, 1, 2] == -torch.inf
    both_sides = model.encoder.relative_bias(3, 3)
    half = len(model.encoder.relative_bias.weight) // 2
    assert both_sides[0, 0, 1] == model.encoder.relative_bias.weight[half + 1, 0]
    assert both_sides[0, 1, 0] == model.encoder.relative_bias.weight[1, 0]


def test_the_relative_bias_is_a_parameter_of_the_stack(tiny_t5: Build) -> None:
    """One table in the encoder and one in the decoder, whatever the number of layers."""
    for n_layers in (1, 3):
        names = dict(tiny_t5(n_layers=n_layers).named_parameters())
        tables = [name for name in names if "relative" in name]
        assert tables == ["encoder.relative_bias.weight", "decoder.relative_bias.weight"]
        assert names[tables[0]].shape == (32, 2)


def test_norms_only_scale(tiny_t5: Build) -> None:
    """No mean is subtracted and nothing is added: (3, 4, 0 ...) keeps its zeros and its signs."""
    norm = tiny_t5().encoder.final_norm
    nn.init.constant_(norm.weight, 2.0)
    x = torch.zeros(8, dtype=torch.float64)
    x[:2] = torch.tensor([3.0, -4.0])
    by_hand = 2 * x / (25 / 8 + 1e-6) ** 0.5
    assert torch.allclose(norm(x), by_hand, rtol=0, atol=1e-12)
    assert not [n for n, _ in tiny_t5().named_parameters() if n.endswith("bias")]


@VERSIONS
@pytest.mark.parametrize("pieces", [[1] * 4, [2, 1, 1], [1, 3], [4]], ids=str)
def test_cache_gives_the_same_logits(tiny_t5: Build, options: dict, pieces: list[int]) -> None:
    """However the output is cut, reading on with a cache equals one whole pass."""
    model = tiny_t5(**options)
    states = model.encode(IDS, REAL)
    cache = model.make_cache(4)
    rows = [model.decode(part, states, REAL, cache=cache) for part in OUT.split(pieces, dim=1)]
    assert torch.allclose(torch.cat(rows, dim=1), model(IDS, OUT, REAL), rtol=0, atol=1e-12)


def test_the_cache_keeps_the_sources_keys(tiny_t5: Build) -> None:
    """Keys and values of the states are computed once; later calls do not look at the states."""
    model = tiny_t5()
    states = model.encode(IDS)
    cache = model.make_cache(4)
    model.decode(OUT[:, :2], states, cache=cache)
    rest = model.decode(OUT[:, 2:], torch.zeros_like(states), cache=cache)
    assert torch.allclose(rest, model(IDS, OUT)[:, 2:], rtol=0, atol=1e-12)
    keys, values = cache[0].source
    assert keys.shape == values.shape == (2, 2, 6, 3)
    with pytest.raises(ValueError, match="at most 4 tokens in the cache, got 5"):
        model.decode(OUT[:, :1], states, cache=cache)


def test_head_tied_and_scaled_or_untied_and_not(tiny_t5: Build) -> None:
    """Tied: the embedding matrix on states scaled by D^-0.5. Untied: one more matrix, no scale."""
    tied, untied = tiny_t5(), tiny_t5(tie_head=False)
    for model, weight, scale in (
        (tied, tied.token.weight, 8**-0.5),
        (untied, untied.head.weight, 1.0),
    ):
        states = model.decoder(model.token(OUT), source=model.encode(IDS))
        assert torch.allclose(model(IDS, OUT), scale * states @ weight.T, rtol=0, atol=1e-12)
    counts = [sum(p.numel() for p in model.parameters()) for model in (tied, untied)]
    assert counts[1] - counts[0] == 11 * 8


def test_initial_weights_have_the_stated_spread() -> None:
    """The standard deviations of the original code; they make up for the missing 1 / sqrt(K)."""
    sizes = {"d_model": 64, "n_layers": 4, "n_heads": 4, "d_head": 32, "d_ff": 192}
    expected = {
        "token": 1.0, "query": (64 * 32) ** -0.5, "key": 64**-0.5, "value": 64**-0.5,
        "output": (4 * 32) ** -0.5, "up": 64**-0.5, "gate": 64**-0.5, "down": 192**-0.5,
        "head": 64**-0.5, "relative_bias": 64**-0.5,
    }  # fmt: skip
    model = T5(500, **sizes, n_buckets=200, gated=True, tie_head=False)  # type: ignore[arg-type]
    for name, parameter in model.named_parameters():
        kind = name.split(".")[-2]
        if "norm" in kind:
            assert parameter.eq(1).all(), name
        else:
            tolerance = 5 / (2 * parameter.numel()) ** 0.5
            assert parameter.std().item() == pytest.approx(expected[kind], rel=tolerance), name


def test_a_fresh_untied_model_knows_nothing() -> None:
    """At the start the loss is that of guessing, half a nat for the spread of the logits added."""
    sizes = {"d_model": 64, "n_layers": 2, "n_heads": 4, "d_ff": 128}
    model = T5(50, **sizes, **V1_1)  # type: ignore[arg-type]
    ids = torch.randint(50, (64, 16))
    loss = F.cross_entropy(model(ids, ids).flatten(0, 1), torch.randint(50, (1024,)))
    assert loss.item() == pytest.approx(torch.tensor(50.0).log().item() + 0.5, abs=0.2)


def test_dropout_acts_in_training_only_and_in_every_place(tiny_t5: Build) -> None:
    """In each block: weights, inner layer, branches; in each stack: embeddings, final states."""
    model = tiny_t5(dropout_prob=0.2, **V1_1)
    assert torch.equal(model(IDS, OUT), model(IDS, OUT))
    ran: list[str] = []
    for name, module in model.named_modules():
        if name.endswith("dropout"):
            assert module.prob == 0.2
            module.register_forward_hook(lambda *_, name=name: ran.append(name))
    model.train()
    assert not torch.equal(model(IDS, OUT), model(IDS, OUT))
    once = ran[: len(ran) // 2]
    assert once.count("encoder.dropout") == once.count("decoder.dropout") == 2
    assert once.count("encoder.blocks.0.dropout") == 2
    assert once.count("decoder.blocks.1.dropout") == 3
    for name in ("attention", "cross_attention", "feed_forward"):
        assert once.count(f"decoder.blocks.1.{name}.dropout") == 1


def test_options_that_are_not_named(tiny_t5: Build) -> None:
    """The published form: plain ReLU layers, 32 buckets up to 128, a tied head, no dropout."""
    model = T5(11, d_model=8, n_layers=1, n_heads=2)
    assert model.options == {
        "vocab_size": 11, "d_model": 8, "n_layers": 1, "n_heads": 2, "d_head": None, "d_ff": None,
        "dropout_prob": 0.0, "norm_eps": 1e-6, "n_buckets": 32, "max_distance": 128,
        "activation": "relu", "gated": False, "tie_head": True,
    }  # fmt: skip
    assert model.encoder.blocks[0].feed_forward.up.weight.shape == (32, 8)
    assert T5Attention(8, 2, 3).dropout.prob == 0.0
    assert T5FeedForward(8, 20, activation="relu", gated=True).dropout.prob == 0.0


def test_options_reach_every_norm_and_both_tables(tiny_t5: Build) -> None:
    """One epsilon for all norms; both stacks share sizes of buckets, and look to other sides."""
    model = tiny_t5(norm_eps=0.25, n_buckets=6, max_distance=9)
    norms = [module for module in model.modules() if isinstance(module, nn.RMSNorm)]
    assert len(norms) == 2 * 2 + 2 * 3 + 2
    assert {norm.eps for norm in norms} == {0.25}
    assert (model.encoder.is_decoder, model.decoder.is_decoder) == (False, True)
    for stack, both_sides in ((model.encoder, True), (model.decoder, False)):
        assert stack.relative_bias.buckets == {
            "bidirectional": both_sides, "n_buckets": 6, "max_distance": 9
        }  # fmt: skip


def test_the_smallest_model() -> None:
    """One of everything; a mask and a cache work all the same."""
    one = torch.zeros(1, 1, dtype=torch.int64)
    model = T5(1, d_model=1, n_layers=1, n_heads=1, d_head=1, d_ff=1)
    assert model(one, one).shape == (1, 1, 1)
    states = model.encode(one, one + 1)
    assert torch.equal(
        model.decode(one, states, one + 1, cache=model.make_cache(1)), model(one, one, one + 1)
    )


def test_masks_have_the_type_of_the_model(tiny_t5: Build) -> None:
    """In 16 bits, too, where a mask of 32 bits would not fit."""
    model = tiny_t5().to(torch.bfloat16)
    assert model(IDS, OUT).dtype == torch.bfloat16
    assert model(IDS, OUT, REAL).isfinite().all()


def test_masks_and_distances_are_made_where_the_model_is(
    tiny_t5: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On another device nothing comes from the processor, here the device without numbers."""
    model = tiny_t5().to("meta")
    assert model(IDS.to("meta"), OUT.to("meta")).device.type == "meta"
    seen: list[str] = []
    bucket = t5_attention.relative_position_bucket

    def note(distance: Tensor, **options: Any) -> Tensor:
        """Note where the distances are."""
        seen.append(distance.device.type)
        return bucket(distance, **options)

    monkeypatch.setattr(t5_attention, "relative_position_bucket", note)
    model.encoder.relative_bias(2, 3)
    assert seen == ["meta"]


def test_a_stack_of_its_own() -> None:
    """An encoder's stack hides padding from itself, a decoder's from what it reads alone."""
    sizes: dict[str, Any] = {
        "n_buckets": 8, "max_distance": 16, "activation": "relu", "gated": False,
        "norm_eps": 1e-6, "dropout_prob": 0.0,
    }  # fmt: skip
    x = torch.randn(1, 3, 8)
    mask = torch.tensor([[True, True, False]])
    encoder = T5Stack(8, 1, 2, 4, 16, is_decoder=False, **sizes)
    changed = x.clone()
    changed[:, 2] += 1
    assert torch.equal(encoder(x, mask)[:, :2], encoder(changed, mask)[:, :2])
    assert not torch.equal(encoder(x)[:, :2], encoder(changed)[:, :2])
    decoder = T5Stack(8, 1, 2, 4, 16, is_decoder=True, **sizes)
    assert torch.equal(decoder(x[:, :1], mask), decoder(x[:, :1]))


def test_options_rebuild_the_model(tiny_t5: Build) -> None:
    """What a model was made with is kept as plain values."""
    model = tiny_t5(**V1_1, norm_eps=1e-3, max_distance=20)
    twin = T5(**model.options).double()
    twin.load_state_dict(model.state_dict())
    assert torch.equal(twin.eval()(IDS, OUT), model(IDS, OUT))


def test_one_batch_is_learned_by_heart() -> None:
    """Sixty steps of Adam bring the loss of one batch from above 2 nats to below 0.01."""
    model = T5(11, d_model=32, n_layers=2, n_heads=4, d_ff=64)
    labels = torch.cat([OUT[:, 1:], torch.tensor([[1], [1]])], dim=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(60):
        loss = F.cross_entropy(model(IDS, shift_right(labels)).flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] > 2
    assert losses[-1] < 0.01


def published_t5(model: T5) -> T5ForConditionalGeneration:
    """Make the published model with our weights."""
    o = model.options
    names = {
        "attention.query": "layer.0.SelfAttention.q", "attention.key": "layer.0.SelfAttention.k",
        "attention.value": "layer.0.SelfAttention.v", "attention.output": "layer.0.SelfAttention.o",
        "attention_norm": "layer.0.layer_norm", "cross_norm": "layer.1.layer_norm",
        "cross_attention.query": "layer.1.EncDecAttention.q",
        "cross_attention.key": "layer.1.EncDecAttention.k",
        "cross_attention.value": "layer.1.EncDecAttention.v",
        "cross_attention.output": "layer.1.EncDecAttention.o",
    }  # fmt: skip
    config = T5Config(
        vocab_size=o["vocab_size"], d_model=o["d_model"], d_kv=o["d_head"], d_ff=o["d_ff"],
        num_layers=o["n_layers"], num_heads=o["n_heads"], dropout_rate=0.0,
        relative_attention_num_buckets=o["n_buckets"],
        relative_attention_max_distance=o["max_distance"], layer_norm_epsilon=o["norm_eps"],
        feed_forward_proj="gated-gelu" if o["gated"] else "relu",
        tie_word_embeddings=o["tie_head"],
    )  # fmt: skip
    theirs = T5ForConditionalGeneration(config).double().eval()  # tied, whatever the config says
    state = {"shared.weight": model.token.weight}
    for stack_name in ("encoder", "decoder"):
        stack = getattr(model, stack_name)
        last = 2 if stack_name == "decoder" else 1
        inner = {"feed_forward_norm": "layer_norm", "feed_forward.down": "DenseReluDense.wo"}
        if o["gated"]:
            inner["feed_forward.gate"] = "DenseReluDense.wi_0"
            inner["feed_forward.up"] = "DenseReluDense.wi_1"
        else:
            inner["feed_forward.up"] = "DenseReluDense.wi"
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
def test_same_logits_and_gradients_as_the_published_t5(tiny_t5: Build, options: dict) -> None:
    """Logits, loss and all gradients agree within 1e-10, with padding on both sides."""
    model = tiny_t5(**options)
    theirs = published_t5(model)
    labels = OUT.clone()
    labels[0, 3] = IGNORE_INDEX
    decoder_ids = shift_right(labels)
    ours = model(IDS, decoder_ids, REAL)
    published = theirs(
        input_ids=IDS, attention_mask=REAL.long(), decoder_input_ids=decoder_ids
    ).logits
    assert ours.std() > 0.1
    assert torch.allclose(ours, published, rtol=0, atol=1e-10)
    for logits in (ours, published):
        F.cross_entropy(logits.flatten(0, 1), labels.flatten()).backward()
    for name, own, other in relabelled(model, theirs):
        assert own.abs().max() > 1e-8, name
        assert torch.allclose(own, other, rtol=0, atol=1e-10), name


@pytest.mark.usefixtures("float64_norm")
@pytest.mark.parametrize("options", PUBLISHED, ids=["T5", "1.1", "other sizes"])
def test_every_layer_equals_the_published_one(tiny_t5: Build, options: dict) -> None:
    """The states after each block of both stacks agree, far beyond the exact buckets."""
    model = tiny_t5(**options)
    theirs = published_t5(model)
    ours: list[Tensor] = []
    published: list[Tensor] = []
    for stack in ("encoder", "decoder"):
        for block in getattr(model, stack).blocks:
            block.register_forward_hook(lambda *args: ours.append(args[2]))
        for block in getattr(theirs, stack).block:
            block.register_forward_hook(lambda *args: published.append(args[2][0]))
    ids, out = torch.randint(11, (2, 150)), torch.randint(11, (2, 140))
    with torch.no_grad():
        model(ids, out)
        theirs(input_ids=ids, decoder_input_ids=out)
    assert len(ours) == 2 * model.options["n_layers"]
    for own, other in zip(ours, published, strict=True):
        assert torch.allclose(own, other, rtol=0, atol=1e-10)


def test_the_published_norm_as_it_is(tiny_t5: Build) -> None:
    """Without the patch its float32 part leaves a relative difference below 1e-5."""
    model = tiny_t5()
    theirs = published_t5(model)
    with torch.no_grad():
        ours = model(IDS, OUT)
        published = theirs(input_ids=IDS, decoder_input_ids=OUT).logits
    assert not torch.equal(ours, published)
    assert ((ours - published).abs().max() / ours.abs().max()).item() < 1e-5


COUNTS = {
    "t5-small": 60_506_624,
    "t5-base": 222_903_552,
    "t5-large": 737_668_096,
    "t5-3b": 2_851_598_336,
    "t5-11b": 11_307_321_344,
    "t5-v1_1-small": 76_961_152,
    "t5-v1_1-base": 247_577_856,
    "t5-v1_1-large": 783_150_080,
    "t5-v1_1-xl": 2_849_757_184,
    "t5-v1_1-xxl": 11_135_332_352,
}


@pytest.mark.parametrize(("name", "count"), COUNTS.items(), ids=COUNTS)
def test_published_sizes(name: str, count: int) -> None:
    """Built on the meta device, which stores no numbers, each has the published count."""
    with torch.device("meta"):
        model = T5(32_128, **T5_SIZES[name])
    assert sum(p.numel() for p in model.parameters()) == count


def test_all_published_sizes_are_counted() -> None:
    """No size without its count."""
    assert list(T5_SIZES) == list(COUNTS)


def test_shift_right_starts_with_padding() -> None:
    """The label at t - 1 stands at t; ignored ones become padding; the labels stay as they were."""
    labels = torch.tensor([[5, 6, 7], [8, IGNORE_INDEX, IGNORE_INDEX]])
    before = labels.clone()
    assert shift_right(labels).tolist() == [[0, 5, 6], [0, 8, 0]]
    assert shift_right(labels, pad_id=9).tolist() == [[9, 5, 6], [9, 8, 9]]
    assert shift_right(labels[0]).tolist() == [0, 5, 6]
    assert torch.equal(labels, before)
    assert shift_right(labels[0, :1]).tolist() == [0]
    with pytest.raises(ValueError, match=r"labels \(\.\.\., T\) with T >= 1, got shape \(2, 0\)"):
        shift_right(labels[:, :0])
    with pytest.raises(ValueError, match=r"labels \(\.\.\., T\) with T >= 1, got shape \(\)"):
        shift_right(labels[0, 0])


def test_bad_calls_are_named(tiny_t5: Build) -> None:
    """Wrong shapes, wrong ids, and an input without tokens."""
    model = tiny_t5()
    cases: list[tuple[Tensor, Tensor, Tensor | None, str]] = [
        (IDS[0], OUT, None, r"integer ids of shape \(B, T\) with T >= 1, got .* shape \(6,\)"),
        (IDS, OUT[:, :0], None, r"integer decoder_ids of shape \(B, T\) .* shape \(2, 0\)"),
        (IDS, OUT.double(), None, "integer decoder_ids .* got torch.float64"),
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


def test_bad_sizes_are_named() -> None:
    """What nothing can be made of is refused."""
    sizes = {"d_model": 8, "n_layers": 2, "n_heads": 2}
    for change, message in [
        ({"n_layers": 0}, "expected sizes >= 1, got .*'n_layers': 0"),
        ({"d_ff": -1}, "expected sizes >= 1, got .*'d_ff': -1"),
        ({"n_heads": 3}, "divisible by n_heads, or a d_head, got 8 and 3"),
        ({"activation": "swish"}, r"\['gelu', 'gelu_tanh', 'relu'\], got 'swish'"),
        ({"n_buckets": 3}, "expected n_buckets >= 4 .* got 3 and 128"),
        ({"max_distance": 8}, "max_distance > 8, got 32 and 8"),
        ({"dropout_prob": 1.0}, r"dropout probability in \[0, 1\), got 1.0"),
    ]:
        with pytest.raises(ValueError, match=message):
            T5(11, **{**sizes, **change})
    with pytest.raises(ValueError, match=r"expected sizes >= 1, got {'vocab_size': 0"):
        T5(0, **sizes)
    assert T5(11, **{**sizes, "n_heads": 3, "d_head": 4}).encode(IDS).shape == (2, 6, 8)
