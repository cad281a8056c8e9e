"""What tests of several applets share: modules in the page, axe on a panel, models as shipped."""

from importlib.resources import files
from pathlib import Path
from typing import Any

from playwright.sync_api import Page
from visiting import Visit

from book_pages import applet_files
from pretrain.checkpoints import load_model
from pretrain.paths import CHECKPOINTS

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
USE = """globalThis.use = (name) => import(`${ptBook.root}${name}.mjs${ptBook.version}`);
null"""


def with_modules(visit: Visit) -> Page:
    """Give a page of the book whose scripts may call ``use(name)`` for a module of the applets."""
    visit.page.evaluate(USE)
    return visit.page


def violations(visit: Visit, name: str) -> list[str]:
    """List what axe finds in an applet, one line for each element."""
    visit.page.evaluate(AXE + ";null")
    found = visit.page.evaluate(
        """async (selector) => {
          const { violations } = await axe.run(selector, { preload: false });
          return violations.flatMap(({ id, nodes }) =>
            nodes.map((node) => `${id}: ${node.target.join(" ")} ${node.failureSummary}`));
        }""",
        f"pt-{name}",
    )
    return list(found)


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
