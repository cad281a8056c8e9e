# SPDX-License-Identifier: MIT
"""GPT: causal, cached, tied, and the same function as the published implementation."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel

from pretrain import gpt
from pretrain.dropout import Dropout
from pretrain.gpt import GPT
from pretrain.masks import causal_mask

Build = Callable[..., GPT]
IDS = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]])
OPTIONS: list[dict[str, object]] = [
    {},
    {"norm": "post"},
    {"positions": "sinusoidal"},
    {"activation": "relu", "tie_head": False},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_logits_have_one_row_per_token(tiny_gpt: Build, options: dict[str, object]) -> None:
    """(B, T) ids give (B, T, V) logits."""
    logits = tiny_gpt(**options)(IDS)
    assert logits.shape == (2, 6, 11)
    assert logits.isfinite().all()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_no_peeking(
    tiny_gpt: Build,
    influence: Callable[[nn.Module, Tensor], Tensor],
    options: dict[str, object],
) -> None:
    """d logits_t / d embedding_s is exactly zero for s > t and nowhere else."""
    moved = influence(tiny_gpt(**options), IDS[:1])
    assert torch.equal(moved > 0, torch.ones(6, 6).tril().bool())


def test_a_future_token_never_changes_an_earlier_logit(tiny_gpt: Build) -> None:
    """The same fact by hand: another token at 3 leaves rows 0..2 as they were, bit by bit."""
    model = tiny_gpt()
    changed = IDS.clone()
    changed[:, 3] = 0
    before, after = model(IDS), model(changed)
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.isclose(before[:, 3:], after[:, 3:]).all(dim=-1).any()


def test_right_padding_never_changes_a_real_position(tiny_gpt: Build) -> None:
    """Neither what stands in the padding nor that there is some matters."""
    model = tiny_gpt()
    real = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]]).bool()
    other = IDS.where(real, torch.tensor(7))
    assert torch.equal(model(IDS, real)[real], model(other, real)[real])
    alone = model(IDS[:1, :4])
    assert torch.allclose(model(IDS, real)[:1, :4], alone, rtol=0, atol=1e-12)
    assert torch.allclose(model(IDS, real)[1], model(IDS)[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("prefix_len", range(7))
def test_a_prefix_is_seen_from_both_sides(tiny_gpt: Build, prefix_len: int) -> None:
    """Logit t depends on the whole prefix, and beyond it on the tokens up to t."""
    model = tiny_gpt()
    embedded = model.embeddings(IDS[:1]).detach()
    given: list[Tensor] = []
    model.embeddings.register_forward_hook(lambda *_: given[0])

    def run(x: Tensor) -> Tensor:
        """Run the model on these embeddings, with the prefix."""
        given[:] = [x]
        logits: Tensor = model(IDS[:1], prefix_lens=torch.tensor([prefix_len]))[0]
        return logits

    moved = torch.autograd.functional.jacobian(run, embedded).abs().sum(dim=(1, 2, 4))
    expected = torch.ones(6, 6).tril().bool()
    expected[:, :prefix_len] = True
    assert torch.equal(moved > 0, expected)


def test_prefixes_go_with_padding_and_cache(tiny_gpt: Build) -> None:
    """Each sequence has its own prefix; padding stays hidden; a cache may begin with a prefix."""
    model = tiny_gpt()
    real = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]]).bool()
    lens = torch.tensor([3, 2])
    both = model(IDS, real, prefix_lens=lens)
    alone = model(IDS[:1, :4], prefix_lens=lens[:1])
    assert torch.allclose(both[:1, :4], alone, rtol=0, atol=1e-12)
    assert torch.allclose(both[1:], model(IDS[1:], prefix_lens=lens[1:]), rtol=0, atol=1e-12)
    cache = model.make_cache()
    first = model(IDS[:, :4], prefix_lens=lens, cache=cache)
    rows = torch.cat([first, model(IDS[:, 4:], cache=cache)], dim=1)
    assert torch.allclose(rows, model(IDS, prefix_lens=lens), rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match=r"shape \(2,\) at the first call, got \(2,\) after 6"):
        model(IDS, prefix_lens=lens, cache=cache)
    with pytest.raises(ValueError, match=r"shape \(2,\) at the first call, got \(1,\) after 0"):
        model(IDS, prefix_lens=lens[:1])
    with pytest.raises(ValueError, match=r"prefix_lens must be in 0\.\.6, got \[7, 0\]"):
        model(IDS, prefix_lens=torch.tensor([7, 0]))


def test_an_integer_attention_mask_means_the_same(tiny_gpt: Build) -> None:
    """1 and True are the same mask."""
    real = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]])
    model = tiny_gpt()
    assert torch.equal(model(IDS, real), model(IDS, real.bool()))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_gradient_reaches_every_parameter(options: dict[str, object]) -> None:
    """Every parameter takes part in the logits, key biases aside, which softmax cancels."""
    model = GPT(11, d_model=8, n_layers=2, n_heads=2, max_len=6, **options)  # type: ignore[arg-type]
    nn.functional.cross_entropy(model(IDS).flatten(0, 1), IDS.flatten()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("pieces", [[1] * 6, [4, 1, 1], [2, 3, 1], [6]], ids=str)
def test_cache_gives_the_same_logits(tiny_gpt: Build, pieces: list[int]) -> None:
    """However the sequence is cut, reading on with a cache equals one whole pass."""
    for options in OPTIONS:
        model = tiny_gpt(**options)
        cache = model.make_cache()
        rows = [model(piece, cache=cache) for piece in IDS.split(pieces, dim=1)]
        assert torch.allclose(torch.cat(rows, dim=1), model(IDS), rtol=0, atol=1e-12)


def test_the_head_is_the_embedding_matrix() -> None:
    """Tied: one matrix less. Untied: a matrix of its own without bias."""
    sizes = {"d_model": 8, "n_layers": 1, "n_heads": 2, "max_len": 6}
    tied, untied = GPT(11, **sizes), GPT(11, **sizes, tie_head=False)
    states = tied.hidden(IDS)
    assert torch.allclose(tied(IDS), states @ tied.embeddings.token.weight.T, atol=1e-6)
    counts = [sum(p.numel() for p in model.parameters()) for model in (tied, untied)]
    assert counts[1] - counts[0] == 11 * 8


def test_a_fresh_model_knows_nothing() -> None:
    """At the start the loss is that of guessing among all tokens."""
    model = GPT(50, d_model=32, n_layers=2, n_heads=4, max_len=16)
    ids = torch.randint(50, (8, 16))
    loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), torch.randint(50, (128,)))
    assert loss.item() == pytest.approx(torch.tensor(50.0).log().item(), abs=0.05)


def test_dropout_acts_in_training_only(tiny_gpt: Build) -> None:
    """Evaluation is deterministic."""
    model = tiny_gpt(dropout_prob=0.2)
    assert torch.equal(model(IDS), model(IDS))
    model.train()
    assert not torch.equal(model(IDS), model(IDS))


def test_options_rebuild_the_model(tiny_gpt: Build) -> None:
    """What a model was made with is kept as plain values."""
    model = tiny_gpt(norm="post", d_ff=24)
    twin = GPT(**model.options).double()
    twin.load_state_dict(model.state_dict())
    assert torch.equal(twin.eval()(IDS), model(IDS))


def test_options_that_are_not_named() -> None:
    """GPT-2's form: a norm before each branch and at the end, a tied head, no dropout."""
    model = GPT(11, d_model=8, n_layers=1, n_heads=2, max_len=6)
    assert model.options == {
        "vocab_size": 11, "d_model": 8, "n_layers": 1, "n_heads": 2, "max_len": 6, "d_ff": None,
        "dropout_prob": 0.0, "norm": "pre", "norm_eps": 1e-5, "positions": "learned",
        "activation": "gelu", "tie_head": True, "init_std": 0.02,
    }  # fmt: skip
    assert model.blocks[0].feed_forward.up.weight.shape == (32, 8)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_options_reach_every_part(tiny_gpt: Build, norm: str) -> None:
    """One epsilon in all norms, one probability in all dropouts; one std draws the weights."""
    model = tiny_gpt(norm=norm, norm_eps=0.25, dropout_prob=0.3)
    parts = list(model.modules())
    assert {part.eps for part in parts if isinstance(part, nn.LayerNorm)} == {0.25}
    assert {part.prob for part in parts if isinstance(part, Dropout)} == {0.3}
    wide = GPT(300, d_model=64, n_layers=2, n_heads=4, max_len=64, norm=norm, init_std=0.5)
    assert wide.embeddings.token.weight.std().item() == pytest.approx(0.5, rel=0.06)
    assert wide.blocks[1].feed_forward.down.weight.std().item() == pytest.approx(0.25, rel=0.06)
    assert isinstance(model.final_norm, nn.LayerNorm) == (norm == "pre")
    names = [set(tiny_gpt(positions=kind).state_dict()) for kind in ("learned", "sinusoidal")]
    assert names[0] - names[1] == {"embeddings.position.weight"}


