# SPDX-License-Identifier: MIT
"""Published weights in our models, and ours in a form that Hugging Face's `transformers` reads.

Papers: Devlin et al. 2019 (arXiv:1810.04805); Radford et al. 2019 (GPT-2); Raffel et al. 2020
(arXiv:1910.10683); Black et al. 2022 (arXiv:2204.06745) for GPT-NeoX.

Weights come from safetensors alone. Options, names and shapes are checked before the first number
is taken, so a model is loaded whole or not at all. `transformers` is never imported. Left out:
quantised weights; reading heads of other tasks and the pooler of BERT (reported).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pretrain.positions import rotary_table
from pretrain_lab.checkpoints import AnyTokenizer, NoHead, backbone_of, check_vocabulary
from pretrain_lab.finetuning.lora import lora_layers
from pretrain_lab.hub.config import family_of, read_config, write_config
from pretrain_lab.hub.conversion import ArchitectureMap, Pairs
from pretrain_lab.hub.files import check_names, find_folder, read_json, read_tensors, write_folder
from pretrain_lab.hub.heads import task_model
from pretrain_lab.hub.tokenizer_files import (
    TOKENIZER,
    TOKENIZER_CONFIG,
    read_tokenizer,
    special_token_ids,
    tokenizer_files,
)
from pretrain_lab.run_state import CheckpointError


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
    n_heads = options["n_heads"]
    expected = family.to_theirs(pairs, model.state_dict(), n_heads=n_heads)
    extra = _check(family, expected, found, folder)
    _fill(model, family.to_ours(pairs, found, n_heads=n_heads))
    if extra:
        name = family.model.__name__
        report(f"not loaded, for our {name} has no place for them: {', '.join(extra)}")
    return model.eval()


def load_pretrained(path_or_id: str | Path, **options: Any) -> tuple[Any, AnyTokenizer]:
    """Build our model and our tokeniser from a Hugging Face checkpoint, ours or another.

    Options are those of `from_pretrained`. A model may have more ids than its tokeniser.

    Raises:
        CheckpointError: The tokeniser is missing, damaged, or has more ids than the model.
        ValueError: As `from_pretrained`, and FileNotFoundError too.
    """
    folder = find_folder(path_or_id)
    tokenizer = read_tokenizer(folder)
    model = from_pretrained(folder, **options)
    if tokenizer.vocab_size > model.config.vocab_size:
        raise CheckpointError(
            f"expected a tokenizer of at most {model.config.vocab_size} ids, as the model in "
            f"{folder} has, got {tokenizer.vocab_size}"
        )
    return model, tokenizer


@dataclass(frozen=True, repr=False, eq=False)
class Exported:
    """A model in Hugging Face's names; shown in one line."""

    config: dict[str, Any]  # as in config.json
    tensors: dict[str, Tensor]  # copies, by their names
    folder: Path | None  # where they were written
    has_tokenizer: bool

    def __repr__(self) -> str:
        """Say what it is, where it is, and how large."""
        size = sum(tensor.nbytes for tensor in self.tensors.values())
        unit, name = (1e6, "MB") if size >= 1e5 else (1e3, "kB")
        where = "not written" if self.folder is None else f"in {self.folder}"
        beside = " with its tokenizer" if self.has_tokenizer else ""
        return f"{self.config['architectures'][0]}{beside}, {size / unit:.1f} {name}, {where}"


def to_huggingface(
    model: Any, folder: str | Path | None = None, tokenizer: AnyTokenizer | None = None
) -> Exported:
    """Express one of our models in Hugging Face's names, and write it if a folder is given.

    `AutoTokenizer` and the `AutoModel…` of the task then give our ids and our scores. A GPT with
    rotary positions becomes a GPT-NeoX. A BERT without segments becomes one with a single segment,
    whose vector is zero. A BERT whose head is `NoHead` becomes a BertModel without pooler
    (`add_pooling_layer=False` there). For classifiers and taggers see `pretrain_lab.hub.heads`.

    Args:
        model: A GPT, BERT or T5, or one of `pretrain_lab.checkpoints.HEADS` on it.
        folder: Gets config.json and model.safetensors, with a tokeniser its files too, and
            generation_config.json if the model writes; all or none of them. They replace those
            of an earlier export.
        tokenizer: Its tokeniser, whose special tokens the configuration then names.

    Raises:
        TypeError: Another kind of model or tokeniser.
        ValueError: Another vocabulary, adapters, or Hugging Face's class has no such model; the
            message names option and value. Nothing was written then.
    """
    backbone = backbone_of(model)
    if tokenizer is not None:
        check_vocabulary(backbone, tokenizer)
    if any(lora_layers(model)):
        raise ValueError(
            "expected a model without adapters: fold them into the weights with merge_lora(model)"
        )
    family, with_head = family_of(backbone), not isinstance(getattr(backbone, "head", None), NoHead)
    config = write_config(backbone, with_head=with_head)
    pairs = family.pairs(vars(backbone.config), with_head=with_head)
    state = family.to_theirs(pairs, backbone.state_dict(), n_heads=backbone.config.n_heads)
    if vars(backbone.config).get("n_segments") == 0:
        words = state["bert.embeddings.word_embeddings.weight"]
        state["bert.embeddings.token_type_embeddings.weight"] = torch.zeros_like(words[:1])
    if with_head:
        state |= {alias: state[family.aliases[alias]] for alias in family.written_aliases}
    if model is not backbone:
        changed, state = task_model(model, family, state)
        config |= changed
    elif not with_head:
        state = {name.removeprefix(family.prefix): tensor for name, tensor in state.items()}
    state = {
        name: tensor.detach().clone(memory_format=torch.contiguous_format)
        for name, tensor in state.items()
    }
    config["dtype"] = str(next(iter(state.values())).dtype).removeprefix("torch.")
    if tokenizer is not None:
        config |= _token_ids(config, tokenizer)
    if folder is not None:
        described = {"config.json": config, "generation_config.json": _generation(config)}
        described |= dict.fromkeys((TOKENIZER, TOKENIZER_CONFIG))
        if tokenizer is not None:
            limit = getattr(backbone.config, "max_len", None)
            segments = getattr(backbone.config, "n_segments", 0) > 1
            described |= tokenizer_files(
                tokenizer,
                max_len=limit,
                with_segments=segments,
                with_end="decoder_start_token_id" in config,
            )
        write_folder(Path(folder), state, described)
    where = None if folder is None else Path(folder)
    return Exported(config, state, where, tokenizer is not None)


def _token_ids(config: Mapping[str, Any], tokenizer: AnyTokenizer) -> dict[str, int]:
    """Name the special tokens that a configuration knows; a T5 starts to write from [PAD]."""
    ids = special_token_ids(tokenizer)
    if "decoder_start_token_id" in config:
        ids["decoder_start_token_id"] = ids["pad_token_id"]
    return ids


def _generation(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Describe how a model writes; None = it does not."""
    names = ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id")
    ids = {name: config[name] for name in names if config.get(name) is not None}
    writes = config["architectures"][0].endswith(("LMHeadModel", "CausalLM", "Generation"))
    return ids if writes else None


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
    if getattr(model, "rotary", None) is not None:  # a table that no file holds
        model.rotary = rotary_table(
            model.config.max_len, model.config.d_model // model.config.n_heads
        )


def _set(model: nn.Module, name: str, value: Tensor) -> None:
    """Replace one parameter or buffer."""
    owner, _, leaf = name.rpartition(".")
    setattr(model.get_submodule(owner), leaf, value)
