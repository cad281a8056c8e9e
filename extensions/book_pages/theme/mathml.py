# SPDX-License-Identifier: MIT
"""Turn a formula in TeX into MathML, which browsers draw without a script and readers can hear.

The library ``latex2mathml`` knows TeX's commands, but not TeX's rules of space. They are added
here: minus signs with one operand, function names, scripts, accents and marks of punctuation. A
long formula comes in several pieces, between which a line may break, since browsers break none
inside ``<math>``. The lines of ``aligned`` stand below each other, without its columns. Not
implemented: other tables, and colours.
"""

import re
from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert

NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"
UNSPACED = set("…./")
OPENING, CLOSING, BARS = set("([{⌈⌊"), set(")]}⌉⌋"), set("|‖")
SIGNS, TIMES = set("+−±"), {"×"}
RELATIONS = set("=≈∝≤≥<>∈⟹⇒→≠∼≫≪")
ACCENTS = {"~": "˜", "^": "ˆ", "¯": "¯", "→": "→"}
COMMANDS = {"\\lceil": "⌈", "\\rceil": "⌉", "\\lfloor": "⌊", "\\rfloor": "⌋"}
SCRIPTED = {"msub", "msup", "msubsup", "munder", "mover", "munderover"}
THIN, QUAD = "0.167em", 1.0
LONGEST = 24  # letters of a formula that no line breaks
LONGEST_INLINE = 12
SHORTEST = 3  # letters that stand on a line of their own


def formula(tex: str, *, is_display: bool) -> str:
    """Write a formula as one or more ``<math>`` elements, between which a line may break.

    Raises:
        ValueError: A command of TeX stayed in the result, which would be shown as it is.
    """
    lines = re.sub(r"\\(?:begin|end)\{(?:aligned|split)\}|&", "", tex).split(r"\\")
    return "<br>".join(_line(line.strip(), is_display) for line in lines)


def _line(tex: str, is_display: bool) -> str:
    """Write one line of a formula."""
    source = tex.replace("\\!", "")
    root = ElementTree.fromstring(convert(source, display="block" if is_display else "inline"))
    _strip_namespace(root)
    _amend(root, in_script=False)
    row = list(root[0]) if len(root) == 1 and root[0].tag == "mrow" else list(root)
    if unknown := [text for text in root.itertext() if text.startswith("\\")]:
        raise ValueError(f"{unknown[0]} is unknown in the formula {tex!r}")
    letters = len("".join(root.itertext()))
    is_long = letters > (LONGEST if is_display else LONGEST_INLINE)
    if not is_long:
        return _written(row, is_display)
    parts = [
        "<wbr>".join(_written(piece, is_display) for piece in _pieces(part, before=is_display))
        for part in _parts(row)
    ]
    return parts[0] if len(parts) == 1 else "<wbr>".join(f"<span>{part}</span>" for part in parts)


def _strip_namespace(root: Element) -> None:
    """Name elements as HTML does."""
    for element in root.iter():
        element.tag = element.tag.removeprefix(NAMESPACE)


def _written(row: list[Element], is_display: bool) -> str:
    """Write one piece of a formula."""
    math = Element("math", {"displaystyle": "true"} if is_display else {})
    math.extend(row)
    return ElementTree.tostring(math, encoding="unicode")


def _parts(row: list[Element]) -> Iterator[list[Element]]:
    """Cut a row after wide spaces, which stand between two formulas."""
    part: list[Element] = []
    for element in row:
        part.append(element)
        if element.tag == "mspace" and float(element.get("width", "0")[:-2]) >= QUAD:
            yield part
            part = []
    if part:
        yield part


def _pieces(row: list[Element], before: bool) -> Iterator[list[Element]]:
    """Cut a row at signs outside brackets: before them, or behind them in a line of text.

    Signs are relations, plus, minus, times and, on lines of their own, sums.
    """
    piece: list[Element] = []
    depth = 0
    for element in row:
        sign = (element.text or "") if element.tag == "mo" else ""
        depth += (sign in OPENING) - (sign in CLOSING)
        breaks = depth == 0 and _joins(element)
        if breaks:
            element.set("form", "infix")
        is_line = sum(len("".join(one.itertext())) for one in piece) > SHORTEST
        if before and is_line and (breaks or _has_big_operator(element)):
            yield piece
            piece = []
        piece.append(element)
        if breaks and not before:
            yield piece
            piece = []
    if piece:
        yield piece


