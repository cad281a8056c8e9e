# SPDX-License-Identifier: MIT
"""Open an applet of a page, by mouse or by keyboard alone."""

from playwright.sync_api import Locator, Page, expect
from visiting import Visit, Visitor

SIZES_AND_THEMES = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
MILLISECONDS = 20_000  # a machine under load is slow; no test asserts a time


def find(visit: Visit, name: str) -> Locator:
    """Find the custom element of an applet.

    Args:
        visit: An open page.
        name: Of the applet, such as ``mask-fill``.
    """
    return visit.page.locator(f"pt-{name}").first


def open_applet(visit: Visit, name: str, *, by_keyboard: bool = False) -> Locator:
    """Come near an applet, which opens by itself, and wait for its panel.

    Args:
        visit: An open page.
        name: Of the applet.
        by_keyboard: Whether to put the focus on the first control of the panel.

    Returns:
        The panel, visible.
    """
    applet = find(visit, name)
    applet.scroll_into_view_if_needed()
    panel = applet.locator(".panel")
    expect(panel).to_be_visible(timeout=MILLISECONDS)
    if by_keyboard:
        panel.locator("textarea, input, select, button").first.focus()
    return panel


def retype(panel: Locator, text: str) -> None:
    """Change an applet's sentence, while the focus stays where it is.

    Args:
        panel: Of an applet with a field "Your sentence".
        text: The new sentence.
    """
    panel.get_by_label("Your sentence").evaluate(
        "(input, text) => { input.value = text; input.dispatchEvent(new Event('input')); }", text
    )


def expect_message_without(visit_page: Visitor, page: str, name: str, pattern: str) -> None:
    """Check that an applet says so when a file that it needs cannot be had.

    Args:
        visit_page: The fixture ``visit``.
        page: Of the book.
        name: Of the applet.
        pattern: The files that are taken away, such as ``**/*.safetensors*``.
    """
    visit = visit_page(page, missing=[pattern])
    applet = find(visit, name)
    applet.scroll_into_view_if_needed()
    note = applet.locator(".note.error")
    expect(note).to_contain_text("could not be loaded", timeout=MILLISECONDS)
    expect(applet.locator(".panel")).to_be_hidden()
    expect(applet.get_by_role("button", name="Try again")).to_be_visible()


def focused_text(page: Page) -> str:
    """Read what the focused element says, inside shadow roots too."""
    found: str = page.evaluate(
        """() => {
          let one = document.activeElement;
          while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;
          return one?.getAttribute("aria-label") ?? one?.textContent ?? "";
        }"""
    )
    return found
