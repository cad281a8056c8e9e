# SPDX-License-Identifier: MIT
"""What tests of several applets share: modules in the page, its width, models as shipped."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Page
from visiting import Visit

from book_pages.weight import applet_files
from pretrain_lab.checkpoints import load_model
from pretrain_lab.paths import CHECKPOINTS

USE = """globalThis.use = (name) => import(`${ptBook.root}${name}.mjs${ptBook.version}`);
null"""


def with_modules(visit: Visit) -> Page:
    """Give a page of the book whose scripts may call ``use(name)`` for a module of the applets."""
    visit.page.evaluate(USE)
    return visit.page


def fits(visit: Visit) -> bool:
    """Tell whether the page is no wider than its window."""
    return bool(visit.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth"))


def load_as_shipped(name: str, folder: Path) -> tuple[Any, Any]:
    """Load a model in PyTorch from the 16-bit numbers that the pages get.

    Args:
        name: Such as ``gpt_chars``.
        folder: Gets the file.

    Returns:
        The model and its tokeniser.
    """
    path = folder / f"{name}.safetensors"
    path.write_bytes(applet_files.half_precision(CHECKPOINTS / path.name))
    return load_model(path)
