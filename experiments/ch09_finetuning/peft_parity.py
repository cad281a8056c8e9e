# SPDX-License-Identifier: MIT
"""Our LoRA beside `peft`'s on the published encoder: same matrices, same batches, same numbers?"""

from typing import Any

import torch
from torch import Tensor, nn

from experiments.ch09_finetuning.methods import (
    ALPHA,
    BATCH_SIZE,
    METHODS,
    RANK,
    Plan,
    draw_labelled,
    encode,
    make_model,
    new_encoder,
    pad_id,
)
from pretrain_lab.finetuning.freezing import count_parameters, freeze_except
from pretrain_lab.finetuning.hf_heads import SentenceClassifier, collate
from pretrain_lab.finetuning.lora import lora_layers


def with_peft(ours: nn.Module) -> nn.Module:
    """Build the same classifier with `peft`'s layers, which take over our matrices A.

    `ours` has our adapters, as seed 0 makes it.
    """
    from peft import LoraConfig, inject_adapter_in_model

    torch.manual_seed(0)  # so that the head is the same
    theirs = SentenceClassifier(new_encoder(), 2)
    config = LoraConfig(
        r=RANK, lora_alpha=int(ALPHA), lora_dropout=0.0, target_modules=["query", "value"]
    )
    inject_adapter_in_model(config, theirs)
    freeze_except(theirs, ("*lora_*", "classifier.*"))
    layers: list[Any] = [m for m in theirs.modules() if hasattr(m, "lora_A")]
    with torch.no_grad():
        for mine, layer in zip(lora_layers(ours), layers, strict=True):
            layer.lora_A["default"].weight.copy_(mine.lora_a)
    return theirs


def tune(model: nn.Module, batches: list[dict[str, Tensor]], lr: float) -> tuple[Tensor, ...]:
    """Take one step on each batch, dropout off; return losses, first logits and last logits."""
    model.eval()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr)
    before, losses = model(**batches[0])["logits"].detach(), []
    for batch in batches:
        loss = model(**batch)["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses), before, model(**batches[0])["logits"].detach()


def gaps(plan: Plan, lr: float) -> dict[str, Any]:
    """Train both for some steps and compare.

    Returns largest differences of the losses and of the logits, and how far the logits moved.
    """
    ours = make_model(METHODS["lora"], 0)
    theirs = with_peft(ours)
    examples = encode(draw_labelled(BATCH_SIZE * plan.peft_steps, 0))
    starts = range(0, len(examples), BATCH_SIZE)
    batches = [collate(examples[i : i + BATCH_SIZE], pad_id()) for i in starts]
    first, second = (tune(model, batches, lr) for model in (ours, theirs))
    names = ("losses", "logits_before", "logits_after")
    return {
        "n_steps": plan.peft_steps,
        **{k: (a - b).abs().max().item() for k, a, b in zip(names, first, second, strict=True)},
        "logits_moved": (first[2] - first[1]).abs().max().item(),
        "n_trained": [count_parameters(m, trained_only=True) for m in (ours, theirs)],
    }
