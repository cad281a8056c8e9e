# SPDX-License-Identifier: MIT
"""Reduce the icon fonts to the icons that the pages show.

The theme brings three FontAwesome fonts with 1,900 rules of style, 170 KiB for a page that shows
fifteen icons. After the build this module keeps the rules of the icons that are named in the pages,
and writes one font with the glyphs that the styles still name. The fonts stand under the SIL Open
Font License, which reserves their name; the reduced font therefore has a name of its own.
"""

import re
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

THEME_STYLE = "_static/styles/pydata-sphinx-theme.css"
FONTS = "_static/vendor/fontawesome/webfonts"
FAMILY = r"Font Awesome\ 6 Free"
ICON_FONT = "book-icons.woff"
FACE = (
    f"@font-face{{font-display:block;font-family:{FAMILY};font-style:normal;font-weight:900;"
    f'src:url(../{FONTS.removeprefix("_static/")}/{ICON_FONT}) format("woff")}}'
)
NAMES = {
    1: "Book icons",
    2: "Regular",
    4: "Book icons",
    6: "BookIcons",
    13: "Licensed under the SIL Open Font License, Version 1.1, see _static/licences.txt.",
    14: "https://openfontlicense.org",
}
_GLYPH_RULE = re.compile(r'((?:\.fa-[\w-]+:before,?)+)\{content:"[^"]*"\}')
_FACE = re.compile(r"@font-face\{[^}]*Font Awesome[^}]*\}")
_NAMED = re.compile(r"\bfa-[a-z][a-z-]*")
_CODE = re.compile('"(?:\\\\([ef][0-9a-f]{3})|([\ue000-\uf8ff]))"')  # escaped, or the character


def register(app: Sphinx) -> None:
    """Reduce the icons once everything is written."""
    app.connect("build-finished", reduce_icons)


def reduce_icons(app: Sphinx, exception: Exception | None) -> None:
    """Rewrite the theme's style sheet and write the small font, unless the build ended early.

    Raises:
        ExtensionError: The style sheet is not as this module knows it.
    """
    output = Path(app.outdir)
    style = output / THEME_STYLE
    if exception is not None or app.builder.format != "html" or not style.is_file():
        return
    text = style.read_text(encoding="utf-8")
    if not _FACE.search(text):
        return  # reduced in an earlier build, and not copied anew
    reduced = reduce_style(text, named_icons(output))
    if ICON_FONT not in reduced:
        raise ExtensionError(f"{THEME_STYLE}: expected FontAwesome's @font-face rules, found none")
    style.write_text(reduced, encoding="utf-8")
    styles = "".join(path.read_text(encoding="utf-8") for path in output.rglob("*.css"))
    write_font(output / FONTS / "fa-solid-900.ttf", codes_of(styles), output / FONTS / ICON_FONT)
    for path in (output / FONTS).glob("fa-*"):
        path.unlink()


def named_icons(output: Path) -> set[str]:
    """Return the icon classes, such as ``fa-bars``, that pages and scripts name."""
    paths = [*output.rglob("*.html"), *(output / "_static").glob("*.*js")]
    return {name for path in paths for name in _NAMED.findall(path.read_text(encoding="utf-8"))}


def codes_of(styles: str) -> set[int]:
    """Return the code points of the glyphs that style sheets name, such as 0xf0c9."""
    found = _CODE.findall(styles)
    return {int(code, 16) if code else ord(character) for code, character in found}


def reduce_style(text: str, names: set[str]) -> str:
    """Remove from the theme's style sheet the rules of other icons, and the three fonts but one."""

    def kept(rule: re.Match[str]) -> str:
        """Keep the rule of a wanted icon, drop every other."""
        wanted = {part.removesuffix(":before") for part in rule[1].replace(".", "").split(",")}
        return rule[0] if wanted & names else ""

    first, *others = _FACE.findall(text) or [""]
    for face in others:
        text = text.replace(face, "")
    return _GLYPH_RULE.sub(kept, text.replace(first, FACE, 1) if first else text)


def write_font(source: Path, codes: set[int], target: Path) -> None:
    """Write the glyphs of some code points, those that exist, as a WOFF font of its own name."""
    with TTFont(source, recalcTimestamp=False) as font:
        options = subset.Options(name_IDs=[0, 13, 14], flavor="woff", notdef_outline=True)
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=codes)
        subsetter.subset(font)
        for name_id, name in NAMES.items():
            font["name"].setName(name, name_id, 3, 1, 0x409)
        font.flavor = "woff"
        font.save(target)
