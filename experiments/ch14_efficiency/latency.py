# SPDX-License-Identifier: MIT
"""Bytes, processor time and memory of the models, side by side.

Every way reads the same ids once in each turn, and each time is divided by that of the full model
in the same turn. Weights are MiniLM's, not fine-tuned, since neither bytes nor time depend on that.
"""

import copy
import pickle
import statistics
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import save
from torch import Generator, Tensor, nn
from torch.profiler import ProfilerActivity, profile

from experiments.ch14_efficiency.smaller_models import (
    KEPT,
    ZEROS,
    Plan,
    classifier,
    cut,
    drawn_like,
    words_model,
)
from pretrain_lab.compression.pruning import zero_smallest
from pretrain_lab.compression.quantization import quantize_layers

SHAPES = {"one": (1, 32), "many": (32, 32)}
"""Texts, and tokens of each."""
STEP = (16, 48)
"""Texts and tokens of the training step whose memory is followed, as in chapter 9."""


def settings(plan: Plan) -> dict[str, Any]:
    """Return what the record states."""
    return {"shapes": SHAPES, "n_turns": plan.n_turns, "step": STEP}


class SparseLinear(nn.Module):
    """A linear layer that stores only the weights that are not zero, row by row."""

    def __init__(self, layer: nn.Linear) -> None:
        """Compress the matrix of a layer."""
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch calls these tensors a beta
            self.weight = layer.weight.detach().to_sparse_csr()
        self.bias = layer.bias.detach()

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, T, in) to (B, T, out)."""
        rows = x.flatten(end_dim=-2)
        return (self.weight @ rows.t()).t().unflatten(0, x.shape[:-1]) + self.bias

    @property
    def bytes(self) -> int:
        """Bytes of values and places, with four bytes a place."""
        return 4 * (2 * len(self.weight.values()) + len(self.weight.crow_indices()))


def sparse(model: nn.Module) -> nn.Module:
    """Replace the linear layers of the blocks by sparse ones, in place."""
    for name, child in model.named_children():
        if isinstance(child, nn.Linear) and child.out_features > 2:
            setattr(model, name, SparseLinear(child))
        else:
            sparse(child)
    return model


def make_models(blocks: list[int]) -> dict[str, Any]:
    """Build every way; "teacher" is what the others are divided by."""
    full = classifier(0).eval()
    scores = {
        "heads": [torch.zeros(12) for _ in range(6)], "neurons": [torch.zeros(1536)] * 6
    }  # fmt: skip
    student = classifier(0, blocks).eval()
    found: dict[str, Any] = {
        "teacher": full,
        "int8 weights": quantize_layers(copy.deepcopy(full)),
        "int8": quantize_layers(copy.deepcopy(full), round_inputs=True),
        **{f"zeros {s}": zero_smallest(copy.deepcopy(full), s) for s in ZEROS},
        **{f"cut {s}": cut(full, drawn_like(scores, 0), s) for s in KEPT},
        "student": student,
        "student, int8": quantize_layers(copy.deepcopy(student), round_inputs=True),
    }
    for share in ZEROS:
        found[f"zeros {share}, sparse"] = sparse(copy.deepcopy(found[f"zeros {share}"]))
    return {name: model.eval() for name, model in found.items()}


def file_bytes(model: nn.Module) -> int:
    """Return the size of the file of a model's weights, sparse matrices in rows."""
    layers = [module for module in model.modules() if isinstance(module, SparseLinear)]
    biases = sum(4 * len(layer.bias) for layer in layers)
    tensors = {name: value.contiguous().clone() for name, value in model.state_dict().items()}
    return len(save(tensors)) + biases + sum(layer.bytes for layer in layers)


def measure(plan: Plan, blocks: list[int]) -> dict[str, Any]:
    """Weigh and time every way; `blocks` are the student's.

    Returns:
        Bytes by way, parameters that are left, and for one text and for many the multiples of the
        full model's time: median and ends of the middle half.
    """
    models = make_models(blocks)
    words, known = words_model(), plan.sentences.of("train")
    words.fit([r.sentence for r in known[:256]], [r.label for r in known[:256]])
    times: dict[str, Any] = {}
    for shape, (n, n_tokens) in SHAPES.items():
        ids = torch.randint(1000, 20_000, (n, n_tokens), generator=Generator().manual_seed(0))
        texts = [review.sentence for review in known[:n]]
        ways: dict[str, Callable[[], Any]] = {
            **{name: partial(model, ids) for name, model in models.items()},
            "words": partial(words.predict, texts),
        }
        times[shape] = in_turns(ways, plan.n_turns)
    return {
        **settings(plan),
        "bytes": {
            **{name: file_bytes(model) for name, model in models.items()},
            "words": len(pickle.dumps(words)),
        },
        "multiples": times,
    }


def in_turns(ways: dict[str, Callable[[], Any]], n_turns: int) -> dict[str, dict[str, float]]:
    """Time all ways once in each turn, in multiples of the first; the first turn warms up."""
    turns = [{name: seconds(way) for name, way in ways.items()} for _ in range(1 + n_turns)]
    base, found = next(iter(ways)), {}
    for name in ways:
        low, middle, high = statistics.quantiles([t[name] / t[base] for t in turns[1:]], n=4)
        found[name] = {"median": middle, "low": low, "high": high}
    return found


def memory() -> dict[str, Any]:
    """Follow one training step of the full model, without dropout, as chapter 14 counts by hand.

    Returns:
        Weights; bytes that the forward pass keeps; most bytes that were added at any time of a step
        to what was there before it, by torch's profiler; texts and tokens of the batch.
    """
    model = classifier(0).eval()
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=1e-5, foreach=False)
    generator = Generator().manual_seed(0)
    ids = torch.randint(1000, 20_000, STEP, generator=generator)
    labels = torch.randint(2, STEP[:1], generator=generator)
    own = {p.untyped_storage().data_ptr() for p in parameters}
    kept: dict[int, Any] = {}

    def keep(tensor: Tensor) -> Tensor:
        """Note a tensor's memory once, unless it is a weight's."""
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = F.cross_entropy(model(ids), labels)
    saved = sum(storage.nbytes() for storage in kept.values())
    kept.clear()
    loss.backward()
    optimizer.step()  # so that the running means are there before the step that counts
    optimizer.zero_grad()
    del loss
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as found:
        F.cross_entropy(model(ids), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
    return {
        "n_weights": sum(p.numel() for p in parameters), "saved": saved, "peak": highest(found),
        "n_texts": STEP[0], "n_tokens": STEP[1],
    }  # fmt: skip


def highest(found: Any) -> int:
    """Return the most bytes that were held at once, from a profile's list of allocations."""
    events = [e for e in found.profiler.kineto_results.events() if e.name() == "[memory]"]
    held = most = 0
    for event in sorted(events, key=lambda e: int(e.start_ns())):
        held += event.nbytes()
        most = max(most, held)
    return most


def seconds(way: Callable[[], Any]) -> float:
    """Return the processor time of a call, without gradients."""
    started = time.process_time()
    with torch.inference_mode():
        way()
    return time.process_time() - started
