# SPDX-License-Identifier: MIT
"""Which heads keep to a stated relation: search, fresh texts, permutations, untrained twins.

Rows of equal length are cut from plays: the head is chosen on validation plays and judged on test
plays. Induction is asked on random tokens that repeat, where only copying can predict.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Generator, Tensor

from experiments.ch10_feature_lab.readers import Reader, load_reader, untrained
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.interpretability.attention_heads import (
    Rows,
    head_scores,
    relation_mask,
    repeated_rows,
    search_heads,
)
from pretrain_lab.interpretability.hidden_states import hidden_states_and_attentions

RELATIONS = ("previous", "next", "first", "last", "same", "mark", "heading")
HALF_LEN = 24
N_ABLATIONS = 20


def marked_lines(reader: Reader, split: str) -> tuple[list[int], list[bool]]:
    """Encode the plays of a split line by line; return ids, and which belong to a heading."""
    ids: list[int] = []
    flags: list[bool] = []
    for play in load_shakespeare(split):
        for speech in play.speeches:
            for line, heading in ((f"{speech.speaker}:\n", True), (f"{speech.text}\n\n", False)):
                new = reader.encode(line)
                ids += new
                flags += [heading] * len(new)
    return ids, flags


def cut_rows(reader: Reader, split: str, n_rows: int, seq_len: int) -> Rows:
    """Draw rows of seq_len tokens from the plays of a split, special tokens included."""
    ids, flags = marked_lines(reader, split)
    room = seq_len - len(reader.opening) - len(reader.closing)
    generator = Generator().manual_seed(5)
    starts = torch.randint(len(ids) - room, (n_rows,), generator=generator).tolist()
    rows = [[*reader.opening, *ids[s : s + room], *reader.closing] for s in starts]
    outer = [False] * len(reader.opening), [False] * len(reader.closing)
    headings = [[*outer[0], *flags[s : s + room], *outer[1]] for s in starts]
    tensor = torch.tensor(rows)
    marks = {i for mark in ".,;:?!" for text in (mark, f" {mark}", f"{mark}\n")
             for i in reader.encode(text)[:1]}  # fmt: skip
    is_mark = torch.isin(tensor, torch.tensor(sorted(marks)))
    return Rows(tensor, is_mark, torch.tensor(headings))


def maps_of(model: Any, rows: Rows) -> Tensor:
    """Compute all attention weights, float (N, B, H, T, T)."""
    return torch.stack(hidden_states_and_attentions(model, rows.ids)[1])


def search_model(name: str, n_rows: int, seq_len: int, n_draws: int) -> dict[str, Any]:
    """Search one model and its untrained twin for every relation that it can have.

    Returns relation -> result, with the twin's best head and its score.
    """
    reader = load_reader(name)
    seq_len = min(seq_len, reader.max_len)
    rows = [cut_rows(reader, split, n_rows, seq_len) for split in ("validation", "test")]
    trained = [maps_of(reader.model, part) for part in rows]
    fresh = untrained(reader.model)
    twin = [maps_of(fresh, part) for part in rows]
    result: dict[str, Any] = {}
    for relation in RELATIONS:
        if (relation == "next" and reader.causal) or (relation == "last" and not reader.closing):
            continue
        found = [
            search_heads(
                relation, (rows[0], maps[0]), (rows[1], maps[1]), causal=reader.causal,
                generator=Generator().manual_seed(6), n_draws=n,
            )
            for maps, n in ((trained, n_draws), (twin, 1))
        ]  # fmt: skip
        mask = relation_mask(relation, rows[1], causal=reader.causal)
        all_scores = head_scores(trained[1], mask)
        result[relation] = {
            **found[0]._asdict(),
            "untrained": found[1].score,
            "mean_of_heads": float(all_scores.mean()),
            "n_queries": int(mask.any(dim=-1).sum()),
        }
    shape = {"n_layers": len(trained[0]), "n_heads": trained[0].shape[2]}
    return {**shape, "n_rows": n_rows, "seq_len": seq_len, "relations": result}


def halves_loss(logits: Tensor, ids: Tensor) -> list[float]:
    """Return the mean loss (nats) over predictions of the first and of the second copy.

    `logits` are float (B, T, V); `ids` are int64 (B, T), second half = first half. The first token
    of each copy is not counted: nothing announces the beginning of the second one.
    """
    log_probs = logits[:, :-1].float().log_softmax(dim=-1)
    losses = -log_probs.gather(-1, ids[:, 1:, None])[..., 0]
    half = ids.shape[1] // 2
    return [float(losses[:, : half - 1].mean()), float(losses[:, half:].mean())]


def induction(name: str, n_rows: int, n_draws: int) -> dict[str, Any]:
    """Search one of the book's GPTs for an induction head, and see whether it copies at all."""
    reader = load_reader(name)
    generator = Generator().manual_seed(7)
    first_id = 6 if name == "plays_gpt" else 2
    last_id = reader.model.config.vocab_size - (64 if name == "plays_gpt" else 0)
    rows = [
        repeated_rows(range(first_id, last_id), n_rows, HALF_LEN, generator=generator)
        for _ in range(2)
    ]
    result: dict[str, Any] = {}
    for kind, model in (("trained", reader.model), ("untrained", untrained(reader.model))):
        maps = [maps_of(model, part) for part in rows]
        found = search_heads(
            "induction", (rows[0], maps[0]), (rows[1], maps[1]), causal=True,
            generator=Generator().manual_seed(8), n_draws=n_draws,
        )  # fmt: skip
        with torch.inference_mode():
            losses = halves_loss(model(rows[1].ids), rows[1].ids)
        result[kind] = {**found._asdict(), "losses": losses}
    return {**result, "uniform": math.log(last_id - first_id), "half_len": HALF_LEN}


