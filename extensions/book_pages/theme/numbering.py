# SPDX-License-Identifier: MIT
"""Number sections, figures, equations and exercises after the chapter's file name.

``chapters/04_gpt.ipynb`` is chapter 4, whichever chapters the table of contents lists: its
sections are 4.1, 4.2, …, its figures, equations, definitions and exercises likewise. The chapter
number itself is typed in the title, so that it also stands in Jupyter. On the sub-pages of a
chapter, ``04_gpt_behind`` and ``04_gpt_exercises``, figures and the like count on, and sections
have no numbers. Names from 90 on are back matter and those with 00 front matter, without numbers:
``90_agreement`` stands behind the chapters and ``00_first_fine_tuning`` before them.
"""

import re
from pathlib import PurePosixPath

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors.toctree import TocTreeCollector
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import clean_astext

SectionNumbers = dict[str, tuple[int, ...]]
SUB_PAGES = ("_behind", "_exercises")


def register(app: Sphinx) -> None:
    """Renumber after Sphinx has collected its own numbers, and name chapters by their number."""
    app.connect("env-get-updated", renumber, priority=900)
    app.add_post_transform(ShortNames)


class ShortNames(SphinxPostTransform):
    """Let ``{doc}`04_gpt` `` say "Chapter 4", since the whole title breaks a sentence."""

    default_priority = 5  # before Sphinx resolves references

    def run(self, **kwargs: object) -> None:
        """Give every reference to a chapter's page without a text of its own a short one."""
        for reference in self.document.findall(addnodes.pending_xref):
            if reference.get("reftype") != "doc" or reference.get("refexplicit"):
                continue
            if _is_listed(reference):
                continue
            page = str(PurePosixPath("chapters", PurePosixPath(reference["reftarget"]).name))
            if chapter_number(page) and page in self.env.titles:
                text = short_name(page, clean_astext(self.env.titles[page]))
                reference.children = [nodes.inline(text, text, classes=["doc"])]
                reference["refexplicit"] = True


def _is_listed(reference: nodes.Node) -> bool:
    """Return whether a reference stands in the table of what chapters cost, which names them."""
    above = reference.parent
    while above is not None and "receipts" not in above.get("classes", []):
        above = above.parent
    return above is not None


def short_name(page: str, title: str) -> str:
    """Return what to call a page: "Chapter 4", "Behind chapter 4", or else its title."""
    number = chapter_number(page)
    if number is None:
        return title
    return title.partition(":")[0] if page.endswith(SUB_PAGES) else f"Chapter {number}"


def chapter_number(docname: str) -> int | None:
    """Return the chapter number with which a page's name, such as ``chapters/04_gpt``, starts.

    It is None for pages such as ``chapters/index``, ``chapters/90_agreement`` and
    ``chapters/00_first_fine_tuning``.
    """
    match = re.match(r"(?!9\d_|00_)(\d+)_", PurePosixPath(docname).name)
    return int(match.group(1)) if match else None


def renumber(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Replace the section, figure and equation numbers in the environment's tables.

    Returns the pages whose numbers changed, so that Sphinx writes them again.
    """
    old = {page: _numbers(env, page) for page in env.tocs}
    env.toc_secnumbers = {page: _number_sections(env, page) for page in env.tocs}
    prefixes = {page: (number,) for page in env.tocs if (number := chapter_number(page))}
    for page, prefix in prefixes.items():
        env.toc_secnumbers[page][""] = prefix  # figures above the first section need it
    TocTreeCollector().assign_figure_numbers(env)
    for page in prefixes:
        del env.toc_secnumbers[page][""]  # the title has its number already, typed
    return [page for page in env.tocs if _numbers(env, page) != old[page]]


def _numbers(env: BuildEnvironment, page: str) -> tuple[object, object]:
    """Return a page's section and figure numbers, to compare them."""
    return env.toc_secnumbers.get(page), env.toc_fignumbers.get(page)


def _number_sections(env: BuildEnvironment, page: str) -> SectionNumbers:
    """Number a chapter's second-level sections, in the page and in its table of contents."""
    number = chapter_number(page)
    numbers: SectionNumbers = {}
    if number is None or page.endswith(SUB_PAGES):
        return numbers
    for position, reference in enumerate(_section_references(env.tocs[page]), start=1):
        numbers[reference["anchorname"]] = (number, position)
        reference["secnumber"] = [number, position]
    return numbers


def _section_references(toc: nodes.bullet_list) -> list[nodes.reference]:
    """Return the links to the second-level sections of one page's table of contents."""
    found = []
    for paragraph in toc.findall(addnodes.compact_paragraph):
        item = paragraph.parent
        if isinstance(item.parent.parent, nodes.list_item) and item.parent.parent.parent is toc:
            found.extend(paragraph.findall(nodes.reference))
    return found
