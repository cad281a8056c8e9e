# SPDX-License-Identifier: MIT
"""Write the lecture decks: ``make slides``.

Each ``slides/*.md`` describes one deck (:mod:`.text`); what it shows is taken from the chapters as
they are stored (:mod:`.sources`). A deck is one HTML file without any request to another place:
reveal.js (MIT), from a pinned package, stands inside it, images are part of the page, code is
coloured here, and formulas are MathML, which browsers draw by themselves.
"""

import argparse
import html as markup
import re
import sys
from datetime import date
from pathlib import Path

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from pretrain_lab.corpora.download import SourceError, fetch
from tools.chapters.store import ROOT, ChapterError
from tools.editions.slides import layout
from tools.editions.slides.sources import Chapters, Figure
from tools.editions.slides.text import VALUE, Block, Deck, Part, Slide, read_deck, typed_results

REVEAL = "sphinx_revealjs/_static/revealjs"
STYLE = Path(__file__).parents[1] / "assets" / "slides.css"
APPENDIX = 90  # pages from here on are no chapters
AUTHORS, LICENCE = "The authors of Pre-training Paradigms", "CC BY 4.0"
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<div class="reveal"><div class="slides">
{slides}
</div></div>
<!-- reveal.js, copyright Hakim El Hattab and contributors, MIT licence:
{licence}
-->
{scripts}
<script>
Reveal.initialize({{width: 1280, height: 720, margin: 0.02, center: false, hash: true,
  transition: "none", slideNumber: "c/t", plugins: [RevealNotes]}});
</script>
</body>
</html>
"""
INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Lectures</title>
<style>
{style}
</style>
</head>
<body class="lectures">
<h1>Lectures</h1>
<p>{byline}</p>
{items}
<p>In a deck: arrows or space to go on, <kbd>S</kbd> for the speaker's notes, <kbd>Esc</kbd> for an
overview. To print, add <code>?print-pdf</code> to the address.</p>
</body>
</html>
"""


def main(arguments: list[str] | None = None) -> int:
    """Write all decks and an index of them; return 0 if all are written."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--to", type=Path, default=ROOT / "_build" / "slides")
    parser.add_argument("--by", default=AUTHORS, help="who lectures, for the title")
    parser.add_argument("--course", default="", help="the course, for the title")
    parser.add_argument("--date", default=f"{date.today():%-d %B %Y}", help="for the title")
    options = parser.parse_args(arguments)
    options.to.mkdir(parents=True, exist_ok=True)
    items, stored = [], Chapters()
    byline = " · ".join(filter(None, (options.by, options.course, options.date, LICENCE)))
    try:
        for path in sorted((ROOT / "slides").glob("*.md")):
            deck = read_deck(path)
            page = write_deck(deck, stored, byline)
            (options.to / f"{path.stem}.html").write_text(page, encoding="utf-8")
            n_slides = page.count("<section")
            print(f"slides: {path.stem}.html, {n_slides} slides, {len(page) / 1e6:.1f} MB")
            title, about = markup.escape(deck.title), markup.escape(deck.subtitle)
            parts = "".join(f"<li>{markup.escape(part.title)}</li>" for part in deck.parts)
            items.append(
                f'<article><h2><a href="{path.stem}.html">{title}</a></h2><p>{about}</p>'
                f"<ol>{parts}</ol><p>{n_slides} slides</p></article>"
            )
    except (ChapterError, SourceError) as error:
        print(f"slides: {error}", file=sys.stderr)
        return 1
    index = INDEX.format(style=STYLE.read_text("utf-8"), byline=byline, items="".join(items))
    (options.to / "index.html").write_text(index, encoding="utf-8")
    return 0


def write_deck(deck: Deck, stored: Chapters, byline: str = "") -> str:
    """Return a deck as one HTML page; `byline` stands on its title: who, in which course, when.

    Raises:
        ChapterError: A label is not found, or a result is typed instead of taken from a chapter.
        SourceError: reveal.js could not be fetched.
    """
    if typed := typed_results(deck):
        raise ChapterError(f"{deck.title}: take these numbers from a chapter: {', '.join(typed)}")
    title, subtitle = markup.escape(deck.title), markup.escape(deck.subtitle)
    slides = [
        f'<section class="title"><h1>{title}</h1><p>{subtitle}</p>'
        f'<p class="byline">{markup.escape(byline)}</p></section>'
    ]
    for number, part in enumerate(deck.parts, start=1):
        part_title = markup.escape(part.title)
        listed = ", ".join(map(str, chapters_of(part, stored)))
        slides.append(
            f'<section class="part"><p>Part {number}</p><h2>{part_title}</h2>'
            f"<p>Chapters {listed}</p></section>"
        )
        slides += [_slide(slide, stored) for slide in part.slides]
    reveal = fetch("sphinx-revealjs") / REVEAL
    style = "".join((reveal / "dist" / name).read_text() for name in ("reset.css", "reveal.css"))
    scripts = [(reveal / name).read_text() for name in ("dist/reveal.js", "plugin/notes/notes.js")]
    return PAGE.format(
        title=title,
        style=style + STYLE.read_text(encoding="utf-8"),
        slides="\n".join(slides),
        licence=(reveal / "LICENSE").read_text(),
        scripts="".join(f"<script>{_inline(script)}</script>\n" for script in scripts),
    )


def chapters_of(part: Part, stored: Chapters) -> list[int]:
    """List the numbers of the chapters that a part takes its pieces from."""
    blocks = [block for slide in part.slides for block in slide.blocks]
    pages = [match["chapter"] for block in blocks for match in VALUE.finditer(block.text)]
    pages += [b.text.partition(" ")[0] for b in blocks if b.kind in ("output", "code")]
    for block in blocks:
        if block.kind in ("figure", "equation", "table"):
            pages.append(stored.page_of(block.kind, block.text.partition(" ")[0]))
    return sorted({int(page[:2]) for page in pages if page < "9"})


def render(text: str) -> str:
    """Turn a slide's Markdown into HTML, with the formulas in ``$…$`` as MathML."""
    markdown = MarkdownIt("commonmark").enable("table")
    markdown.use(
        dollarmath_plugin,
        renderer=lambda content, options: math(content, display=options["display_mode"]),
    )
    return str(markdown.render(text))


