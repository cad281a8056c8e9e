# SPDX-License-Identifier: MIT
"""Run the applets' modules on a blank page, beside the weights that PyTorch reads."""

import base64
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page

from book_pages.weight import applet_files
from pretrain.span_corruption import SpanCorruption
from pretrain_lab.tokenizers.characters import CharTokenizer
from pretrain_lab.tokenizers.subwords import SubwordTokenizer

PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Workshop</title>'
    '<link rel="icon" href="data:,"></html>'
)
PACK = """globalThis.pack = ({data, shape}) => {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) {
    text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  }
  return [btoa(text), shape];
};
globalThis.models = new Map();
globalThis.load = async (file) => {
  if (!models.has(file)) {
    const { readModel } = await import("/engine/checkpoint.mjs");
    models.set(file, readModel(await (await fetch(file)).arrayBuffer()));
  }
  return models.get(file);
};
null"""


def furnish(root: Path, folder: Path) -> None:
    """Write modules, models and an empty page into a folder.

    Args:
        root: The repository.
        folder: Gets ``page.html``, the modules, ``full/NAME.safetensors`` with numbers of 32 bits
            and ``half/NAME.safetensors`` as the book ships them.
    """
    (folder / "page.html").write_text(PAGE, encoding="utf-8")
    shutil.copytree(root / applet_files.MODULES, folder, dirs_exist_ok=True)
    for kind in ("full", "half"):
        (folder / kind).mkdir()
    for name in applet_files.MODELS:
        path = root / applet_files.CHECKPOINTS / f"{name}.safetensors"
        (folder / "full" / path.name).write_bytes(path.read_bytes())
        (folder / "half" / path.name).write_bytes(applet_files.half_precision(path))


class Workshop:
    """A blank page of a server that has the modules and the models."""

    def __init__(self, page: Page, folder: Path) -> None:
        """Keep the page, open at ``page.html``.

        Args:
            page: Of Playwright.
            folder: What the server serves; a test may put more files there.
        """
        self.page, self.folder = page, folder
        page.evaluate(PACK)

    def run(self, script: str, argument: object = None) -> Any:
        """Run an async function of one argument in the page.

        Args:
            script: JavaScript; ``load(file)`` gives a model, ``pack(tensor)`` an answer for
                `unpacked`.
            argument: JSON values.

        Returns:
            What the function returns.
        """
        return self.page.evaluate(script, argument)

    def error(self, script: str, argument: object = None) -> str:
        """Run a function that must throw, and give the message."""
        wrapped = f"(argument) => ({script})(argument).then(() => null, (e) => e.message)"
        message = self.page.evaluate(wrapped, argument)
        assert isinstance(message, str), f"nothing was thrown by {script}"
        return message


def spans_of(tokenizer: CharTokenizer | SubwordTokenizer) -> SpanCorruption:
    """Say how spans are marked in a vocabulary of T5."""
    if isinstance(tokenizer, SubwordTokenizer):
        first, *others = tokenizer.sentinel_ids
        return SpanCorruption(
            first_sentinel_id=first, n_sentinels=1 + len(others), eos_id=tokenizer.eos_id
        )
    return SpanCorruption(
        first_sentinel_id=tokenizer.ids["<extra_id_0>"],
        n_sentinels=sum(token.startswith("<extra_id_") for token in tokenizer.specials),
        eos_id=tokenizer.ids["</s>"],
    )


def unpacked(packed: list[Any]) -> np.ndarray:
    """Read a float32 tensor that the page packed."""
    text, shape = packed
    return np.frombuffer(base64.b64decode(text), dtype=np.float32).reshape(shape)
