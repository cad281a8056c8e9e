# SPDX-License-Identifier: MIT
"""Open a page as a reader would, and note what it asks for and what goes wrong."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from playwright.sync_api import Browser, BrowserContext, Frame, Page, Request, Response, Route

from tools.editions import browsing

MILLISECONDS = 120_000  # a machine under load is slow; no test asserts a time
WATCH = """window.layoutShifts = [];
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) {
    const nodes = one.sources.map((source) => source.node);
    const named = nodes.map((node) => node?.className || node?.nodeName || "");
    if (!one.hadRecentInput) window.layoutShifts.push({ score: one.value, nodes: named });
  }
}).observe({ type: "layout-shift", buffered: true });"""


@dataclass(frozen=True)
class Failure:
    """A request that brought nothing."""

    text: str
    """Its address and the reason."""
    document: int
    """Which of the visit's documents asked, from 1 on; 0 asked for the first."""
    aborted: bool
    """Whether the browser itself cut it off."""
    is_icon: bool = False
    """Whether the browser asked for the page's icon, and not the page."""


@dataclass
class Visit:
    """An open page and what has been noted since it was asked for."""

    page: Page
    """Playwright's page; open until the test ends."""
    asked: list[str] = field(default_factory=list)
    """Every address that the page asked for."""
    foreign: list[str] = field(default_factory=list)
    """Addresses of other hosts that the page asked for; none was answered."""
    errors: list[str] = field(default_factory=list)
    """Errors on the console, and exceptions that no script caught."""
    failures: list[Failure] = field(default_factory=list)
    """Requests that were not answered, or with a status from 400 on."""
    n_documents: int = 0
    """How many documents the page has shown: one, and one more for each link followed."""

    @property
    def failed(self) -> list[str]:
        """The failures that count, one line each.

        Who leaves a page cuts off what it still asks for, and the browser itself asks for a page's
        icon and drops it again as it likes; neither is a fault of the page.
        """
        return [
            one.text
            for one in self.failures
            if not (one.aborted and (one.is_icon or one.document < self.n_documents))
        ]

    def problems(self) -> list[str]:
        """List what was noted, one line each."""
        return [
            *self.strangers(),
            *(f"error in the page: {text}" for text in self.errors),
            *(f"failed request: {text}" for text in self.failed),
        ]

    def strangers(self) -> list[str]:
        """List the requests to other hosts, one line each."""
        return [f"asks another host: {address}" for address in self.foreign]


@dataclass
class Visitor:
    """What opens pages: one browser, one address, and a context of its own for each visit.

    A context is a fresh profile: no cache, no cookies, no stored theme.
    """

    browser: Browser
    address: str
    contexts: list[BrowserContext] = field(default_factory=list)
    visits: list[tuple[Visit, bool]] = field(default_factory=list)

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
        """Open a page and wait for its fonts and formulas.

        Args:
            path: Page below the served folder, such as ``chapters/04_gpt.html``, or a whole
                address of the scheme ``file``.
            width: Of the window, in CSS pixels.
            height: Of the window, in CSS pixels.
            theme: ``light`` or ``dark``, what the reader's system prefers.
            javascript: Whether scripts run.
            reduced_motion: Whether the reader's system asks for less motion.
            missing: Patterns of Playwright, such as ``**/*.safetensors``; these are answered
                with status 404. Implies `may_fail`.
            may_fail: Whether errors and failed requests are left to the test. Requests to other
                hosts never are.

        Returns:
            The visit.
        """
        if theme not in ("light", "dark"):
            raise ValueError(f"theme must be light or dark, got {theme!r}")
        context = self.browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=theme,
            java_script_enabled=javascript,
            reduced_motion="reduce" if reduced_motion else "no-preference",
            service_workers="block",
        )
        context.set_default_timeout(MILLISECONDS)
        self.contexts.append(context)
        own = "file://" if path.startswith("file://") else self.address
        visit = Visit(context.new_page())
        self.visits.append((visit, may_fail or bool(missing)))
        listen(visit, own)
        context.route(re.compile(f"^(?!{re.escape(own)}|data:|blob:)"), _refuse(visit))
        for pattern in missing:
            context.route(pattern, lambda route: route.fulfill(status=404))
        if javascript:
            context.add_init_script(WATCH)
        visit.page.goto(path if own == "file://" else own + path)
        if javascript:
            visit.page.evaluate(browsing.SETTLED)
        return visit

    def close(self) -> None:
        """Close all pages.

        Raises:
            AssertionError: A page asked for another host, or had errors that nobody expected.
        """
        found = []
        for visit, may_fail in self.visits:
            found += visit.strangers() if may_fail else visit.problems()
        self.forget()
        if found:
            raise AssertionError("; ".join(found))

    def forget(self) -> None:
        """Close all pages, whatever was noted."""
        for context in self.contexts:
            context.close()
        self.contexts.clear()
        self.visits.clear()


def _refuse(visit: Visit) -> Callable[[Route], None]:
    def refuse(route: Route) -> None:
        visit.foreign.append(route.request.url)
        route.abort()

    return refuse


def listen(visit: Visit, own: str) -> None:
    """Note errors and requests that fail, from now on.

    Args:
        visit: What the page is noted in.
        own: The address of the served folder.
    """
    page = visit.page
    refused = set()
    document_of: dict[Request, int] = {}
    next_document: Request | None = None

    def asked(request: Request) -> None:
        nonlocal next_document
        visit.asked.append(request.url)
        document_of[request] = visit.n_documents
        if request.is_navigation_request() and request.frame == page.main_frame:
            next_document = request

    def arrived(frame: Frame) -> None:
        """Until the next document arrives, the last one goes on asking."""
        nonlocal next_document
        if frame == page.main_frame and next_document is not None:
            visit.n_documents += 1
            next_document = None

    def note(request: Request, reason: str, *, aborted: bool = False) -> None:
        text = f"{request.url.removeprefix(own)}: {reason}"
        is_icon = request.resource_type == "other"
        visit.failures.append(Failure(text, document_of[request], aborted, is_icon))

    def finished(response: Response) -> None:
        if response.status >= 400:
            refused.add(response.url)
            note(response.request, f"status {response.status}")

    def failed(request: Request) -> None:
        nonlocal next_document
        if request == next_document:  # a download
            next_document = None
        if request.url.startswith(own) and request.url not in refused:
            note(request, str(request.failure), aborted=request.failure == "net::ERR_ABORTED")

    page.on("request", asked)
    page.on("framenavigated", arrived)
    page.on("response", finished)
    page.on("requestfailed", failed)
    page.on("pageerror", lambda error: visit.errors.append(str(error)))
    page.on(
        "console",
        lambda message: visit.errors.append(message.text) if message.type == "error" else None,
    )
