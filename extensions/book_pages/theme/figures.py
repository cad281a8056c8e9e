# SPDX-License-Identifier: MIT
"""Draw a chapter's figures in the page itself, in the colours of the reader's theme.

A notebook stores its figures as SVG (``pretrain_book.style.svg_of``), which would be a closed
picture behind ``<img>``. Here the drawing becomes part of the page: its text is the page's text,
and each of its colours a variable, ``var(--fig-0072b2, #0072b2)``, whose value a dark page changes.
The dark value keeps the hue and turns the lightness over, so that ink stays ink and ground stays
ground; only the three paradigms' colours and the ground are chosen by hand. The script
``figures.js`` shows a figure large when it is pressed.

Leaves out: figures stored as PNG, which keep a white card.
"""

import re
from html import escape, unescape
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

LIGHT_INK, DARK_INK, DARK_GROUND = 0.25, 0.92, 0.2  # lightness (OKLab); a dark ground is #161616
CHOSEN = {
    "#0072b2": "#56b4e9",
    "#009e73": "#2fc79c",
    "#d55e00": "#ff9a4d",
    "#ffffff": "var(--pst-color-background)",
}
_IMAGE = re.compile(r'<img\b[^>]*\bsrc="[^"]*_images/(?P<name>[^"/]+\.svg)"[^>]*>')
_ALT = re.compile(r'\balt="([^"]*)"')
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_STYLE = re.compile(r'\bstyle="[^"]*"')
_ATTRIBUTE = re.compile(r'\s(fill|stroke)="(#[0-9a-f]{6})"')  # of a hatch, which has no style
_FONT = re.compile(r"'Source Sans Pro'(?:, '[^']*'|, [a-z-]+)*|'DejaVu Sans'(?:, [a-z-]+)*")
_TO_LMS = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
_TO_LAB = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)
_FROM_LAB = (
    (1.0, 0.3963377774, 0.2158037573),
    (1.0, -0.1055613458, -0.0638541728),
    (1.0, -0.0894841775, -1.2914855480),
)
_FROM_LMS = (
    (4.0767416621, -3.3077115913, 0.2309699292),
    (-1.2684380046, 2.6097574011, -0.3413193965),
    (-0.0041960863, -0.7034186147, 1.7076147010),
)


def register(app: Sphinx) -> None:
    """Put the drawings into every page, before the sizes of its pictures are looked up."""
    app.connect("html-page-context", draw_figures, priority=450)
    app.add_js_file("figures.js", loading_method="defer")


def draw_figures(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Replace the SVG pictures of one page by their drawings, and give it their dark colours."""
    if "body" not in context or app.builder.format != "html":
        return
    names: dict[str, str] = {name: source for source, name in app.builder.images.items()}
    files = {name: Path(app.srcdir) / source for name, source in names.items()}
    body = inlined(context["body"], files)
    if body != context["body"]:
        context["body"] = body
        context["metatags"] = context.get("metatags", "") + dark_colours(body)


def inlined(body: str, files: dict[str, Path]) -> str:
    """Replace the SVG pictures in a page's HTML by their drawings, ``alt`` becoming the label."""

    def draw(image: re.Match[str]) -> str:
        """Read one drawing."""
        path = files.get(image["name"])
        if path is None:
            return image[0]
        alt = _ALT.search(image[0])
        return drawing(path.read_text(encoding="utf-8"), unescape(alt[1]) if alt else "", path.stem)

    return _IMAGE.sub(draw, body)


def drawing(svg: str, label: str, name: str) -> str:
    """Write one drawing so that it can stand in a page.

    Args:
        svg: The stored drawing.
        label: What it shows, for readers who do not see it.
        name: Something that no other drawing of the page has; its first letters keep ids apart.
    """
    ids = f"f{name[:8]}-"
    text = svg[svg.index("<svg") :]
    text = re.sub(r'\bid="', f'id="{ids}', text)
    text = re.sub(r'((?:url\(|href=")#)', rf"\1{ids}", text)
    text = _ATTRIBUTE.sub(r' style="\1: \2"', text)
    text = _STYLE.sub(lambda style: _COLOUR.sub(_variable, _FONT.sub(_face, style[0])), text)
    width = re.search(r'\bwidth="([\d.]+)pt"', text)
    size = f"--width:{float(width[1]) * 4 / 3:.0f}px" if width else ""
    text = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>", "", text, count=1, flags=re.S)
    text = re.sub(r'\s(?:width|height|version|xmlns(?::xlink)?)="[^"]*"', "", text, count=5)
    start = f'<svg class="book-figure" role="img" aria-label="{escape(label)}" style="{size}"'
    return text.replace("<svg", start, 1).replace("xlink:href", "href")


def _variable(colour: re.Match[str]) -> str:
    """Make a colour a variable whose value is that colour unless the theme gives another."""
    return f"var(--fig-{colour[0][1:]}, {colour[0]})"


def _face(font: re.Match[str]) -> str:
    """Name the face of the page's own text in figures."""
    return "var(--book-sans)"


def dark_colours(body: str) -> str:
    """Write the rule that gives a dark page the colours of its drawings."""
    colours = sorted({"000000", *re.findall(r"var\(--fig-([0-9a-f]{6}),", body)})
    values = ";".join(f"--fig-{one}:{dark(f'#{one}')}" for one in colours)
    return f'<style>html[data-theme="dark"]{{{values}}}</style>'


def dark(colour: str) -> str:
    """Return the counterpart of a colour on a dark ground: the same hue, its lightness turned."""
    if colour in CHOSEN:
        return CHOSEN[colour]
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    light, *hue = _times(_TO_LAB, [value ** (1 / 3) for value in _times(_TO_LMS, linear)])
    turned = DARK_GROUND + (DARK_INK - DARK_GROUND) * (1 - light) / (1 - LIGHT_INK)
    lms = [value**3 for value in _times(_FROM_LAB, [min(turned, DARK_INK), *hue])]
    values = [min(1.0, max(0.0, value)) for value in _times(_FROM_LMS, lms)]
    shown = [12.92 * v if v <= 0.0031308 else 1.055 * v ** (1 / 2.4) - 0.055 for v in values]
    return "#" + "".join(f"{round(255 * value):02x}" for value in shown)


def _times(matrix: tuple[tuple[float, ...], ...], vector: list[float]) -> list[float]:
    """Multiply a matrix by a vector."""
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]
