# SPDX-License-Identifier: MIT
"""The mask explorer: masks and counts are those of the package, and what a reader is told."""

import pytest
import torch
from applets import find, open_applet
from chapter_places import applet_page
from playwright.sync_api import expect
from torch import Tensor
from visiting import Visitor
from workshop import Workshop

from pretrain import masks

PAGE = applet_page("mask-explorer")
pytestmark = pytest.mark.applet


def padding(length: int, n: int) -> Tensor:
    """The last n of T places are filler; no query may look at them, bool (T, T)."""
    hides = masks.padding_mask(torch.arange(length)[None] < length - n)
    return hides.expand(1, 1, length, length)[0, 0]


def joined(length: int, n: int) -> Tensor:
    """Encoder, cross-attention and decoder as one matrix, the source first."""
    target = length - n
    source = torch.ones(1, n).bool()
    above = torch.cat([masks.bidirectional_mask(n), torch.zeros(n, target).bool()], dim=1)
    below = torch.cat([masks.cross_mask(target, source)[0, 0], masks.causal_mask(target)], dim=1)
    return torch.cat([above, below])


OF_PACKAGE = {
    "causal": lambda length, n: masks.causal_mask(length),
    "bidirectional": lambda length, n: masks.bidirectional_mask(length),
    "prefix": lambda length, n: masks.prefix_lm_mask(torch.tensor([n]), length)[0, 0],
    "padding": padding,
    "causal-padding": lambda length, n: masks.causal_mask(length) & padding(length, n),
    "encoder-decoder": joined,
}


@pytest.mark.parametrize("kind", OF_PACKAGE)
@pytest.mark.parametrize("length", [1, 2, 6, 8])
def test_masks_and_counts_are_those_of_the_package(workshop: Workshop, kind: str, length: int):
    script = """async ([kind, length]) => {
      const { MASKS, countAllowed, keysOf } = await import("/engine/masks.mjs");
      return Array.from({ length: length + 1 }, (_, n) => {
        const allows = MASKS[kind].allows(length, n);
        return [Array.from({ length }, (__, t) => keysOf(allows, length, t)),
          countAllowed(allows, length), MASKS[kind].formula(length, n)[1]];
      });
    }"""
    for n, (rows, count, formula) in enumerate(workshop.run(script, [kind, length])):
        # The package has no sequences without a real token, and none without source or target.
        if ("padding" in kind and n == length) or (kind == "encoder-decoder" and n in (0, length)):
            continue
        expected = OF_PACKAGE[kind](length, n)
        assert rows == [row.nonzero().flatten().tolist() for row in expected], n
        assert count == formula == int(expected.sum()), n


def test_every_mask_that_can_be_chosen_is_compared(workshop: Workshop):
    script = 'async () => Object.keys((await import("/engine/masks.mjs")).MASKS)'
    assert sorted(workshop.run(script)) == sorted(OF_PACKAGE)


def test_positions_in_words(workshop: Workshop):
    script = 'async (places) => (await import("/engine/masks.mjs")).inWords(places)'
    expected = {(0,): "1", (0, 1): "1 and 2", (0, 1, 2): "1 to 3", (0, 1, 2, 5): "1 to 3 and 6",
                (): "", (1, 3, 4, 6, 7, 8): "2, 4, 5 and 7 to 9"}  # fmt: skip
    for places, words in expected.items():
        assert workshop.run(script, list(places)) == words


def test_by_mouse(visit: Visitor):
    panel = open_applet(visit(PAGE), "mask-explorer")
    grid, said = panel.locator("table.grid"), panel.locator("[role=status]")
    expect(said).to_contain_text("21 of 36 pairs are allowed: T (T + 1) / 2 with T = 6.")
    grid.get_by_role("button", name="it").click()
    expect(said).to_contain_text("Place 4, “it”, may look at places 1 to 4:")
    panel.get_by_label("Mask").select_option(label="bidirectional (BERT)")
    expect(said).to_contain_text("may look at places 1 to 6:")
    expect(said).to_contain_text("36 of 36")
    expect(grid.locator("td", has_text="●")).to_have_count(36)
    panel.get_by_label("Mask").select_option(value="encoder-decoder")
    expect(said).to_contain_text("24 of 36")
    assert [grid.locator("td", has_text=one).count() for one in "■◆●"] == [9, 9, 6]


def test_by_keyboard_alone(visit: Visitor):
    opened = visit(PAGE)
    panel = open_applet(opened, "mask-explorer", by_keyboard=True)
    press = opened.page.keyboard.press
    said = panel.locator("[role=status]")
    press("ArrowDown")  # in the choice of masks
    expect(said).to_contain_text("36 of 36")
    press("Tab")
    press("Tab")
    press("ArrowDown")
    press("Enter")
    expect(said).to_contain_text("Place 2, “cat”")


def test_words_too_few_and_too_many(visit: Visitor):
    panel = open_applet(visit(PAGE), "mask-explorer")
    words = panel.get_by_label("Up to 8 words")
    words.fill("  ")
    expect(panel.locator("table.grid")).to_be_hidden()
    expect(panel.locator("[role=alert]")).to_contain_text("Type a word")
    words.fill("one two three four five six seven eight nine")
    expect(panel.locator("table.grid tbody tr")).to_have_count(8)
    expect(panel.locator("[role=alert]")).to_contain_text("first 8 of 9 words")


def test_without_scripts_the_figure_and_the_sentence_stay(visit: Visitor):
    applet = find(visit(PAGE, javascript=False), "mask-explorer")
    expect(applet.locator("figure svg").first).to_be_visible()
    expect(applet.get_by_text("The masks are drawn above")).to_be_visible()
