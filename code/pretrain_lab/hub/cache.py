# SPDX-License-Identifier: MIT
"""What an id of the hub names: from its local cache, else fetched once, never waited for.

The cache is read first and without a question to the hub; what is missing is fetched with a short
time limit; if that fails, one sentence says what to fetch and how.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from pretrain_lab.hub.models import ModelUnavailableError

ONLINE_VARIABLE = "PRETRAIN_ONLINE"
"""Environment variable; 1 asks for the named models and texts themselves."""
MODEL_FILES = ("*.json", "*.txt", "*.model", "model*.safetensors")
"""Patterns of a model's files: settings, vocabulary, weights that hold no code."""
_TIMEOUT = 10.0  # seconds that the hub has for an answer
T = TypeVar("T")


class StandInError(ModelUnavailableError):
    """Neither what is named nor a stand-in is to be had; the message says what to do."""


def is_online() -> bool:
    """Say whether the named models and texts are asked for."""
    return os.environ.get(ONLINE_VARIABLE) == "1"


def from_hub(
    hub_id: str, read: Callable[[Path], T], *, files: Sequence[str], kind: str = "model"
) -> T:
    """Read a model or a data set from the cache, and fetch it only if that fails.

    The cache's folder is read as any folder is: with an id, `transformers` would ask the hub for
    files that a model may have, whatever it is told. `read` raises OSError where something is
    missing; `files` are patterns of what to fetch; `kind` is "model" or "dataset".

    Raises:
        StandInError: Neither cache nor hub has it, or the hub does not answer.
    """
    for fetched in (False, True):
        reason = _download(hub_id, kind, files) if fetched else ""
        try:
            return read(_cached(hub_id, kind))
        except OSError as error:
            reason = reason or str(error).splitlines()[0]
    option = "" if kind == "model" else f" --repo-type {kind}"
    raise StandInError(
        f"{hub_id} is not in the hub's cache and could not be fetched ({reason}): run"
        f" `hf download {hub_id}{option}` once with a connection, or unset {ONLINE_VARIABLE} to use"
        " the packaged stand-in"
    )


def _cached(hub_id: str, kind: str) -> Path:
    """Give the folder in the hub's cache, perhaps not whole; OSError: it has none."""
    from huggingface_hub import snapshot_download  # imported here: it takes a second

    return Path(snapshot_download(hub_id, repo_type=kind, local_files_only=True))


def _download(hub_id: str, kind: str, files: Sequence[str]) -> str:
    """Fetch the files, and say why not; empty = all went well."""
    import huggingface_hub
    from huggingface_hub.utils import disable_progress_bars, enable_progress_bars

    if huggingface_hub.constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    disable_progress_bars()
    try:
        huggingface_hub.HfApi().repo_info(hub_id, repo_type=kind, timeout=_TIMEOUT)  # asks once
        huggingface_hub.snapshot_download(
            hub_id, repo_type=kind, allow_patterns=list(files), etag_timeout=_TIMEOUT
        )
    except Exception as error:  # the hub's client raises kinds of several other packages
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    finally:
        enable_progress_bars()
    return ""
