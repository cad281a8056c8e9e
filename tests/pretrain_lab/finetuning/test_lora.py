# SPDX-License-Identifier: MIT
"""LoRA by hand, against `peft` on the same weights, merged, and swapped."""

from typing import Any

import pytest
import torch
from torch import Generator, Tensor, nn

from pretrain.bert import BERT, BERTConfig
from pretrain.generation import Sampling, generate
from pretrain_lab.finetuning.freezing import (
    count_parameters,
    freeze_except,
    swapped_weights,
    trained_state,
)
from pretrain_lab.finetuning.lora import (
    ADAPTERS,
    LoRALinear,
    add_lora,
    lora_layers,
    merge_lora,
    set_merged,
)

IDS = torch.tensor([[2, 7, 8, 9, 3, 0], [2, 5, 6, 3, 0, 0], [2, 4, 4, 8, 9, 3]])
LABELS = torch.tensor([0, 1, 1])
TRAINED = (*ADAPTERS, "classifier.*")
old_name = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated")
"""`peft` asks `transformers` for an attribute by its old name."""


def published() -> Any:
    """Build a tiny classifier of `transformers`, always with the same weights."""
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=11, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=12, initializer_range=0.3,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    return BertForSequenceClassification(config).eval()


def with_ours(rank: int = 3, alpha: float = 6.0, seed: int = 0) -> Any:
    """Give it our adapters on queries and values, and open the head."""
    model = published()
    generator = Generator().manual_seed(seed)
    add_lora(model, ("query", "value"), rank=rank, alpha=alpha, generator=generator)
    freeze_except(model, TRAINED)
    return model


def with_peft(ours: Any, rank: int = 3, alpha: float = 6.0) -> Any:
    """Give it `peft`'s adapters with the same matrices as ours."""
    from peft import LoraConfig, TaskType, get_peft_model

    config = LoraConfig(
        task_type=TaskType.SEQ_CLS, r=rank, lora_alpha=alpha, lora_dropout=0.0,
        target_modules=["query", "value"],
    )  # fmt: skip
    model = get_peft_model(published(), config).eval()
    theirs = [m for m in model.modules() if hasattr(m, "lora_A") and "default" in m.lora_A]
    for layer, our_layer in zip(theirs, lora_layers(ours), strict=True):
        layer.lora_A["default"].weight.data.copy_(our_layer.lora_a)
        layer.lora_B["default"].weight.data.copy_(our_layer.lora_b)
    return model


def logits_of(model: Any) -> Tensor:
    """Read the three sentences, with their padding masked."""
    result: Tensor = model(input_ids=IDS, attention_mask=IDS != 0).logits
    return result


def tune(model: Any, n_steps: int) -> list[float]:
    """Take some steps of AdamW on what is trained."""
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer, losses = torch.optim.AdamW(trained, lr=1e-2), []
    for _ in range(n_steps):
        loss = nn.functional.cross_entropy(logits_of(model), LABELS)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_the_equation_by_hand() -> None:
    """(1, 2) through W0 = identity, A = (1, 1), B = (1, 0)', alpha / r = 2 gives (1 + 2 * 3, 2)."""
    base = nn.Linear(2, 2, bias=False)
    generator = Generator().manual_seed(0)
    layer = LoRALinear(base, rank=1, alpha=2.0, dropout=0.0, generator=generator)
    with torch.no_grad():
        base.weight.copy_(torch.eye(2))
        layer.lora_a.copy_(torch.tensor([[1.0, 1.0]]))
        layer.lora_b.copy_(torch.tensor([[1.0], [0.0]]))
    assert layer(torch.tensor([1.0, 2.0])).tolist() == [7.0, 2.0]
    layer.set_merged(False)  # it is not: nothing is taken out
    assert torch.equal(base.weight, torch.eye(2))
    layer.set_merged(True)
    assert base.weight.tolist() == [[3.0, 2.0], [0.0, 1.0]]
    assert layer(torch.tensor([1.0, 2.0])).tolist() == [7.0, 2.0]


def test_training_begins_at_the_pretrained_model() -> None:
    """B = 0, so the logits are those of the model without adapters, to the last bit."""
    with torch.no_grad():
        assert torch.equal(logits_of(with_ours()), logits_of(published()))


