# SPDX-License-Identifier: MIT
"""What one of our classes and one family of Hugging Face checkpoints call the same things.

`pretrain_lab.hub.name_tables` fills the tables. Tensors are renamed in both directions: stacked
projections are cut or sorted by head, matrices of the other orientation transposed; nothing else
ever happens to a number.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

Names = str | tuple[str, ...]
"""Their name of one of our tensors; several names are stacked along the first axis in ours."""
Table = Mapping[str, Names]
"""Our name -> theirs. In both, {i} runs over the layers and {p} over "weight" and "bias"."""
Pairs = list[tuple[str, tuple[str, ...]]]
"""(our name, their names) of each parameter of one model."""


@dataclass(frozen=True)
class ArchitectureMap:
    """What one of our classes shares with one `model_type` of Hugging Face."""

    model_type: str
    model: type[nn.Module]
    config: type[Any]  # of that class; made of our options
    architectures: tuple[str, ...]  # whose checkpoints are read; the first is the one written
    headless: str | None  # the one of them that lacks the tensors with `head_prefix`, if ours can

    options: Mapping[str, tuple[str, Any]]  # our option -> their option and its default there
    activation: tuple[str, str]  # their option that names the non-linearity, and its default
    activations: Mapping[str, Mapping[str, Any]]  # its value -> our options; back, the first fit
    dropouts: tuple[str, ...]  # their probabilities of dropout, which are one in ours
    attention_dropout: str | None  # the one of attention weights, if ours can have it apart
    implied: Mapping[str, Any]  # our options that have one value only in this family
    fixed: Mapping[str, Any]  # their options that have one value only in ours; a missing one has it
    same: Mapping[str, str]  # their option -> ours, to which it must be equal; a missing one is
    written: Mapping[str, Any]  # further options that are written: ours know no special ids

    parameters: Table
    optional: Mapping[tuple[str, bool], Table]  # (our option, truth) -> parameters that exist then
    head_prefix: str  # before the names of the head; all others have the next prefix instead
    prefix: str = ""  # left out by classes that have nothing beside the stack; not in the tables
    transposed: tuple[str, ...] = ()  # endings of theirs that are (in, out); ours are (out, in)
    by_head: tuple[str, ...] = ()  # endings of theirs with rows (H, 3, K); ours are (3, H, K)
    assumed: Mapping[str, Any] = field(default_factory=dict)
    """What a missing option means there, where that is not what ours have."""
    dropout: float = 0.1  # what a missing probability means
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Another name under which a file may hold a tensor, too or instead -> the table's name."""
    written_aliases: tuple[str, ...] = ()  # the aliases that are written
    renamed: Mapping[str, str] = field(default_factory=dict)  # endings of old files -> today's
    constants: str = r"(?!)"  # pattern of tensors that are no parameters and made anew when needed
    left_out: str = r"(?!)"  # pattern of parameters that ours has no place for; reported when met

    inputs: Mapping[str, str] = field(default_factory=dict)  # our name of an input -> theirs
    rungs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Rung of the agreement ladder -> our module and theirs, whose outputs must be equal."""

    def pairs(self, options: Mapping[str, Any], *, with_head: bool = True) -> Pairs:
        """List (our name, their names) of a model's parameters, in the order of the tables."""
        rows = list(self.parameters.items())
        for (option, truth), table in self.optional.items():
            if bool(options[option]) is truth:
                rows += table.items()
        pairs: Pairs = []
        for ours, theirs in rows:
            names = (theirs,) if isinstance(theirs, str) else theirs
            is_head = names[0].startswith(self.head_prefix)
            if with_head or not is_head:
                prefix = "" if is_head else self.prefix
                pairs += [
                    (ours.format(**place), tuple((prefix + n).format(**place) for n in names))
                    for place in places(ours, options)
                ]
        return pairs

    def to_theirs(
        self, pairs: Pairs, tensors: Mapping[str, Tensor], *, n_heads: int
    ) -> dict[str, Tensor]:
        """Rename, cut, sort and transpose our tensors: parameters, gradients, or shapes on "meta".

        Ours may hold others beside those of `pairs`. Returns views, by their names, and copies of
        those that are sorted by head.
        """
        out = {}
        for ours, theirs in pairs:
            for name, part in zip(theirs, tensors[ours].chunk(len(theirs)), strict=True):
                if name.endswith(self.by_head):
                    part = _swap_first_axes(part, 3, n_heads)
                out[name] = part.t() if name.endswith(self.transposed) else part
        return out

    def to_ours(
        self, pairs: Pairs, tensors: Mapping[str, Tensor], *, n_heads: int
    ) -> dict[str, Tensor]:
        """Undo `to_theirs`: new tensors, by our names."""
        out = {}
        for ours, theirs in pairs:
            parts = [tensors[n].t() if n.endswith(self.transposed) else tensors[n] for n in theirs]
            whole = torch.cat(parts)
            by_head = theirs[0].endswith(self.by_head)
            out[ours] = _swap_first_axes(whole, n_heads, 3) if by_head else whole
        return out


def _swap_first_axes(x: Tensor, first: int, second: int) -> Tensor:
    """Let rows that count (first, second, ...) count (second, first, ...)."""
    return x.unflatten(0, (first, second, -1)).transpose(0, 1).flatten(0, 2)


def places(name: str, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """List what {i} and {p} stand for in a name of the tables, as arguments of `str.format`."""
    for i in range(options["n_layers"]) if "{i}" in name else [0]:
        for p in ("weight", "bias") if "{p}" in name else [""]:
            yield {"i": i, "p": p}
