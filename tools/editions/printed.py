# SPDX-License-Identifier: MIT
"""Print the whole book through the browser: ``make print``.

Sphinx's ``singlehtml`` builder writes all chapters into one page. That page gets a table of
contents, its folds are opened, folded code and what only a screen needs are removed, and Chromium
prints it to ``_build/book.pdf``, with the headings as the file's outline. The rules of the printed
page are in ``assets/print.css``, beside this module.
"""

import argparse
import sys
from pathlib import Path

from bs4 import BeautifulSoup, Tag

from tools.chapters.store import ROOT, ChapterError
from tools.editions.building import build_strictly, find_browser, run_browser

STYLE = Path(__file__).with_name("assets") / "print.css"
ON_SCREEN_ONLY = (
    ".bd-header, .bd-sidebar-primary, .bd-sidebar-secondary, .bd-header-article, .pst-skip-link, "
    "#pst-skip-link, .prev-next-footer, .bd-footer, .headerlink, dialog, .toctree-wrapper > p, "
    "button, .tableofcontents-wrapper, .onlyprint, #jb-print-docs-body, .chapter-pages"
)
FOLDED_CODE = "div.cell details.hide"


def main(arguments: list[str] | None = None) -> int:
    """Build the one page and print it; return 0 if the PDF is written."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--to", type=Path, default=ROOT / "_build" / "book.pdf")
    options = parser.parse_args(arguments)
    try:
        find_browser()  # before the minute that the pages take
        folder = build_strictly(ROOT, ROOT / "_build" / "print", "singlehtml")
        page = one_page(folder)
        print_page(page, options.to)
    except ChapterError as error:
        print(f"print: {error}", file=sys.stderr)
        return 1
    return 0


def one_page(folder: Path) -> Path:
    """Write the printable page into the builder's folder, to which its addresses are relative.

    Raises:
        ChapterError: There is no page of the whole book.
    """
    built = max(folder.rglob("*.html"), key=lambda path: path.stat().st_size, default=None)
    if built is None:
        raise ChapterError(f"no page in {folder}")
    soup = BeautifulSoup(built.read_text(encoding="utf-8"), "html.parser")
    prepare(soup)
    page = folder / "print.html"
    page.write_text(str(soup), encoding="utf-8")
    return page


def prepare(soup: BeautifulSoup) -> None:
    """Make the book as one page fit for paper, in place."""
    for element in soup.select(f"{ON_SCREEN_ONLY}, {FOLDED_CODE}"):
        element.decompose()
    for fold in soup.find_all("details"):
        fold["open"] = ""
    for folded in soup.select(".dropdown, .toggle"):
        names = [name for name in folded["class"] if name not in ("dropdown", "toggle")]
        folded["class"] = " ".join(names)
    for script in soup.find_all("script"):
        script.decompose()
    headings = soup.select(".toctree-wrapper :is(h1, h2, h3, h4, h5, h6)")
    top = min((int(heading.name[1]) for heading in headings), default=1)
    for heading in headings:  # a chapter comes below the book's title
        heading.name = f"h{int(heading.name[1]) - top + 1}"
    article = soup.find("article")
    if isinstance(article, Tag):
        title = article.find("h1")
        contents = BeautifulSoup(table_of_contents(article), "html.parser")
        if isinstance(title, Tag):
            title["class"] = "book-title"
            title.insert_after(contents)
    style = soup.new_tag("style")
    style.string = STYLE.read_text(encoding="utf-8")
    (soup.head or soup).append(style)


def table_of_contents(article: Tag) -> str:
    """List the chapters and their sections with links, as nested HTML lists."""
    items = []
    for heading in article.find_all(["h1", "h2"])[1:]:
        section = heading.find_parent("section")
        if section is None or not section.get("id"):
            continue
        words = " ".join(heading.get_text(" ").split())
        items.append(
            f'<li class="level-{heading.name}"><a href="#{section["id"]}">{words}</a></li>'
        )
    return f'<nav class="printed-contents"><p>Contents</p><ul>{"".join(items)}</ul></nav>'


def print_page(page: Path, pdf: Path) -> None:
    """Print a page to a PDF file with an outline.

    Raises:
        ChapterError: There is no browser, or it wrote nothing.
    """
    pdf.parent.mkdir(parents=True, exist_ok=True)
    pdf.unlink(missing_ok=True)
    run_browser(
        "--no-pdf-header-footer",
        "--generate-pdf-document-outline",
        "--virtual-time-budget=600000",
        f"--print-to-pdf={pdf}",
        page.as_uri(),
        seconds=1800,
    )
    if not pdf.is_file():
        raise ChapterError(f"the browser wrote no {pdf.name}")


if __name__ == "__main__":
    sys.exit(main())
