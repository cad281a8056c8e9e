# SPDX-License-Identifier: MIT
"""Our tokenisers as the two files that `AutoTokenizer` reads, and back.

tokenizer.json holds the pipeline of the `tokenizers` library, tokenizer_config.json the roles of
the special tokens. The written tokeniser gives our ids, with three differences that the pipelines
of `transformers` count on and that `completion` makes, too: the name of a special token in a text,
such as [MASK], is that token; where words begin with a space, a gap takes the space before it with
it; and a T5's inputs and targets end in </s>, as in its training (`add_special_tokens=False` leaves
it out). Left out: chat templates.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors

from pretrain_lab.checkpoints import AnyTokenizer
from pretrain_lab.hub.files import read_json
from pretrain_lab.run_state import CheckpointError
from pretrain_lab.tokenizers.characters import MASK, PAD, CharTokenizer
from pretrain_lab.tokenizers.subwords import ROLES, SubwordTokenizer

TOKENIZER = "tokenizer.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
_ANY_CHARACTER = r"[\s\S]"  # line breaks too


def special_tokens(tokenizer: AnyTokenizer) -> dict[str, str]:
    """Name the special token of each role that the vocabulary has: {"pad": "[PAD]", …}."""
    known = {tokenizer.tokens[i] for i in tokenizer.special_ids}
    fitting = {role: [name for name in names if name in known] for role, names in ROLES.items()}
    return {role: names[0] for role, names in fitting.items() if names}


def special_token_ids(tokenizer: AnyTokenizer) -> dict[str, int]:
    """Give the ids that a model's configuration names: {"pad_token_id": 0, …}."""
    return {
        f"{role}_token_id": tokenizer.tokens.index(name)
        for role, name in special_tokens(tokenizer).items()
        if role in ("pad", "eos")
    }


def tokenizer_files(
    tokenizer: AnyTokenizer,
    *,
    max_len: int | None = None,
    with_segments: bool = False,
    with_end: bool = False,
) -> dict[str, dict[str, Any]]:
    """Describe a tokeniser for `transformers`: the name of each file and the JSON in it.

    `max_len` is the model's longest text in tokens, None = no limit; `with_segments` lets the
    tokeniser give token_type_ids too; `with_end` lets it close each text with its "eos" token,
    where the vocabulary has one.
    """
    roles = special_tokens(tokenizer)
    others = [tokenizer.tokens[i] for i in sorted(tokenizer.special_ids)]
    inputs = ["input_ids", *["token_type_ids"] * with_segments, "attention_mask"]
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_input_names": inputs,
        **{f"{role}_token": name for role, name in roles.items()},
        "additional_special_tokens": [name for name in others if name not in roles.values()],
    }
    if max_len is not None:
        config["model_max_length"] = max_len
    state = _backend(tokenizer)
    if with_end and "eos" in roles:
        state = _closing(state, roles["eos"])
    return {TOKENIZER: state, TOKENIZER_CONFIG: config}


def read_tokenizer(folder: str | Path) -> AnyTokenizer:
    """Read the tokenizer.json of a folder, ours or one that `transformers` has saved.

    A vocabulary of single characters gives a `CharTokenizer`, any other a `SubwordTokenizer`.

    Raises:
        CheckpointError: The file is missing or damaged, or holds no tokeniser that ours can be.
    """
    file = Path(folder) / TOKENIZER
    state = read_json(file)
    try:
        return _characters(state) or SubwordTokenizer.from_dict(state)
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{file} cannot be read ({error})") from error


def _backend(tokenizer: AnyTokenizer) -> dict[str, Any]:
    """Give the JSON of the `tokenizers` library; characters are words of one letter there."""
    if isinstance(tokenizer, SubwordTokenizer):
        state = tokenizer.to_dict()
        if any(len(token) > 1 and token.startswith(" ") for token in tokenizer.tokens):
            gaps = {tokenizer.mask_id, *tokenizer.sentinel_ids}
            for token in state["added_tokens"]:  # a gap takes the space before it with it
                token["lstrip"] = token["lstrip"] or token["id"] in gaps
        return state
    backend = Tokenizer(models.WordLevel(vocab=tokenizer.ids))  # an unknown character is refused
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(_ANY_CHARACTER), "isolated")
    backend.decoder = decoders.Fuse()
    backend.add_special_tokens([AddedToken(name, special=True) for name in tokenizer.specials])
    written: dict[str, Any] = json.loads(backend.to_str())
    return written


def _closing(state: dict[str, Any], name: str) -> dict[str, Any]:
    """Let a tokeniser of the `tokenizers` library end each text in a special token."""
    backend = Tokenizer.from_str(json.dumps(state))
    backend.post_processor = processors.TemplateProcessing(
        single=f"$A {name}",
        pair=f"$A {name} $B {name}",
        special_tokens=[(name, backend.token_to_id(name))],
    )
    written: dict[str, Any] = json.loads(backend.to_str())
    return written


def _characters(state: Mapping[str, Any]) -> CharTokenizer | None:
    """Rebuild a tokeniser of characters from what `_backend` made of it; None = it is another."""
    if state["model"].get("type") != "WordLevel":
        return None
    ids = state["model"]["vocab"]
    names = sorted(ids, key=lambda name: ids[name])
    specials = [token["content"] for token in state["added_tokens"] if token["special"]]
    n_specials = len(specials)
    is_ours = names[:n_specials] == specials and {PAD, MASK} <= set(specials)
    if not is_ours or any(len(name) != 1 for name in names[n_specials:]):
        raise ValueError("expected single characters behind the special tokens, got other words")
    return CharTokenizer(names[n_specials:], specials)