def math(latex: str, *, display: bool) -> str:
    """Turn LaTeX into a ``<math>`` element, which with `display` has a line of its own."""
    simple = latex.replace(r"\bigl", "").replace(r"\bigr", "").replace(r"\Big", "")
    element = str(convert(simple, display="block" if display else "inline"))
    return re.sub(r"(<mi>(?:log|exp|ln)</mi>)", r'\1<mspace width="0.17em"/>', element)


def _slide(slide: Slide, stored: Chapters) -> str:
    """Write one slide; a figure that is not wide stands beside the text."""
    figures = [stored.figure(b.text) for b in slide.blocks if b.kind == "figure"]
    beside = bool(figures) and layout.stands_beside(figures[0].aspect, slide.blocks)
    pieces = [
        _figure(stored.figure(block.text), slide, beside=beside)
        if block.kind == "figure"
        else _block(block, stored)
        for block in slide.blocks
    ]
    if beside:
        is_figure = [block.kind == "figure" for block in slide.blocks]
        left = "".join(piece for piece, yes in zip(pieces, is_figure, strict=True) if yes)
        right = "".join(piece for piece, yes in zip(pieces, is_figure, strict=True) if not yes)
        pieces = [f'<div class="beside"><div>{left}</div><div>{right}</div></div>']
    notes = f'<aside class="notes">{_filled(slide.notes, stored)}</aside>' if slide.notes else ""
    look = "body sparse" if layout.is_sparse(slide.blocks) else "body"
    inside = f'<h2>{render(slide.title)[3:-5]}</h2><div class="{look}">{"".join(pieces)}</div>'
    return f'<section><div class="slide">{inside}</div>{notes}</section>'


def _figure(figure: Figure, slide: Slide, *, beside: bool) -> str:
    """Write a figure, as large as its slide has room for, with its chapter and claim below it."""
    width = layout.figure_width(figure.aspect, figure.claim, slide.blocks, beside=beside)
    image = f'<img src="{figure.address}" alt="{markup.escape(figure.alt)}" width="{width}">'
    page = int(figure.chapter[:2])
    source = f"{f'Chapter {page}' if page < APPENDIX else 'The lab'}: {figure.claim}"
    return f"<figure>{image}<figcaption>{render(source)}</figcaption></figure>"


def _block(block: Block, stored: Chapters) -> str:
    """Write one piece of a slide."""
    kind, text = block
    if kind == "equation":
        return f'<div class="equation">{math(stored.equation(text), display=True)}</div>'
    if kind == "table":
        label, _, n_rows = text.partition(" ")
        table = stored.table(label, int(n_rows) if n_rows else None)
        return _stored(render(table), layout.table_size(table))
    if kind in ("output", "code"):
        chapter, _, words = text.partition(" ")
        if kind == "output":
            first, _, rest = words.partition(" ")
            shown_rows = int(first) if first.isdigit() else None
            table = stored.output(chapter, words if shown_rows is None else rest, shown_rows)
            bare = re.sub(r"<style.*?</style>|<[^>]+>", " ", table, flags=re.S)
            return _stored(table, layout.table_size(bare))
        formatter = HtmlFormatter(noclasses=True, style="xcode")
        return str(highlight(stored.code(chapter, words), PythonLexer(), formatter))
    shown = _filled(text, stored)
    if kind == "question":
        return f'<div class="question">{shown}</div>'
    return f'<div class="answer fragment">{shown}</div>' if kind == "answer" else shown


def _stored(table: str, size: int) -> str:
    """Wrap a chapter's table, with the size of its text."""
    return f'<div class="stored" style="font-size: {size}px">{table}</div>'


def _filled(text: str, stored: Chapters) -> str:
    """Put the chapters' values into a text and turn it into HTML."""
    return render(VALUE.sub(lambda m: stored.value(m["chapter"], m["key"]), text))


def _inline(script: str) -> str:
    """Make a script safe to stand inside a page: no end tag of a script in its texts."""
    return script.replace("</script", r"<\/script").replace("//# sourceMappingURL", "// source map")


if __name__ == "__main__":
    sys.exit(main())
