# SPDX-License-Identifier: MIT
"""The applets of a page of the book on a page that holds nothing else.

A chapter takes two seconds to open: formulas, side bars, previews. An applet needs none of that, so
its tests open a page with the same styles, static forms and scripts of the applets' own, in a
window that stays open from one test of a module to the next. A page loaded anew is a new start:
modules, models and state go with the old document.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Page
from visiting import MILLISECONDS, Visit, Visitor, listen

from tools.editions import browsing

APPLET = re.compile(r'<(pt-[a-z-]+)\s+class="applet".*?</\1>', re.DOTALL)
STYLES = re.compile(r'<link [^>]*rel="(?:stylesheet|icon)"[^>]*>')
SCRIPTS = re.compile(r'<script [^>]*src="[^"]*/(?:applets/start|scrolling)\.js[^>]*></script>')
THEME = """<script>document.documentElement.dataset.theme =
matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";</script>"""
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Stand</title>
<meta name="viewport" content="width=device-width, initial-scale=1">{head}</head>
<body><main class="bd-main"><div class="bd-content"><div class="bd-article-container">
<article class="bd-article"><h1>Stand</h1><h2>Section</h2>{applets}</article>
</div></div></main></body></html>"""


def furnish(html: Path, folder: Path) -> None:
    """Write the pages that have applets, and link what they load.

    Args:
        html: The built book.
        folder: Gets ``chapters/`` with the pages, and links to the other folders of the build.
    """
    for path in html.iterdir():
        if path.is_dir() and path.name != "chapters":
            (folder / path.name).symlink_to(path)
    (folder / "chapters").mkdir()
    for path in (html / "chapters").glob("*.html"):
        text = path.read_text(encoding="utf-8")
        if applets := [match[0] for match in APPLET.finditer(text)]:
            head = "".join([*STYLES.findall(text), THEME, *SCRIPTS.findall(text)])
            page = PAGE.format(head=head, applets="\n".join(applets))
            (folder / "chapters" / path.name).write_text(page, encoding="utf-8")


class Window:
    """A page that stays open, and what has been noted of it since it was last loaded."""

    def __init__(self, page: Page, address: str) -> None:
        """Take a page of a context of its own.

        Args:
            page: Of Playwright.
            address: Where the stand is served.
        """
        page.set_default_timeout(MILLISECONDS)
        self.visit, self.address = Visit(page), address
        listen(self.visit, address)
        page.on("request", lambda request: self._note_stranger(request.url))

    def _note_stranger(self, url: str) -> None:
        # No route refuses them, as a route costs the cache; the browser finds no other host anyway.
        if not url.startswith((self.address, "data:", "blob:")):
            self.visit.foreign.append(url)

    def clear(self, *, width: int, height: int, theme: str, reduced_motion: bool) -> None:
        """Forget what was noted, and be the window of another reader."""
        page = self.visit.page
        page.unroute_all()
        page.set_viewport_size({"width": width, "height": height})
        motion = "reduce" if reduced_motion else "no-preference"
        page.emulate_media(media="screen", color_scheme=theme, reduced_motion=motion)
        for noted in (self.visit.asked, self.visit.foreign, self.visit.errors, self.visit.failures):
            noted.clear()


class StandVisitor(Visitor):
    """A `Visitor` of the stand; only a visit without scripts gets a window of its own."""

    def __init__(self, window: Window) -> None:
        """Use a window that another test may have used."""
        browser = window.visit.page.context.browser
        assert browser is not None
        super().__init__(browser, window.address)
        self.window = window

    def __call__(
        self,
        path: str,
        *,
        width: int = 1280,
        height: int = 900,
        theme: str = "light",
        javascript: bool = True,
        reduced_motion: bool = False,
        missing: Sequence[str] = (),
        may_fail: bool = False,
    ) -> Visit:
        """Open a page of the stand, see `Visitor`; it takes the place of the one before."""
        if not javascript:
            return super().__call__(
                path, width=width, height=height, theme=theme, javascript=False, may_fail=may_fail
            )
        visit = self.window.visit
        self.window.clear(width=width, height=height, theme=theme, reduced_motion=reduced_motion)
        for pattern in missing:
            visit.page.route(pattern, lambda route: route.fulfill(status=404))
        self.visits = [one for one in self.visits if one[0] is not visit]
        self.visits.append((visit, may_fail or bool(missing)))
        visit.page.goto(self.address + path)
        visit.page.evaluate(browsing.SETTLED)
        return visit