@old_name
def test_same_gradients_and_same_steps_as_peft() -> None:
    """Same matrices: same gradients of A, B and head; same losses and logits after 8 steps."""
    ours = with_ours()
    with torch.no_grad():
        for layer in lora_layers(ours):  # else the gradient of A would be 0 at the first step
            layer.lora_b.normal_(std=0.2, generator=Generator().manual_seed(5))
    theirs = with_peft(ours)
    for model in (ours, theirs):
        nn.functional.cross_entropy(logits_of(model), LABELS).backward()
    gradients = [
        [p.grad for p in model.parameters() if p.grad is not None] for model in (ours, theirs)
    ]
    assert len(gradients[0]) == len(gradients[1]) == 2 * 2 * 2 + 2
    for mine, his in zip(*gradients, strict=True):
        assert mine.abs().max() > 1e-4
        torch.testing.assert_close(mine, his, rtol=0, atol=1e-6)
    losses = [tune(model, 8) for model in (ours, theirs)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    assert losses[0][-1] < 0.8 * losses[0][0]
    with torch.no_grad():
        gap = (logits_of(ours) - logits_of(theirs)).abs().max()
        moved = (logits_of(ours) - logits_of(published())).abs().max()
    assert gap <= 1e-5 < 0.1 < moved


@old_name
def test_same_count_as_peft() -> None:
    """r (in + out) for each layer, and the head, in both."""
    ours = with_ours()
    n_adapters = 2 * 2 * 3 * (16 + 16)
    assert count_parameters(ours, trained_only=True) == n_adapters + 2 * 16 + 2
    assert with_peft(ours).get_nb_trainable_parameters()[0] == n_adapters + 2 * 16 + 2


def test_merged_and_back() -> None:
    """Merging changes the weights and not the logits; taking out restores both."""
    model = with_ours()
    tune(model, 5)
    weights = [layer.base.weight.clone() for layer in lora_layers(model)]
    with torch.no_grad():
        before = logits_of(model)
        set_merged(model, True)
        set_merged(model, True)  # merging what is merged does nothing
        merged = logits_of(model)
        changed = [layer.base.weight.clone() for layer in lora_layers(model)]
        set_merged(model, False)
        after = logits_of(model)
    for old, new in zip(weights, changed, strict=True):
        assert (old - new).abs().max() > 1e-3
    torch.testing.assert_close(merged, before, rtol=0, atol=1e-5)
    torch.testing.assert_close(after, before, rtol=0, atol=1e-5)
    for old, layer in zip(weights, lora_layers(model), strict=True):
        torch.testing.assert_close(layer.base.weight, old, rtol=0, atol=1e-6)


def test_the_backbone_stays_and_adapters_swap() -> None:
    """Two trainings leave the frozen weights as they were; each adapter brings its own logits."""
    model = with_ours()
    backbone = {n: p.clone() for n, p in model.named_parameters() if not p.requires_grad}
    start = trained_state(model)
    assert all("lora_" in name or name.startswith("classifier") for name in start)
    tune(model, 3)
    first, first_logits = trained_state(model), logits_of(model).detach()
    tune(model, 10)
    with torch.no_grad():
        second_logits = logits_of(model)
        with swapped_weights(model, first):
            assert torch.equal(logits_of(model), first_logits)
        with swapped_weights(model, start):
            assert torch.equal(logits_of(model), logits_of(published()))
        assert torch.equal(logits_of(model), second_logits)
    frozen = {n: p for n, p in model.named_parameters() if not p.requires_grad}
    assert all(torch.equal(p, backbone[n]) for n, p in frozen.items())


def test_dropout_acts_on_the_adapter_alone() -> None:
    """With B = 0 dropping changes nothing; with B drawn it does, and only in training."""
    base = nn.Linear(6, 4)
    generator = Generator().manual_seed(0)
    layer = LoRALinear(base, rank=2, alpha=2.0, dropout=0.5, generator=generator)
    x = torch.randn(5, 6, generator=generator)
    assert torch.equal(layer(x), base(x))
    nn.init.normal_(layer.lora_b, generator=generator)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))
    for options, prob in (({}, 0.0), ({"dropout": 0.3}, 0.3)):
        model = BERT(BERTConfig(11, d_model=8, n_layers=1, n_heads=2, max_len=12))
        add_lora(model, ("qkv",), rank=1, alpha=1.0, generator=generator, **options)
        assert [layer.dropout.p for layer in lora_layers(model)] == [prob]