def test_one_token_and_one_block(tiny_gpt: Build) -> None:
    """A cache of one block will do; padding alone is refused in a sequence of one token, too."""
    model = tiny_gpt(n_layers=1)
    cache = model.make_cache()
    rows = [model(piece, cache=cache) for piece in IDS.split(1, dim=1)]
    assert torch.allclose(torch.cat(rows, dim=1), model(IDS), rtol=0, atol=1e-12)
    assert torch.equal(model(IDS[:, :1], torch.ones(2, 1)), model(IDS[:, :1]))
    with pytest.raises(ValueError, match=r"got none in rows \[1\]"):
        model(IDS[:, :1], torch.tensor([[1], [0]]))


def test_a_mask_is_made_where_the_model_is(
    tiny_gpt: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On another device the triangle does not come from the processor."""
    seen: list[str] = []

    def note(seq_len: int, **options: object) -> Tensor:
        """Make the mask and note where it is."""
        mask = causal_mask(seq_len, **options)  # type: ignore[arg-type]
        seen.append(mask.device.type)
        return mask

    monkeypatch.setattr(gpt, "causal_mask", note)
    assert tiny_gpt().to("meta")(IDS.to("meta")).device.type == "meta"
    assert seen == ["meta"]


def published_gpt2(model: GPT, activation: str) -> GPT2LMHeadModel:
    """Make the published model with our weights; its linear layers store them transposed."""
    o = model.options
    config = GPT2Config(
        vocab_size=o["vocab_size"], n_positions=o["max_len"], n_embd=o["d_model"],
        n_layer=o["n_layers"], n_head=o["n_heads"], n_inner=o["d_ff"],
        activation_function=activation, layer_norm_epsilon=o["norm_eps"],
        attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    theirs = GPT2LMHeadModel(config).double().eval()
    state = {
        "transformer.wte.weight": model.embeddings.token.weight,
        "transformer.wpe.weight": model.embeddings.position.weight,
        "lm_head.weight": model.embeddings.token.weight,
    }
    names = {
        "ln_1": "attention_norm", "attn.c_attn": "attention.qkv", "attn.c_proj": "attention.output",
        "ln_2": "feed_forward_norm", "mlp.c_fc": "feed_forward.up", "mlp.c_proj":
        "feed_forward.down",
    }  # fmt: skip
    for i, block in enumerate(model.blocks):
        for name, own in names.items():
            part = block.get_submodule(own)
            prefix = f"transformer.h.{i}.{name}"
            state[f"{prefix}.weight"] = part.weight.t()
            state[f"{prefix}.bias"] = part.bias
    for kind in ("weight", "bias"):
        state[f"transformer.ln_f.{kind}"] = getattr(model.final_norm, kind)
    theirs.load_state_dict(state)
    return theirs


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("ours", "theirs"), [("gelu", "gelu"), ("gelu_tanh", "gelu_new")])
def test_same_logits_as_the_published_gpt2(
    tiny_gpt: Build, ours: str, theirs: str, seed: int
) -> None:
    """On a tiny random configuration both implementations compute the same logits."""
    torch.manual_seed(seed)
    n_heads = 2 + 2 * seed
    model = tiny_gpt(activation=ours, d_ff=20, n_heads=n_heads, norm_eps=10.0 ** -(3 + seed))
    published = published_gpt2(model, theirs)
    real = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]])
    with torch.no_grad():
        assert torch.allclose(model(IDS), published(IDS).logits, rtol=0, atol=1e-10)
        padded = published(IDS, attention_mask=real).logits
        assert torch.allclose(model(IDS, real)[real > 0], padded[real > 0], rtol=0, atol=1e-10)


def test_bad_calls_are_named(tiny_gpt: Build) -> None:
    """Wrong masks, wrong lengths and a mask together with a cache."""
    model = tiny_gpt()
    with pytest.raises(ValueError, match=r"attention_mask of shape \(2, 6\), .* got \(6,\)"):
        model(IDS, torch.ones(6))
    with pytest.raises(ValueError, match="at most max_len = 12 tokens, got 18"):
        model(IDS.repeat(1, 3))
    with pytest.raises(ValueError, match=r"got none in rows \[1\]"):
        model(IDS, torch.tensor([[1] * 6, [0] * 6]))
    for n_read in (0, 3):
        cache = model.make_cache()
        if n_read:
            model(IDS[:, :n_read], cache=cache)
        with pytest.raises(ValueError, match="expected no attention_mask together with a"):
            model(IDS[:, n_read:], torch.ones(2, 6 - n_read), cache=cache)


def test_bad_sizes_are_named(tiny_gpt: Build) -> None:
    """The parts refuse what they cannot be made of."""
    with pytest.raises(ValueError, match="divisible by n_heads, got 8 and 3"):
        tiny_gpt(n_heads=3)
    with pytest.raises(ValueError, match="expected n_layers >= 1, got 0"):
        tiny_gpt(n_layers=0)
    with pytest.raises(ValueError, match="expected norm 'pre' or 'post', got 'rms'"):
        tiny_gpt(norm="rms")
