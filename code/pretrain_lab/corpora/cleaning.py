# SPDX-License-Identifier: MIT
"""Clean what was fetched: a play's Markdown into speeches, any text into plain ASCII.

Only what occurs in these files is handled. The rules in words are in `data/README.md`; the
misprints that no rule can mend in `data/repairs.toml`, each with the number of places it must fit.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from pretrain_lab.paths import data_file

PLAY_ALPHABET = "\n !',-.:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
"""Every character that a cleaned play may hold, in code-point order."""
_SPEAKER = re.compile(r"\*\*(?P<name>[^*]+)\*\*(?:\n|$)")
_DIRECTION = re.compile(r"_+[^_]+_|^\\?\[[^\]]*\]_|(?<!\*)\*[^*]+\*(?!\*)", re.MULTILINE)
_LABEL = re.compile(r"^(?:THE )?SONG\.$", re.MULTILINE)
_CHARACTER_RULES = (
    (re.compile(r"&amp;"), "&"),
    (re.compile(r"& c\b"), "etc"),  # an ampersand and c abbreviates et cetera
    (re.compile(r" & "), " and "),
    (re.compile(r" *— *"), "--"),  # as the other 37 files write a dash
    (re.compile(r'"'), "'"),  # as the other 37 files quote
    (re.compile(r"\\(?=.)"), ""),  # a Markdown escape
    (re.compile(r" {2,}"), " "),
    (re.compile(r" (?=[!,:;?])"), ""),  # a misprint here and there
)
_PLAIN_PUNCTUATION = str.maketrans(
    {"’": "'", "‘": "'", "´": "'", "`": "'", "“": '"', "”": '"', "«": '"', "»": '"'}
    | {"–": "-", "—": "-", "‑": "-", "\x85": "...", "⁄": "/", "æ": "ae"}
)


@dataclass(frozen=True)
class Speech:
    """What one speaker says until the next one speaks: a name and lines of text."""

    speaker: str
    text: str


def fix_misprints(markdown: str, slug: str) -> str:
    """Tidy blanks and blank lines, then mend the play's misprints, each as often as listed.

    `slug` is the file's name without ending. Every speaker heading then starts a block.

    Raises:
        ValueError: A repair listed for this play does not fit the text.
    """
    text = re.sub(r"[ \t\r]+$", "", markdown, flags=re.MULTILINE)
    text = re.sub(r"^(?=\*\*[^*]+\*\*$)", "\n", text, flags=re.MULTILINE)  # a heading stands alone
    text = re.sub(r"\n{3,}", "\n\n", text)
    for repair in _repairs().get(slug, []):
        replacement = str(repair["replace"])
        text, n_found = re.subn(str(repair["find"]), replacement, text, flags=re.MULTILINE)
        if n_found != repair["count"]:
            raise ValueError(
                f"{slug}: repair {repair['find']!r} must match {repair['count']} times,"
                f" but matches {n_found} times"
            )
    return text


def clean_play(mended: str) -> tuple[Speech, ...]:
    """Turn what `fix_misprints` returns into speeches, none empty; leave all that is unspoken out.

    A block of text without a speaker continues the speech before it, which a stage direction had
    interrupted; right after a heading it is the rest of the heading and goes.
    """
    found: list[tuple[str, list[str]]] = []
    after_heading = True
    for block in re.split(r"\n{2,}", mended.strip("\n")):
        speaker = _SPEAKER.match(block)
        if speaker:
            found.append((_plain_characters(speaker["name"]), []))
            block = block[speaker.end() :]
        if found and not block.startswith("#") and (speaker or not after_heading):
            found[-1][1].extend(_spoken_lines(block))
        after_heading = block.startswith("#")
    return tuple(Speech(name, "\n".join(lines)) for name, lines in found if lines)


def to_ascii(text: str) -> str:
    """Write text in printable ASCII on one line: straight quotes, plain letters, single spaces.

    Characters that have no plain form are left out.
    """
    decomposed = unicodedata.normalize("NFKD", text.translate(_PLAIN_PUNCTUATION))
    ascii_only = decomposed.translate(_PLAIN_PUNCTUATION).encode("ascii", "ignore").decode()
    return " ".join("".join(c for c in ascii_only if c.isprintable() or c.isspace()).split())


@cache
def _repairs() -> dict[str, list[dict[str, str | int]]]:
    """Read the list of misprints, by play."""
    repairs: dict[str, list[dict[str, str | int]]] = {}
    for repair in tomllib.loads(data_file("repairs.toml").read_text(encoding="utf-8"))["repair"]:
        repairs.setdefault(repair["play"], []).append(repair)
    return repairs


def _spoken_lines(block: str) -> Iterator[str]:
    """Yield the lines of a block that are spoken, without markup."""
    spoken = _LABEL.sub("", _DIRECTION.sub("", block))
    for line in spoken.split("\n"):
        plain = _plain_characters(line)
        if plain:
            yield plain


def _plain_characters(line: str) -> str:
    """Apply the character rules of the plays to one line."""
    for pattern, replacement in _CHARACTER_RULES:
        line = pattern.sub(replacement, line)
    return line.strip()
