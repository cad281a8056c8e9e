# SPDX-License-Identifier: MIT
"""Ask axe-core about one part of an open page."""

from importlib.resources import files

from playwright.sync_api import Page

SOURCE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


def axe_complaints(page: Page, selector: str) -> list[str]:
    """List what axe-core finds in an element and its shadow root.

    Args:
        page: An open page.
        selector: Of the element, such as ``pt-tokenizer``.

    Returns:
        One line for each rule that is broken, with the elements that break it.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(SOURCE + ";null")
    # Without preload: it would fetch the style sheets again, by wrong addresses.
    found = page.evaluate("(selector) => axe.run(selector, { preload: false })", selector)
    assert found["passes"], f"axe found nothing to look at in {selector}"
    return [
        f"{rule['id']}: {[node['target'] for node in rule['nodes']]}"
        for rule in found["violations"]
    ]
