# SPDX-License-Identifier: MIT
"""Published weights in our models, and ours in a form that Hugging Face's `transformers` reads.

Papers: Devlin et al. 2019 (arXiv:1810.04805); Radford et al. 2019 (GPT-2); Raffel et al. 2020
(arXiv:1910.10683).

Weights come from safetensors alone. Options, names and shapes are checked before the first number
is taken, so a model is loaded whole or not at all. `transformers` is never imported. Left out:
quantised weights, heads of other tasks, the pooler of BERT (reported).
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pretrain_lab.hub.config import family_of, read_config, write_config
from pretrain_lab.hub.conversion import ArchitectureMap, Pairs
from pretrain_lab.hub.files import check_names, find_folder, read_json, read_tensors, write_folder
from pretrain_lab.run_state import CheckpointError


class NoHead(nn.Module):
    """Stands where a checkpoint without masked-LM head leaves nothing to put."""

    def forward(self, x: Tensor, embedding_weight: Tensor) -> Tensor:
        """Refuse to score x (..., D): random logits would look like an answer."""
        raise RuntimeError(
            "expected a masked-LM head, but this checkpoint has none: "
            "use model.encode, or put a new MaskedLMHead in model.head and train it"
        )


def from_pretrained(
    path_or_id: str | Path,
    *,
    dropout: float | None = None,
    report: Callable[[str], None] = print,
) -> Any:
    """Build our model with the weights of a Hugging Face checkpoint.

    The BERT, GPT or T5 is in evaluation mode, on the CPU. A BERT checkpoint without masked-LM head
    gives a model whose `encode` works and whose head is `NoHead`. Half precision becomes float32,
    which holds it exactly; float64 stays.

    Args:
        path_or_id: A folder with config.json and model.safetensors (or its shards and their
            index), or the id of a repository on huggingface.co, which is then downloaded.
        dropout: Probability of dropout in training; None = the checkpoint's.
        report: Told in one line, if at all, which tensors our class has no place for.

    Raises:
        FileNotFoundError: No such folder.
        CheckpointError: The hub cannot be reached; a file is missing or damaged; a tensor is
            missing, unexpected, of another shape or no floating-point number.
        ValueError: The configuration asks for something that our classes do not have.

    Source: Devlin et al. 2019 (arXiv:1810.04805); Radford et al. 2019 (GPT-2); Raffel et al. 2020
        (arXiv:1910.10683).
    """
    folder = find_folder(path_or_id)
    config = read_json(folder / "config.json")
    family, options = read_config(config, dropout=dropout)
    found = _canonical(family, read_tensors(folder))
    with_head = _has_head(family, config, found)
    with torch.device("meta"):  # names and shapes without numbers: nothing is drawn
        model = family.model(family.config(**options))
    if not with_head:
        model.head = NoHead()
    pairs = family.pairs(options, with_head=with_head)
    if config.get("tie_word_embeddings", True) and not options["tie_head"]:
        _share_head(family, pairs, model, found)
    extra = _check(family, family.to_theirs(pairs, model.state_dict()), found, folder)
    _fill(model, family.to_ours(pairs, found))
    if extra:
        name = family.model.__name__
        report(f"not loaded, for our {name} has no place for them: {', '.join(extra)}")
    return model.eval()


def to_huggingface(
    model: Any, folder: str | Path | None = None
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Express one of our models in Hugging Face's names, and write it if a folder is given.

    A BERT without segments becomes one with a single segment, whose vector is zero. A BERT whose
    head is `NoHead` becomes a BertModel without pooler (`add_pooling_layer=False` there). Returns
    the configuration and copies of the tensors; a folder gets config.json and model.safetensors.

    Raises:
        ValueError: Hugging Face's class has no such model; the message names option and value.
    """
    family, with_head = family_of(model), not isinstance(getattr(model, "head", None), NoHead)
    config = write_config(model, with_head=with_head)
    pairs = family.pairs(vars(model.config), with_head=with_head)
    state = family.to_theirs(pairs, model.state_dict())
    if vars(model.config).get("n_segments") == 0:
        words = state["bert.embeddings.word_embeddings.weight"]
        state["bert.embeddings.token_type_embeddings.weight"] = torch.zeros_like(words[:1])
    if with_head:
        state |= {alias: state[family.aliases[alias]] for alias in family.written_aliases}
    prefix = "" if with_head else family.prefix
    state = {
        name.removeprefix(prefix): tensor.clone(memory_format=torch.contiguous_format)
        for name, tensor in state.items()
    }
    config["dtype"] = str(next(iter(state.values())).dtype).removeprefix("torch.")
    if folder is not None:
        write_folder(Path(folder), config, state)
    return config, state