def _joins(element: Element) -> bool:
    """Return whether an element is a sign between two parts of a formula."""
    sign = (element.text or "") if element.tag == "mo" else ""
    return sign in RELATIONS | TIMES or (sign in SIGNS and element.get("form") == "infix")


def _amend(parent: Element, in_script: bool) -> None:
    """Mend an element's content, in place, from the inside out."""
    for position, child in enumerate(list(parent)):
        _amend(child, in_script or (parent.tag in SCRIPTED and position > 0))
    _name_functions(parent)
    _place_accents(parent)
    if parent.tag not in SCRIPTED and parent.tag != "mfrac":
        _space_functions(parent)
    before: Element | None = None
    for child in parent:
        if child.tag == "mo":
            _space_operator(child, before, in_script, is_alone=len(parent) == 1)
        if child.tag != "mspace":
            before = child
    if parent.tag in SCRIPTED:
        for child in parent[1:]:
            if child.tag == "mo":
                _no_space(child)


def _name_functions(parent: Element) -> None:
    """Make names out of operators with letters, and one name out of upright letters in a row."""
    letters = list(parent)
    if len(letters) > 1 and all(one.get("mathvariant") == "normal" for one in letters):
        letters[0].text = "".join(one.text or "" for one in letters)
        del letters[0].attrib["mathvariant"]
        for one in letters[1:]:
            parent.remove(one)
    for child in parent:
        text = child.text or ""
        child.text = COMMANDS.get(text, child.text)
        if child.tag == "mo" and (text[:1].isalpha() or text == "∂"):
            child.tag, child.attrib = "mi", {}
        elif child.tag == "mi" and text in RELATIONS:
            child.tag = "mo"


def _place_accents(parent: Element) -> None:
    """Say of a tilde, a hat or a bar that it belongs to the letter below it."""
    if parent.tag == "mover" and len(parent) == 2 and parent[1].text in ACCENTS:
        parent.set("accent", "true")
        parent[1].text = ACCENTS[parent[1].text or ""]
        parent[1].set("stretchy", "false")


def _space_functions(parent: Element) -> None:
    """Part the name of a function from what stands before and behind it, except brackets."""
    row = list(parent)
    for position, child in enumerate(row):
        if not _is_function(child):
            continue
        after = row[position + 1] if position + 1 < len(row) else None
        if after is not None and after.tag != "mspace" and not _opens(after):
            parent.insert(list(parent).index(child) + 1, Element("mspace", width=THIN))
        before = row[position - 1] if position else None
        if before is not None and before.tag != "mspace" and _is_operand(before):
            parent.insert(list(parent).index(child), Element("mspace", width=THIN))


def _is_function(element: Element) -> bool:
    """Return whether an element is a name such as log, or one with a base."""
    base = element[0] if element.tag in ("msub", "msup") else element
    return base.tag == "mi" and len(base.text or "") > 1


def _opens(element: Element) -> bool:
    """Return whether an element begins with an opening bracket."""
    first = element[0] if element.tag in ("mrow", "msup", "msub") and len(element) else element
    return first.tag == "mo" and (first.text or "") in OPENING


def _space_operator(sign: Element, before: Element | None, in_script: bool, is_alone: bool) -> None:
    """Give an operator the space that TeX gives it where it stands."""
    text = sign.text or ""
    if text in BARS and sign.get("stretchy") != "true":
        sign.set("stretchy", "false")
    if in_script or is_alone or text in BARS or text in UNSPACED:
        _no_space(sign)
    elif text in SIGNS:
        sign.set("form", "infix" if _is_operand(before) else "prefix")


def _no_space(sign: Element) -> None:
    """Take away the space around an operator."""
    sign.set("lspace", "0")
    sign.set("rspace", "0")


def _is_operand(element: Element | None) -> bool:
    """Return whether an element can be the left side of a plus or a minus."""
    if element is None or _has_big_operator(element):
        return False
    return element.tag != "mo" or (element.text or "") in CLOSING | BARS


def _has_big_operator(element: Element) -> bool:
    """Return whether an element is a sum or product with its limits."""
    return element.tag in SCRIPTED and element[0].tag == "mo"
