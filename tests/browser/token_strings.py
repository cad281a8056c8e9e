# SPDX-License-Identifier: MIT
"""Strings that try a tokeniser: pieces of the plays, random characters, and the edges."""

import random
import unicodedata

from pretrain_lab.corpora.loading import load_shakespeare

EDGES = (
    *("", " ", "  ", "   a", "a   ", "\n", "\n\n", "\t", "a\tb", "\r\n", "\x00", "a\x00b"),
    *("\x0b\x0c", "\x85", "a\xa0b", "\u1680x", "\u180ex", "\u200bx", "\u2028", "\u3000三"),
    *("\ufeffx", "\ufffd", "e\u0301", "\u0301", " \u0301a", "a\u0308\u0304", "\u200d"),
    *("👩\u200d👩\u200d👧", "🇩🇪", "1\ufe0f\u20e3", "ﬁ", "ß", "ẞ", "İ", "ς", "Σ", "ǅ", "Ⅷ", "½"),
    *("²", "٣", "𝟗", "𝒜", "한국", "한", "あいう", "ไทย", "नमस्ते", "日本", "naïve Zoë", "café 😀"),
    *("[MASK]", "[UNK]", "[PAD] [CLS]", "</s>", "<extra_id_0>", "##s", "a ##s"),
    *("-", "--", "...", " ...", "don't", "o'er", "'tis", "l'été", "COVID-19", "x=1;", "a_b"),
    *("1234+5678", "1,000.50", "3.14", "$9.99", "C++", "unhappiness", " unhappiness"),
    *("a" * 99, "a" * 100, "a" * 101, "é" * 100, "é" * 101, "😀" * 50),
    *("ab" * 80, "the" * 40, " the" * 40, "thethe the  the"),
)


def token_strings(n: int, seed: int = 0) -> list[str]:
    """Draw strings.

    Args:
        n: How many; a third are pieces of the plays, a third mixtures, a third random characters.
        seed: Fixes the draws.

    Returns:
        The edges and n strings, none with half of a surrogate pair.
    """
    draw = random.Random(seed)
    plays = "\n".join(play.text for play in load_shakespeare("validation"))
    assigned = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) not in
                ("Cn", "Cs", "Co")]  # fmt: skip
    kinds: dict[str, list[str]] = {}
    for character in assigned:
        kinds.setdefault(unicodedata.category(character), []).append(character)
    strings = list(EDGES)
    for number in range(n):
        if number % 3 == 0:
            start = draw.randrange(len(plays))
            strings.append(plays[start : start + draw.randint(1, 300)])
        elif number % 3 == 1:
            start = draw.randrange(len(plays))
            piece = list(plays[start : start + draw.randint(1, 60)])
            for _ in range(draw.randint(1, 12)):
                place = draw.randrange(len(piece) + 1)
                piece.insert(place, draw.choice(kinds[draw.choice(sorted(kinds))]))
            strings.append("".join(piece))
        else:
            strings.append("".join(draw.choices(assigned, k=draw.randint(1, 40))))
    return strings
