# SPDX-License-Identifier: MIT
"""The forty gaps are fair: words that were read often enough, in sentences that were not read."""

import re
import tomllib
from collections import Counter

from experiments.book_models.vocabularies import book_texts
from pretrain_lab.paths import ROOT
from pretrain_lab.tokenizers.subwords import load_tokenizer

GAPS = tomllib.loads((ROOT / "data/everyday_gaps.toml").read_text())["gap"]
LEAST = 50


def test_forty_different_words_with_one_gap_each() -> None:
    """Each word is one token, so that one gap is one [MASK]."""
    assert len(GAPS) == len({gap["word"] for gap in GAPS}) == 40
    tokens = load_tokenizer("book_wordpiece").tokens
    for gap in GAPS:
        assert gap["text"].count("_") == 1
        assert gap["word"] in tokens


def test_the_words_were_read_and_the_sentences_were_not() -> None:
    """Counted in the training texts of book_bert, in lower case."""
    text = "\n".join(book_texts("train")).lower()
    counts = Counter(re.findall(r"[a-z']+", text))
    assert min(counts[gap["word"]] for gap in GAPS) >= LEAST
    words = " ".join(re.findall(r"[a-z']+", text))
    for gap in GAPS:
        sentence = gap["text"].replace("_", gap["word"]).lower()
        assert " ".join(re.findall(r"[a-z']+", sentence)) not in words, sentence
