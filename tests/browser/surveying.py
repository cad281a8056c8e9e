# SPDX-License-Identifier: MIT
"""Look at a page in every way that each page must stand, with as few loads as that takes.

Three loads: in a wide light window, in a narrow dark one whose reader wants no motion, and
without scripts. Opening a chapter costs a second, so one load serves several checks.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import axe
import pytest
from playwright.sync_api import Page
from visiting import Visitor

from tools.checks import weigh_pages

CHECKS = (
    "requests and console",
    "weight",
    "axe, light",
    "axe, dark",
    "images",
    "layout shift",
    "overflow at 390 px",
    "motion",
    "without scripts",
)
KINDS = (
    "404.html",
    "chapters/04_gpt.html",  # a chapter: formulas, figures, exercises, a quiz, applets
    "chapters/92_models_and_costs.html",  # back matter that is a notebook
    "chapters/architecture.html",  # text and tables alone
    "chapters/index.html",  # the map of the book
)
"""One page of each kind."""
OWN_CHECKS = Path(__file__).with_name("page_checks.js").read_text(encoding="utf-8")


def one_of_each_kind(names: Iterable[str]) -> list[object]:
    """Mark all pages as slow but one of each kind.

    Args:
        names: Pages.

    Returns:
        Values for `pytest.mark.parametrize`.
    """
    slow = pytest.mark.slow
    return [pytest.param(name, marks=() if name in KINDS else slow) for name in names]


def look(page: Page, check: str) -> list[str]:
    """Run one function of ``page_checks.js``.

    Args:
        page: An open page.
        check: The function's name.

    Returns:
        Its complaints.
    """
    if not page.evaluate("'pageChecks' in window"):
        page.evaluate(f"{axe.SOURCE};{OWN_CHECKS}")
    return page.evaluate(f"pageChecks.{check}()")


@dataclass(frozen=True)
class Survey:
    """What was seen of one page."""

    found: dict[str, list[str]]
    """The complaints of every check in `CHECKS`; none = an empty list."""
    weight: weigh_pages.Weight
    """What the first load brought, in bytes by kind."""


def survey(visitor: Visitor, name: str, folder: Path) -> Survey:
    """Open a page three times and list what is wrong with it.

    Args:
        visitor: What opens it.
        name: The page.
        folder: What is served.

    Returns:
        The complaints and the weight.
    """
    found: dict[str, list[str]] = {check: [] for check in CHECKS}
    light = visitor(name, may_fail=True)
    page = light.page
    page.wait_for_load_state("networkidle")  # applets ask for their modules after the page is there
    weight = weigh_pages.weigh(light.asked, visitor.address, folder)
    may_ask = weigh_pages.has_applet(folder / name)
    found["weight"] += weigh_pages.too_heavy(weight, may_ask=may_ask)
    found["layout shift"] += look(page, "layoutShift")
    found["axe, light"] += look(page, "structure")
    found["axe, light"] += [f"does not unfold: {one}" for one in look(page, "unfold")]
    found["images"] += look(page, "images")
    found["axe, light"] += look(page, "contrast")

    dark = visitor(name, width=390, height=844, theme="dark", reduced_motion=True, may_fail=True)
    page = dark.page
    found["layout shift"] += look(page, "layoutShift")
    found["motion"] += look(page, "motion")
    look(page, "unfold")
    found["overflow at 390 px"] += look(page, "overflow")
    found["axe, dark"] += look(page, "structure")
    page.set_viewport_size({"width": 1280, "height": 900})  # the side bars' text is seen too
    found["axe, dark"] += look(page, "contrast")

    plain = visitor(name, javascript=False, may_fail=True)
    found["without scripts"] += look(plain.page, "blank")
    for visit in (light, dark, plain):
        found["requests and console"] += visit.problems()
    visitor.forget()
    return Survey(found, weight)
