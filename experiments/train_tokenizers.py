"""Train the recorded subword vocabularies of the book: plays_bpe, plays_wordpiece, plays_unigram.

Run `python experiments/train_tokenizers.py` from the repository's root; it takes seconds. Writes
data/tokenizers/NAME.json and its card NAME.card.json. Only plays_bpe comes out equal every time:
the library breaks the others' ties by chance, so a new run may change a few of their pieces.
"""

import hashlib
import json
from typing import Any

import tokenizers

from pretrain.datasets import load_shakespeare
from pretrain.paths import replacing
from pretrain.subwords import TOKENIZERS, SubwordTokenizer, train_subwords

VOCAB_SIZE = 3000
N_SENTINELS = 64
RECIPES: dict[str, str] = {
    "plays_bpe": "bpe",
    "plays_wordpiece": "wordpiece",
    "plays_unigram": "unigram",
}
"""Name of each vocabulary and its kind."""


def plays(split: str) -> list[str]:
    """Give the texts of a split."""
    return [play.text for play in load_shakespeare(split)]


def train(name: str) -> SubwordTokenizer:
    """Train one of the recorded vocabularies.

    Args:
        name: One of RECIPES.

    Returns:
        The tokeniser.
    """
    return train_subwords(plays("train"), RECIPES[name], VOCAB_SIZE, n_sentinels=N_SENTINELS)


def make_card(name: str, tokenizer: SubwordTokenizer) -> dict[str, Any]:
    """Say what a vocabulary was made from, and how it cuts the plays.

    Args:
        name: One of RECIPES.
        tokenizer: The trained tokeniser.

    Returns:
        JSON values.
    """
    card: dict[str, Any] = {
        "data": "Shakespeare, training plays (data/README.md)",
        "text_sha256": hashlib.sha256("\n".join(plays("train")).encode()).hexdigest(),
        "kind": RECIPES[name],
        "vocab_size": VOCAB_SIZE,
        "n_sentinels": N_SENTINELS,
        "alphabet": "printable ASCII and the line break",
        "gives_plays_back": RECIPES[name] != "wordpiece",
        "flaws": "Digits and the marks that no play holds have an id but were never seen.",
        "versions": {"tokenizers": tokenizers.__version__},
    }
    for split in ("train", "validation"):
        texts = plays(split)
        n_tokens = sum(len(tokenizer.encode(text)) for text in texts)
        card[f"characters_per_token_{split}"] = round(sum(map(len, texts)) / n_tokens, 4)
    return card


def main() -> None:
    """Train all vocabularies and write them with their cards."""
    for name in RECIPES:
        tokenizer = train(name)
        tokenizer.save(TOKENIZERS / f"{name}.json")
        card = make_card(name, tokenizer)
        with replacing(TOKENIZERS / f"{name}.card.json") as part:
            part.write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
        print(f"{name}: {card['characters_per_token_validation']} characters per token, validation")


if __name__ == "__main__":
    main()