def _canonical(family: ArchitectureMap, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Bring the tensors to the names of the tables: a prefix, no old endings, no constants."""
    bare = not any(name.startswith(family.prefix) for name in tensors)
    found = {}
    for name, tensor in tensors.items():
        full = family.prefix + name if bare and not name.startswith(family.head_prefix) else name
        for old, new in family.renamed.items():
            full = full.removesuffix(old) + new if full.endswith(old) else full
        if not re.fullmatch(family.constants, full):
            found[full] = tensor
    return found


def _has_head(
    family: ArchitectureMap, config: Mapping[str, Any], found: Mapping[str, Tensor]
) -> bool:
    """Expect the head unless it is absent from both the weights and the named architecture."""
    named = any(name != family.headless for name in config.get("architectures") or [])
    own = {name for name in found if not re.fullmatch(family.left_out, name)}
    present = any(name.startswith(family.head_prefix) for name in own)
    return family.headless is None or named or present


def _share_head(
    family: ArchitectureMap, pairs: Pairs, model: nn.Module, found: dict[str, Tensor]
) -> None:
    """Tie the output matrix of a T5 1.1 that has none of its own in the file.

    The published ones have; `transformers` 5 ties those that it makes itself.
    """
    ours = {names[0]: our_name for our_name, names in pairs}
    for alias, name in family.aliases.items():
        if alias in ours and alias not in found and name in found:
            found[alias] = found[name]
            _set(model, ours[alias], model.get_parameter(ours[name]))


def _check(
    family: ArchitectureMap, expected: dict[str, Tensor], found: dict[str, Tensor], folder: Path
) -> list[str]:
    """Refuse tensors that do not fit, merge aliases, and list those that are left out."""
    _merge_aliases(family, expected, found, folder)
    extra = sorted(n for n in found.keys() - expected.keys() if re.fullmatch(family.left_out, n))
    check_names(set(expected), found.keys() - set(extra), folder)
    for name, tensor in expected.items():
        if found[name].shape != tensor.shape or not found[name].is_floating_point():
            raise CheckpointError(
                f"expected {name} in {folder} to be float of shape {tuple(tensor.shape)}, "
                f"got {found[name].dtype} of shape {tuple(found[name].shape)}"
            )
    return extra


def _merge_aliases(
    family: ArchitectureMap, expected: Mapping[str, Tensor], found: dict[str, Tensor], folder: Path
) -> None:
    """Keep one of two equal tensors that are one in our model, and refuse unequal ones."""
    for alias, name in family.aliases.items():
        if alias in expected or alias not in found:
            continue
        if name not in found:
            found[name] = found.pop(alias)
        elif torch.equal(found[alias], found[name]):
            del found[alias]
        elif not re.fullmatch(family.left_out, alias):
            raise CheckpointError(f"{alias} and {name} in {folder} differ, but should be one")


def _fill(model: Any, state: Mapping[str, Tensor]) -> None:
    """Replace the parameters of a model on "meta"; what is one tensor there stays one."""
    double = any(tensor.dtype == torch.float64 for tensor in state.values())
    dtype = torch.float64 if double else torch.float32
    filled = {
        parameter: nn.Parameter(state[name].to(dtype))
        for name, parameter in model.named_parameters()
    }
    for name, parameter in list(model.named_parameters(remove_duplicate=False)):
        _set(model, name, filled[parameter])


def _set(model: nn.Module, name: str, value: Tensor) -> None:
    """Replace one parameter or buffer."""
    owner, _, leaf = name.rpartition(".")
    setattr(model.get_submodule(owner), leaf, value)
