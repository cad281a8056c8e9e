# SPDX-License-Identifier: MIT
"""Small files for the applets that the build makes from others: vocabularies, scaling rules.

They are derived, so no second copy of them is in the repository.
"""

import json
from pathlib import Path

from safetensors import safe_open

from book_pages.weight.scaling_rules import scaling_rules

TOKENIZERS = "data/tokenizers"
VOCABULARIES = ("plays_bpe", "plays_wordpiece", "plays_unigram")
CHARACTERS = "data/checkpoints/gpt_chars.safetensors"  # its vocabulary is the plays' characters
SCALING = "chapters/13_scaling.ipynb"
PUBLISHED = "data/tables/published_models.toml"


def made_from(root: Path) -> list[Path]:
    """List the existing files, sorted, that these are made from."""
    names = [f"{TOKENIZERS}/{name}.json" for name in VOCABULARIES]
    names += [CHARACTERS, SCALING, PUBLISHED]
    return sorted(root / name for name in names if (root / name).is_file())


def made(root: Path) -> dict[str, bytes]:
    """Make the files that can be made: name → content, JSON without blanks."""
    paths = {path.name: path for path in made_from(root)}
    found: dict[str, object] = {
        f"{name}.json": subwords(paths[f"{name}.json"])
        for name in VOCABULARIES
        if f"{name}.json" in paths
    }
    model, notebook, table = (Path(name).name for name in (CHARACTERS, SCALING, PUBLISHED))
    if model in paths and (tokenizer := _description(paths[model]).get("tokenizer")):
        found["plays_characters.json"] = tokenizer
    if notebook in paths and table in paths:
        found["scaling_rules.json"] = scaling_rules(paths[notebook], paths[table])
    return {
        name: json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
        for name, content in found.items()
    }


def subwords(path: Path) -> dict[str, object]:
    """Read a vocabulary of the library ``tokenizers``, without what the page does not use.

    The first cut and the model are as they are; special tokens have id and name.
    """
    state = json.loads(path.read_text(encoding="utf-8"))
    kept = {key: state[key] for key in ("normalizer", "pre_tokenizer", "model")}
    added = [{key: token[key] for key in ("id", "content")} for token in state["added_tokens"]]
    return {**kept, "added_tokens": added}


def _description(path: Path) -> dict[str, object]:
    """Read what a model's file says about itself."""
    with safe_open(path, framework="np") as file:
        said: dict[str, object] = json.loads(file.metadata()["pretrain"])
    return said