def test_our_own_models_take_adapters_too() -> None:
    """The same seed draws the same matrices, in any model with linear layers."""
    drawn = []
    for _ in range(2):
        model = BERT(BERTConfig(11, d_model=8, n_layers=2, n_heads=2, max_len=12))
        generator = Generator().manual_seed(4)
        names = add_lora(model, ("qkv",), rank=2, alpha=2.0, generator=generator)
        assert names == ["blocks.0.attention.qkv", "blocks.1.attention.qkv"]
        drawn.append([layer.lora_a for layer in lora_layers(model)])
    assert all(torch.equal(a, b) for a, b in zip(*drawn, strict=True))
    bound = 1 / 8**0.5  # as for the weights of torch's linear layers
    assert 0.5 * bound < max(a.abs().max() for a in drawn[0]) <= bound


def test_a_gpt_with_adapters_writes_what_its_forward_pass_says(tiny_gpt: Any) -> None:
    """The step of `generate` goes through the adapters, not through the layers below them."""
    model = tiny_gpt()
    generator = Generator().manual_seed(0)
    add_lora(model, ("qkv", "up"), rank=2, alpha=8.0, generator=generator)
    for layer in lora_layers(model):
        nn.init.normal_(layer.lora_b, std=0.5)
    ids = IDS[:1, :3]
    for _ in range(6):
        ids = torch.cat([ids, model(ids)[:, -1:].argmax(dim=-1)], dim=1)
    assert torch.equal(generate(model, IDS[:1, :3], 6, Sampling(greedy=True)), ids)


def test_bad_requests_are_refused() -> None:
    """A rank below 1, and names that no linear layer has."""
    with pytest.raises(ValueError, match="rank >= 1, got 0"):
        with_ours(rank=0)
    with pytest.raises(ValueError, match=r"no layer is called \['querry'\]"):
        add_lora(published(), ("querry", "value"), rank=1, alpha=1, generator=Generator())
    with pytest.raises(ValueError, match=r"no layer is called"):
        add_lora(nn.ReLU(), (), rank=1, alpha=1, generator=Generator())
    model = with_ours()
    with pytest.raises(ValueError, match=r"no layer is called \['query'\]"):
        add_lora(model, ("query",), rank=1, alpha=1, generator=Generator())


def test_adapters_alone_are_trained_at_first() -> None:
    """What was there before is frozen, the head as well, until `freeze_except` opens it."""
    model = published()
    add_lora(model, ("query",), rank=2, alpha=4, generator=Generator())
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    assert trained == {name for name, _ in model.named_parameters() if ".lora_" in name}


def test_a_starts_like_a_linear_layer_of_torch() -> None:
    """Uniform between plus and minus 1 / sqrt(n_in): no number beyond, and some close to it."""
    layer = LoRALinear(nn.Linear(400, 2), rank=50, alpha=1, dropout=0.0, generator=Generator())
    bound = 400**-0.5
    assert 0.999 * bound < layer.lora_a.abs().max() <= bound
    assert layer.lora_a.std().item() == pytest.approx(bound / 3**0.5, rel=0.02)


@torch.no_grad()
def test_merging_for_good_leaves_plain_layers() -> None:
    """The names and shapes of the untouched model, the answers of the adapted one."""
    model = with_ours()
    for layer in lora_layers(model):
        layer.lora_b.normal_()
    expected = model(IDS).logits
    names = merge_lora(model)
    assert len(names) == 4
    assert not any(lora_layers(model))
    shapes = {name: value.shape for name, value in published().state_dict().items()}
    assert {name: value.shape for name, value in model.state_dict().items()} == shapes
    assert all(parameter.requires_grad for parameter in model.parameters())
    torch.testing.assert_close(model(IDS).logits, expected)
    assert merge_lora(model) == []