class Muted:
    """Switch heads of SmolLM2 off: their part of the input of the output matrix becomes zero."""

    def __init__(self, model: Any, heads: list[tuple[int, int]], d_head: int) -> None:
        """Attach to the layers of the heads, given as (layer, head) from 0."""
        self.hooks = []
        for layer in {layer for layer, _ in heads}:
            which = [head for found, head in heads if found == layer]
            matrix = model.model.layers[layer].self_attn.o_proj
            self.hooks.append(matrix.register_forward_pre_hook(self._mute(which, d_head)))

    @staticmethod
    def _mute(which: list[int], d_head: int) -> Callable[..., Any]:
        """Make the hook of one layer."""

        def hook(module: Any, inputs: tuple[Tensor]) -> tuple[Tensor]:
            """Put zeros where the heads have written."""
            mixed = inputs[0].clone()
            for head in which:
                mixed[..., head * d_head : (head + 1) * d_head] = 0
            return (mixed,)

        return hook

    def remove(self) -> None:
        """Switch the heads on again."""
        for hook in self.hooks:
            hook.remove()


def others_of_layers(
    heads: list[tuple[int, int]], n_heads: int, generator: Generator
) -> list[tuple[int, int]]:
    """Draw as many other heads from each layer, so that only the choice of the head differs."""
    drawn = []
    for layer in sorted({layer for layer, _ in heads}):
        taken = [head for found, head in heads if found == layer]
        free = [head for head in range(n_heads) if head not in taken]
        order = torch.randperm(len(free), generator=generator)[: len(taken)].tolist()
        drawn += [(layer, free[i]) for i in order]
    return drawn


def induction_of_smollm2(n_rows: int, n_draws: int, n_muted: int = 10) -> dict[str, Any]:
    """Search a published decoder for induction heads, then switch the best ones off."""
    reader = load_reader("smollm2")
    model = reader.model
    model.set_attn_implementation("eager")  # the only one that gives weights
    generator = Generator().manual_seed(7)
    rows = [
        repeated_rows(range(100, 49_000), n_rows, HALF_LEN, generator=generator) for _ in range(2)
    ]
    maps = []
    with torch.inference_mode():
        for part in rows:
            weights = model.model(part.ids, output_attentions=True).attentions
            maps.append(torch.stack(weights))
    found = search_heads(
        "induction", (rows[0], maps[0]), (rows[1], maps[1]), causal=True,
        generator=Generator().manual_seed(8), n_draws=n_draws,
    )  # fmt: skip
    mask = relation_mask("induction", rows[0], causal=True)
    scores = head_scores(maps[0], mask)
    n_heads = scores.shape[1]
    best = [divmod(int(i), n_heads) for i in scores.flatten().topk(n_muted).indices]
    d_head = model.config.hidden_size // n_heads

    def losses_without(heads: list[tuple[int, int]]) -> list[float]:
        """Measure both halves with some heads switched off."""
        muted = Muted(model, heads, d_head)
        with torch.inference_mode():
            losses = halves_loss(model(rows[1].ids).logits, rows[1].ids)
        muted.remove()
        return losses

    drawn = [others_of_layers(best, n_heads, generator) for _ in range(N_ABLATIONS)]
    return {
        "trained": {**found._asdict(), "losses": losses_without([])},
        "uniform": math.log(49_000 - 100), "half_len": HALF_LEN, "n_muted": n_muted,
        "above_half": int((scores > 0.5).sum()), "n_all": scores.numel(),
        "best_heads": [[layer + 1, head + 1] for layer, head in best],
        "without_best": losses_without(best),
        "without_others": [losses_without(heads) for heads in drawn],
    }  # fmt: skip
