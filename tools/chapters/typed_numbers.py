# SPDX-License-Identifier: MIT
"""Find numbers in a chapter's prose that look like measured results and were typed by hand.

A result belongs into a cell: `report` prints it and `{glue:text}` puts the same characters into the
prose, so the two cannot disagree. What this tool cannot know is whether a number was measured. It
looks for units of results (per cent, bits, nats, seconds, "times") and for names of scores beside a
decimal number, and lets pass what has another source:

- a sentence with a citation, or behind one in its paragraph; a sentence that points to a table; a
  table whose caption or row has a citation;
- a worked example: a section whose heading says so, exercises, questions at the end of a chapter,
  and paragraphs that open with an assumption ("Suppose", "Take", "Imagine" ...);
- settings that the book fixes (15 % selected, 95 % intervals), the level of chance, and the sizes
  of numbers in memory (16 bits a weight).

What remains is either turned into a glued number or listed with its reason in
tests/chapters/typed_numbers.toml.

Run: python -m tools.chapters.typed_numbers
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools.chapters.store import ROOT, twin_paths

ALLOWED = ROOT / "tests" / "chapters" / "typed_numbers.toml"
_DIGITS = r"[-+−~]?\d(?:[\d,]*\d)?(?:\.\d+)?"
_NUMBER = rf"(?<![\w.,/^_]){_DIGITS}"
_UNIT = (
    r"(?:\s?%|\s(?:per cent|percentage points?|points?|bits?|nats?|ms|milliseconds?|seconds?"
    r"|minutes?|hours?|kWh|times)\b)"
)
_SCORE = r"(?:loss|accuracy|perplexity|F1|ROUGE(?:-\w)?|MCC|correlation|error|gain|AUC|p-value)"
RESULT = re.compile(
    rf"{_NUMBER}(?:\s(?:to|and)\s{_DIGITS})?{_UNIT}"
    rf"|\b{_SCORE}\b(?:\s(?:of|is|was|at|to|from|reaches|falls to|rises to)){{1,2}}\s{_NUMBER}"
    rf"|\[[-−]?\d[\d.,]*, [-−]?\d[\d.,]*\]",
    re.IGNORECASE,
)
SETTINGS = re.compile(
    r"95 % (?:bootstrap |Wilson |confidence )?intervals?|\b(?:15|80|10) % (?:of the|are|is|become|"
    r"selected|masked|random|kept|hidden|in spans)|80/10/10|\b(?:4|8|16|32|64) bits\b"
    r"|(?:selected\*?|selects?|corrupted|hide|at|chosen|the) 15 %"
    r"|\b(?:chance|constant answer)(?: is| would be| has| of)? \d+ %"
    r"|\d+\s?% (?:by chance|by construction|for a constant answer)",
    re.IGNORECASE,
)
_SOURCE = re.compile(r"\{cite|\{numref\}`tab-")
_ASSUMES = re.compile(
    r"^(?:>\s*)?(?:Suppose|Imagine|Take|Say|Let|If|Assume|A (?:report|colleague|friend)|Someone|"
    r"In the example|For example|By hand|Give|Hand in)\b"
)
_WORKED = re.compile(r"by hand|worked|example|check yourself", re.IGNORECASE)
_FENCE = re.compile(r"^(?P<fence>[`:]{3,})(?:\{(?P<name>[\w:-]+)\})?")
_SKIPPED = {"code-cell", "exercise", "exercise-start", "quiz", "applet", "figure", "image"}


class Finding(NamedTuple):
    """A number that looks typed: chapter, line in its twin, the number, the sentence."""

    chapter: str
    line: int
    number: str
    sentence: str


def findings(twin: Path) -> list[Finding]:
    """List what looks like a typed result in one twin, in the order of the text."""
    found = []
    for line, sentence in sentences(twin.read_text(encoding="utf-8")):
        if _SOURCE.search(sentence) or sentence.lstrip("0123456789. ").startswith("{ref}"):
            continue
        for match in RESULT.finditer(SETTINGS.sub("", plain(sentence))):
            number = match.group(0).strip()
            found.append(Finding(twin.stem, line, number, sentence.strip()))
    return found


def plain(sentence: str) -> str:
    """Remove from a sentence what is computed, quoted or mathematical."""
    sentence = re.sub(r"\{[\w:-]+\}`[^`]*`", " ", sentence)  # glued values and references
    sentence = re.sub(r"`[^`]*`", " ", sentence)
    return re.sub(r"(?<!\\)\$[^$]*\$", " ", sentence)


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a chapter's prose with line numbers from 1, worked examples left out.

    `text` is MyST Markdown. A sentence behind a citation gets one too, and so does a row of a table
    that carries one in its caption.
    """
    skipping, worked, assumed, cited, solution, caption = "", False, False, False, False, ""
    for number, line in enumerate(text.split("\n"), start=1):
        if skipping:
            end = r"\$\$" if skipping == "$$" else rf"{skipping}\s*$"
            skipping = "" if re.match(end, line) else skipping
            continue
        if line.startswith("$$"):
            skipping = "" if line.count("$$") > 1 else "$$"
            continue
        fence = _FENCE.match(line)
        if fence:
            name = fence["name"] or ""
            solution = name == "solution-start" or (solution and name != "solution-end")
            caption = line if name == "table" else caption
            if name in _SKIPPED or fence["fence"].startswith("`"):
                skipping = fence["fence"]
            continue
        if line.startswith("#"):
            worked = bool(_WORKED.search(line))
        if not line.strip():
            assumed = cited = False
            continue
        assumed = assumed or bool(_ASSUMES.match(line))
        if worked or assumed or solution or re.match(r"^(?:#|:\w+:|\()", line):
            continue
        for sentence in re.split(r"(?<=[.?!:;])\s+(?=[A-Z*{])", line):
            cited = cited or "{cite" in sentence
            in_table = line.startswith("|") and "{cite" in caption
            yield number, sentence + (" {cite}" if in_table or cited else "")


def allowed(path: Path = ALLOWED) -> dict[str, dict[str, str]]:
    """Read the list of exceptions: chapter → a piece of the sentence → reason."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def unexplained(root: Path = ROOT) -> list[Finding]:
    """List what looks typed in all chapters and has no reason."""
    reasons = allowed(root / ALLOWED.relative_to(ROOT))
    return [
        finding
        for twin in twin_paths(root)
        for finding in findings(twin)
        if not any(piece in finding.sentence for piece in reasons.get(finding.chapter, {}))
    ]


def main() -> None:
    """Print what should be glued instead."""
    for finding in unexplained():
        print(f"{finding.chapter}:{finding.line}: {finding.number!r} in: {finding.sentence}")


if __name__ == "__main__":
    main()
