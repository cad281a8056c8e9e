# SPDX-License-Identifier: MIT
"""Train the recorded subword vocabularies of the book: three of the plays, two of films as well.

Run `python -m experiments.book_models.vocabularies NAME` from the repository's root, or without a
name for all; it takes seconds. Writes data/tokenizers/NAME.json and its card NAME.card.json. Only
the two called bpe come out equal every time: the library breaks the others' ties by chance, so a
new run may change a few of their pieces. Recorded models need the vocabulary that they were trained
with: train book_wordpiece anew only together with book_bert.
"""

import argparse
import hashlib
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import tokenizers

from pretrain_lab.corpora.loading import film_split, load_plots, load_reviews, load_shakespeare
from pretrain_lab.run_state import replacing
from pretrain_lab.tokenizers.learning import train_subwords
from pretrain_lab.tokenizers.subwords import SPECIALS, TOKENIZERS, SubwordTokenizer


def plays(split: str) -> list[str]:
    """Return the texts of a split."""
    return [play.text for play in load_shakespeare(split)]


def book_texts(split: str) -> list[str]:
    """Return what book_bert reads of a split: speeches with speakers, review sentences, plots.

    Neither a play nor a film is in two splits.
    """
    speeches = [
        f"{speech.speaker}:\n{speech.text}"
        for play in load_shakespeare(split)
        for speech in play.speeches
    ]
    reviews = [review.sentence for review in load_reviews(split)]
    return [*speeches, *reviews, *(p.text for p in load_plots() if film_split(p.film) == split)]


class Recipe(NamedTuple):
    """What a vocabulary is made from, and how."""

    kind: str
    texts: Callable[[str], list[str]] = plays
    data: str = "Shakespeare, training plays (data/README.md)"
    vocab_size: int = 3000
    specials: tuple[str, ...] = SPECIALS
    n_sentinels: int = 64
    lowercase: bool = False
    flaws: str = "Digits and the marks that no play holds have an id but were never seen."


RECIPES: dict[str, Recipe] = {
    "plays_bpe": Recipe("bpe"),
    "plays_wordpiece": Recipe("wordpiece"),
    "plays_unigram": Recipe("unigram"),
    "book_bpe": Recipe(
        "bpe",
        texts=book_texts,
        data="Shakespeare's training plays; reviews and plots of training films (data/README.md)",
        vocab_size=4000,
        flaws="Most of the training text is 400 years old; the rest speaks of films.",
    ),
    "book_wordpiece": Recipe(
        "wordpiece",
        texts=book_texts,
        data="Shakespeare's training plays; reviews and plots of training films (data/README.md)",
        vocab_size=5000,
        specials=SPECIALS[:5],
        n_sentinels=0,
        lowercase=True,
        flaws="Most of the training text is 400 years old; the rest speaks of films.",
    ),
}


def train(name: str) -> SubwordTokenizer:
    """Train one of RECIPES."""
    recipe = RECIPES[name]
    return train_subwords(
        recipe.texts("train"),
        recipe.kind,
        recipe.vocab_size,
        specials=recipe.specials,
        n_sentinels=recipe.n_sentinels,
        lowercase=recipe.lowercase,
    )


def make_card(name: str, tokenizer: SubwordTokenizer) -> dict[str, Any]:
    """Describe what one of RECIPES was made from, and how it cuts its texts, as JSON values."""
    recipe = RECIPES[name]
    capitals = " without capitals" if recipe.lowercase else ""
    card: dict[str, Any] = {
        "data": recipe.data,
        "text_sha256": hashlib.sha256("\n".join(recipe.texts("train")).encode()).hexdigest(),
        "kind": recipe.kind,
        "vocab_size": recipe.vocab_size,
        "n_sentinels": recipe.n_sentinels,
        "alphabet": f"printable ASCII{capitals} and the line break",
        "gives_plays_back": recipe.kind != "wordpiece",
        "flaws": recipe.flaws,
        "versions": {"tokenizers": tokenizers.__version__},
    }
    for split in ("train", "validation"):
        texts = recipe.texts(split)
        n_tokens = sum(len(tokenizer.encode(text)) for text in texts)
        card[f"characters_per_token_{split}"] = round(sum(map(len, texts)) / n_tokens, 4)
    return card


def main() -> None:
    """Train the named vocabularies and write them with their cards."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(RECIPES))
    names = parser.parse_args().names or list(RECIPES)
    if unknown := [name for name in names if name not in RECIPES]:
        parser.error(f"expected names from {list(RECIPES)}, got {unknown}")
    for name in names:
        tokenizer = train(name)
        tokenizer.save(TOKENIZERS / f"{name}.json")
        card = make_card(name, tokenizer)
        with replacing(TOKENIZERS / f"{name}.card.json") as part:
            part.write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
        print(f"{name}: {card['characters_per_token_validation']} characters per token, validation")


if __name__ == "__main__":
    main()
