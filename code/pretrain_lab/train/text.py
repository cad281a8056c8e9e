# SPDX-License-Identifier: MIT
"""What a run of `pretrain_lab.train` reads: vocabulary, objective, windows, and their numbers."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from pretrain.objectives import TextObjective
from pretrain_lab.checkpoints import AnyTokenizer
from pretrain_lab.train.config import Config
from pretrain_lab.train.data import (
    ConsecutiveWindows,
    DatasetRows,
    RandomWindows,
    StreamedWindows,
    Windows,
    encode_all,
    in_chunks,
    row_encoder,
)
from pretrain_lab.train.files import all_rows, complaint_of, find_files, hold_out, validation_rows
from pretrain_lab.train.kept import KEPT, Counts, Ids, digest, read_kept
from pretrain_lab.train.log import tell
from pretrain_lab.train.objectives import OBJECTIVES, make_objective
from pretrain_lab.train.options import ConfigError, DataOptions
from pretrain_lab.train.start import load_start
from pretrain_lab.train.tokenizer import (
    check_unknown,
    first_characters,
    make_tokenizer,
    share_of_unknown,
)

LARGE = 20_000_000
"""Bytes of text from which on streaming is proposed."""


class Text(NamedTuple):
    """What a run reads, and how."""

    tokenizer: AnyTokenizer
    objective: TextObjective
    windows: Windows
    validation: RandomWindows | None  # of the text held out; None where nothing is evaluated
    facts: dict[str, Any]  # by which text and vocabulary are known again; JSON values
    counts: Counts
    ids: Ids | None  # None for a stream
    key: str | None  # by which kept ids are known; None where they need not be kept


def announce(data: DataOptions) -> None:
    """Say what is about to be read, before anything that takes long.

    Raises:
        ConfigError: A file is not there.
    """
    find_files(data.validation_files, "data.validation_files")
    n_bytes = sum(path.stat().st_size for path in find_files(data.files))
    size = f" ({n_bytes / 1e6:,.1f} MB)" if data.files else ""
    tell(f"{'streaming' if data.stream else 'reading'} {_name(data)}{size} …")
    if n_bytes > LARGE and not data.stream:
        tell("this takes a minute or more; --set data.stream=true reads the text while training")


def _name(data: DataOptions) -> str:
    """Name the text."""
    files = [str(path) for path in find_files(data.files)]
    names = ", ".join(files[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
    return names or str(data.corpus or data.dataset)


def read_text(config: Config) -> Text:
    """Make vocabulary, objective and windows, and say what takes long.

    Raises:
        ConfigError: Text and vocabulary are not as needed.
    """
    data = config.data
    if data.stream:
        return _stream(config)
    key, kept = _key(config), Path(config.output.folder) / KEPT
    ids = read_kept(kept, key) if key else None
    if ids is None:
        ids = _encode(config)
    else:
        tell(f"vocabulary and ids as they are kept in {kept}")
    check_unknown(ids.counts.unknown, config.tokenizer)
    objective = make_objective(config.objective, ids.tokenizer, data.seq_len)
    window_len, windows = objective.window_len, None
    if data.order == "sequential":
        windows = ConsecutiveWindows(ids.train, seq_len=data.seq_len, window_len=window_len)
    facts = {"data.sha256": digest(ids.train.numpy().tobytes())}
    return _finished(
        config,
        ids,
        objective,
        windows or RandomWindows(ids.train, window_len=window_len),
        facts,
        key,
    )


def _finished(
    config: Config,
    ids: Ids,
    objective: TextObjective,
    windows: Windows,
    facts: dict[str, Any],
    key: str | None,
) -> Text:
    """Add the windows to evaluate on, and by what all of it is known again."""
    validation = None
    if config.training.evaluate_every:
        facts["validation.sha256"] = digest(ids.held_out.numpy().tobytes())
        where = " in the text held out"
        validation = RandomWindows(ids.held_out, window_len=objective.window_len, where=where)
    facts["tokenizer.sha256"] = digest(json.dumps(ids.tokenizer.to_dict()).encode())
    in_memory = None if config.data.stream else ids
    return Text(ids.tokenizer, objective, windows, validation, facts, ids.counts, in_memory, key)


def _stream(config: Config) -> Text:
    """Open a stream, whose content is not read yet but for what its vocabulary is learned from."""
    data, rows = config.data, DatasetRows(config.data)
    files = find_files(data.files)
    tokenizer = _tokenizer(config, rows)
    encode = row_encoder(tokenizer, data)
    sample = encode_all(first_characters(rows, 100_000), encode)
    counts = Counts(unknown=share_of_unknown(sample, tokenizer))
    check_unknown(counts.unknown, config.tokenizer)
    objective = make_objective(config.objective, tokenizer, data.seq_len)
    held = torch.empty(0, dtype=torch.int64)
    if config.training.evaluate_every:
        held_rows = list(validation_rows(data))
        held = _encode_held_out(config, held_rows, tokenizer)
        counts = Counts(0, 0, counts.unknown, sum(map(len, held_rows)), len(held))
    windows = StreamedWindows(
        lambda: DatasetRows(data), encode, seq_len=data.seq_len, window_len=objective.window_len
    )
    facts = {"data.file_sizes": [path.stat().st_size for path in files]}
    ids = Ids(tokenizer, sample, held, counts)
    return _finished(config, ids, objective, windows, facts, None)


def _encode(config: Config) -> Ids:
    """Read the text into memory, and turn it into ids."""
    data = config.data
    rows, held_rows = _rows(config)
    own_end = () if data.validation_files or data.corpus else held_rows
    tokenizer = _tokenizer(config, rows, own_end)
    n_train, n_held = (sum(map(len, part)) for part in (rows, held_rows))
    tell(f"encoding {n_train + n_held:,} characters …")
    lines_stay_apart = config.tokenizer.kind != "file" and not data.dataset
    parts = in_chunks(rows) if lines_stay_apart else rows
    files = find_files(data.files)
    encode = row_encoder(tokenizer, data)
    train = encode_all(parts, encode, lambda: complaint_of(files, tokenizer.encode))
    held = torch.empty(0, dtype=torch.int64)
    if held_rows:
        held = _encode_held_out(config, held_rows, tokenizer)
    unknown = share_of_unknown(train, tokenizer)
    return Ids(tokenizer, train, held, Counts(n_train, len(train), unknown, n_held, len(held)))


def _rows(config: Config) -> tuple[list[str], list[str]]:
    """Read the rows to train on, and those held out."""
    data = config.data
    rows = list(all_rows(data))
    if not any(rows):
        raise ConfigError(f"[data]: expected text in {_name(data)}, got none")
    if data.validation_files or data.corpus:
        return rows, list(validation_rows(data)) if config.training.evaluate_every else []
    return hold_out(rows, data.hold_out)


def _encode_held_out(config: Config, rows: Iterable[str], tokenizer: AnyTokenizer) -> Tensor:
    """Turn the text held out into ids, its rows as those of the text to train on."""
    data = config.data
    own = bool(data.validation_files or data.corpus)  # whose rows are lines
    encode = tokenizer.encode if own else row_encoder(tokenizer, data)
    files = find_files(data.validation_files, "data.validation_files")
    return encode_all(rows, encode, lambda: complaint_of(files, tokenizer.encode))


def _tokenizer(config: Config, rows: Iterable[str], held_out: Iterable[str] = ()) -> AnyTokenizer:
    """Take the vocabulary of the weights to start from, or make the one asked for."""
    if config.training.init_from:
        return load_start(config.training.init_from)[1]
    with_sentinels = OBJECTIVES[config.objective.kind].needs_sentinels
    return make_tokenizer(config.tokenizer, rows, with_sentinels=with_sentinels, held_out=held_out)


def _key(config: Config) -> str | None:
    """Give the digest of all that decides the ids of files; None for other texts."""
    data, options = config.data, config.tokenizer
    if not data.files:
        return None
    evaluated = data.validation_files if config.training.evaluate_every else ()
    found = [*find_files(data.files), *find_files(evaluated, "data.validation_files")]
    parts = [hashlib.sha256(path.read_bytes()).hexdigest() for path in found]
    with_sentinels = OBJECTIVES[config.objective.kind].needs_sentinels
    if config.training.init_from or options.kind == "file":
        parts.append(digest(json.dumps(_tokenizer(config, ()).to_dict()).encode()))
    held_out = 0.0 if data.validation_files else data.hold_out  # else all of the text is trained on
    said = [len(evaluated), held_out, options.model_dump(mode="json"), with_sentinels]
    return digest(json.dumps([*parts, *said]).encode())
