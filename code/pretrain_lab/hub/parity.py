# SPDX-License-Identifier: MIT
"""How far our model is from another implementation, from its layers to one training step.

The agreement ladder: two models with the same weights read the same batch, and what they compute is
compared number by number. `pretrain_lab.hub.weights` copies the weights.
"""

import copy
from collections.abc import Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pretrain.objectives import IGNORE_INDEX
from pretrain.training import OptimConfig, make_optimizer
from pretrain_lab.hub.config import family_of
from pretrain_lab.hub.conversion import ArchitectureMap, places


def parity_ladder(
    model: Any, peer: nn.Module, labels: Tensor, *, lr: float = 1e-3, **inputs: Tensor
) -> dict[str, float]:
    """Measure the largest difference between our model and Hugging Face's, rung by rung.

    Both are copied, and run without dropout. The loss is the mean cross-entropy of the logits in
    their own precision (the `labels=` of `transformers` casts to float32). Padding is not
    compared: nobody reads what a model says there.

    Args:
        model: A BERT, GPT or T5 of this book.
        peer: The `transformers` model with a head and the same weights. Its BERT never trains the
            input vector of `pad_token_id`, so real tokens should be others.
        labels: int64 (B, T), the token that each position should predict; -100 = none.
        lr: Learning rate of the AdamW step, whose other settings are those of `fit`.
        **inputs: What `model` is called with, by name: ids and, where there is any,
            attention_mask, segment_ids, decoder_ids.

    Returns:
        Rung -> largest absolute difference over all layers, real positions and numbers, in
        this order: "attention layers", "blocks", "logits", "loss", "gradients",
        "parameters after one step".

    Raises:
        ValueError: The model is not ours.
    """
    family = family_of(model)
    ours, theirs = copy.deepcopy(model).eval(), copy.deepcopy(peer).eval()
    real = inputs.get("attention_mask", torch.ones_like(inputs["ids"])).bool()
    seen, seen_theirs = _watch(family, ours, theirs, real)
    logits = ours(**inputs)
    output = theirs(**{family.inputs[name]: value for name, value in inputs.items()})
    logits_theirs = output["logits" if "logits" in output else "prediction_logits"]
    gaps = {rung: _gap(outputs, seen_theirs[rung]) for rung, outputs in seen.items()}
    if "decoder_ids" in inputs:
        real = torch.ones_like(inputs["decoder_ids"]).bool()  # the output has no mask
    gaps["logits"] = _gap([logits[real]], [logits_theirs[real]])
    losses = [_loss(logits, labels), _loss(logits_theirs, labels)]
    gaps["loss"] = _gap(losses[:1], losses[1:])

    parameters = dict(ours.named_parameters(remove_duplicate=False))
    parameters_theirs = dict(theirs.named_parameters(remove_duplicate=False))
    pairs = family.pairs(vars(ours.config))
    optimizers = [make_optimizer(each, OptimConfig(lr=lr)) for each in (ours, theirs)]
    for loss in losses:
        torch.autograd.backward(loss)
    n_heads = ours.config.n_heads
    grads = {name: _grad(p) for name, p in parameters.items()}
    renamed = family.to_theirs(pairs, grads, n_heads=n_heads)
    gaps["gradients"] = _gap(renamed.values(), [_grad(parameters_theirs[n]) for n in renamed])
    for optimizer in optimizers:
        optimizer.step()
    renamed = family.to_theirs(pairs, parameters, n_heads=n_heads)
    gaps["parameters after one step"] = _gap(
        renamed.values(), [parameters_theirs[n] for n in renamed]
    )
    return gaps


def _watch(
    family: ArchitectureMap, ours: Any, theirs: nn.Module, real: Tensor
) -> tuple[dict[str, list[Tensor]], ...]:
    """Collect the outputs of the modules on each rung while the two models run."""
    seen: tuple[dict[str, list[Tensor]], ...] = ({}, {})
    base = getattr(theirs, family.prefix.rstrip("."), theirs) if family.prefix else theirs

    def watch(module: nn.Module, outputs: list[Tensor], keep: Tensor | None) -> None:
        """Append the first output of a module, without padding, whenever it runs."""

        def append(module: nn.Module, args: Any, out: Any) -> None:
            """Be called by torch after the module."""
            states = out[0] if isinstance(out, tuple) else out
            outputs.append(states if keep is None else states[keep])

        module.register_forward_hook(append)

    for rung, modules in family.rungs.items():
        for names in modules.items():
            for place in places(names[0], vars(ours.config)):
                for model, name, lists in zip((ours, base), names, seen, strict=True):
                    module = model.get_submodule(name.format(**place))
                    keep = None if name.startswith("decoder.") else real
                    watch(module, lists.setdefault(rung, []), keep)
    return seen


def _gap(ours: Iterable[Tensor], theirs: Iterable[Tensor]) -> float:
    """Find the largest absolute difference between tensors in the same order, or NaN if any is."""
    pairs = zip(ours, theirs, strict=True)
    return float(torch.stack([(a.detach() - b.detach()).abs().max() for a, b in pairs]).max())


def _grad(parameter: Tensor) -> Tensor:
    """Give the gradient of a parameter; where nothing flowed, it is zero."""
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad


def _loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Average the cross-entropy over the positions that have a label."""
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE_INDEX)
