# SPDX-License-Identifier: MIT
"""A reader's sentence costs in the page what PyTorch says, and comes back from its digits."""

import math
import re
import zlib

import pytest
from applets import (
    MILLISECONDS,
    SIZES_AND_THEMES,
    expect_message_without,
    find,
    focused_text,
    open_applet,
)
from axe import axe_complaints
from chapter_places import applet_page
from panels import fits, load_as_shipped
from playwright.sync_api import Locator, expect
from visiting import Visitor

from experiments.ch08_compression.arithmetic_coding import Counts, encode, gpt_counts
from pretrain_lab.tokenizers.characters import CharTokenizer

PAGE = applet_page("compress-sentence")
START = "I am a sentence that nobody has written before."
MACBETH = "Is this a dagger which I see before me, the handle toward my hand?"
MOST = 80
pytestmark = pytest.mark.applet


class Coder:
    """The small GPT as the pages get it, and chapter 8's encoder."""

    def __init__(self, predict: Counts, tokenizer: CharTokenizer) -> None:
        self.predict, self.tokenizer = predict, tokenizer

    def expect(self, panel: Locator, text: str) -> None:
        """Compare the panel's bits with PyTorch's; counts may differ by one."""
        symbols = (self.tokenizer.encode(text) - len(self.tokenizer.special_ids)).tolist()
        expected = []
        for place, symbol in enumerate(symbols):
            counts = self.predict(symbols[:place])
            expected.append(math.log2(sum(counts) / counts[symbol]))
        costs = [float(one) for one in panel.locator(".letter small").all_inner_texts()]
        assert costs == pytest.approx(expected, abs=0.06)
        _, n_bits = encode(symbols, self.predict)
        assert abs(len(digits_of(panel)) - n_bits) <= 1


@pytest.fixture(scope="module")
def coder(tmp_path_factory: pytest.TempPathFactory) -> Coder:
    model, tokenizer = load_as_shipped("gpt_chars", tmp_path_factory.mktemp("models"))
    return Coder(gpt_counts(model, len(tokenizer.special_ids)), tokenizer)


def opened(visit: Visitor, **options: object) -> Locator:
    panel = open_applet(visit(PAGE, reduced_motion=True, **options), "compress-sentence")
    settled(panel)
    return panel


def settled(panel: Locator) -> None:
    expect(panel).not_to_have_attribute("aria-busy", "true", timeout=MILLISECONDS)


def write(panel: Locator, text: str) -> None:
    panel.get_by_label("Your sentence").fill(text)
    settled(panel)


def digits_of(panel: Locator) -> str:
    return panel.locator(".code").inner_text().replace(" ", "").replace("\n", "")


def gzip_bits(text: str) -> int:
    """Count what gzip needs inside of its frame."""
    packer = zlib.compressobj(wbits=-15)
    return 8 * len(packer.compress(text.encode()) + packer.flush())


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_the_code_is_that_of_pytorch(visit: Visitor, coder: Coder, width: int, theme: str):
    panel = opened(visit, width=width, theme=theme)
    for text in (START, MACBETH):
        write(panel, text)
        coder.expect(panel, text)
        n_bits = len(digits_of(panel))
        expect(panel.get_by_role("status").first).to_contain_text(
            f"{len(text)} characters in {n_bits} bits, or {-(-n_bits // 8)} bytes."
        )
        sizes = [int(one.split()[0]) for one in panel.locator(".bar-number").all_inner_texts()]
        assert sizes == [8 * len(text), pytest.approx(gzip_bits(text), abs=32), n_bits]
    expect(panel.locator(".heard")).to_contain_text(MACBETH, timeout=MILLISECONDS)
    expect(panel.get_by_text(f"All {len(MACBETH)} characters are yours.")).to_be_visible()
    visited = visit.visits[-1][0]
    assert fits(visited)
    assert axe_complaints(visited.page, "pt-compress-sentence") == []


def test_the_digits_come_back_and_a_flipped_one_ruins_the_rest(visit: Visitor):
    panel = opened(visit)
    expect(panel.locator(".heard")).to_have_text(START, timeout=MILLISECONDS)
    sent = digits_of(panel)
    panel.get_by_role("button", name=re.compile("^Flip digit 54$")).click()
    found = panel.get_by_text(re.compile(r"One wrong digit: the first \d+ characters are yours"))
    expect(found).to_be_visible(timeout=MILLISECONDS)
    received = digits_of(panel)
    assert [i for i in range(len(sent)) if sent[i] != received[i]] == [53]
    n_right = int(re.findall(r"\d+", found.inner_text())[0])
    heard = panel.locator(".heard").evaluate("(one) => one.textContent")
    assert heard[:n_right] == START[:n_right]
    assert len(panel.locator(".heard .wrong").inner_text()) == len(START) - n_right > 0
    panel.get_by_role("button", name="Flip digit 54 back").click()
    expect(panel.locator(".heard")).to_have_text(START, timeout=MILLISECONDS)
    assert digits_of(panel) == sent


def test_the_interval_shows_what_a_letter_keeps(visit: Visitor):
    panel = opened(visit)
    chosen = panel.locator(".letter[aria-pressed=true]")
    expect(chosen).to_have_attribute("aria-label", re.compile(r"^Letter 11, t, \d\.\d bits$"))
    expect(panel.locator(".interval .kept")).to_have_text(["t", "e"])
    panel.locator(".letter").nth(0).click()
    expect(panel.get_by_text("Nothing is predicted before the first letter")).to_contain_text(
        "62 equal pieces, 6.0 bits. It leaves a piece 2−6.0 wide"
    )
    panel.get_by_label(re.compile("^Letter ")).last.fill(str(len(START)))
    expect(panel.locator(".interval .kept").last).to_have_text("all letters are named")
    expect(panel.locator(".code .open")).to_have_count(0 if not digits_left(panel) else 1)
    kept = panel.locator(".interval").first.locator(".kept")
    box, whole = kept.bounding_box(), panel.locator(".interval").first.bounding_box()
    share = float(re.findall(r"([\d.]+) %", panel.get_by_text("47 letters leave").inner_text())[0])
    assert box
    assert whole
    assert 100 * box["width"] / whole["width"] == pytest.approx(share, abs=1)


def digits_left(panel: Locator) -> int:
    """Read how many digits no letter has fixed."""
    fixed, n_bits = re.findall(r"fix (\d+) of (\d+) digits", panel.inner_text())[0]
    return int(n_bits) - int(fixed)


def test_a_walk_goes_through_all_letters_and_can_be_stopped(visit: Visitor):
    panel = opened(visit)
    panel.get_by_role("button", name="Walk through").click()
    chosen = panel.locator(".letter[aria-pressed=true]")
    expect(chosen).not_to_have_attribute("aria-label", re.compile("^Letter 11,"))
    panel.get_by_role("button", name="Stop", exact=True).click()
    expect(panel.get_by_role("button", name="Walk through")).to_be_visible()
    write(panel, "O, no")
    panel.get_by_role("button", name="Walk through").click()
    last = panel.locator(".letter").nth(4)
    expect(last).to_have_attribute("aria-pressed", "true", timeout=MILLISECONDS)
    expect(panel.get_by_role("button", name="Walk through")).to_be_visible(timeout=MILLISECONDS)


def test_the_suggestions_show_where_it_fails(visit: Visitor, coder: Coder):
    panel = opened(visit)
    words = {
        "A line of Macbeth": "times as many",
        "A modern line": "times as many",
        "Random letters": "longer than plain text",
        "One word, ten times": "gzip is shorter",
    }
    for name, conclusion in words.items():
        panel.get_by_role("button", name=name).click()
        settled(panel)
        expect(panel.get_by_role("status").first).to_contain_text(conclusion)
        coder.expect(panel, panel.get_by_label("Your sentence").input_value())


def test_by_keyboard_alone(visit: Visitor):
    panel = opened(visit)
    visited = visit.visits[-1][0]
    keyboard = visited.page.keyboard
    panel.get_by_label("Your sentence").focus()
    keyboard.press("Control+a")
    keyboard.type("My lord, go.")
    settled(panel)
    expect(panel.locator(".letter")).to_have_count(12)
    expect(panel.locator(".letter").last).to_have_attribute("aria-pressed", "true")
    for _ in range(5):
        keyboard.press("Tab")
    assert focused_text(visited.page).startswith("Letter 12, full stop, ")
    keyboard.press("Home")
    assert focused_text(visited.page) == "Letter 1, capital M, 6.0 bits"
    keyboard.press("ArrowRight")
    expect(panel.locator(".interval .kept").first).to_have_text("y")
    keyboard.press("Tab")
    keyboard.press("ArrowRight")
    expect(panel.locator(".letter").nth(2)).to_have_attribute("aria-pressed", "true")
    keyboard.press("Tab")
    keyboard.press("Tab")
    assert focused_text(visited.page).startswith("Flip digit ")
    keyboard.press("Enter")
    expect(panel.get_by_text("One wrong digit")).to_be_visible(timeout=MILLISECONDS)


def test_silly_input_is_answered(visit: Visitor, coder: Coder):
    panel = opened(visit)
    family = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}"
    write(panel, f"I have 3 dogs {family} now")
    expect(panel.locator(".struck")).to_have_text(["3", family])
    expect(panel.get_by_text("Struck out: characters")).to_be_visible()
    coder.expect(panel, "I have  dogs  now")
    for text, words in (
        ("", "Write a sentence."),
        (f"{family} 42".replace(" ", ""), "Nothing is left"),
    ):
        write(panel, text)
        expect(panel.get_by_role("status").first).to_contain_text(words)
        expect(panel.locator(".code")).to_be_hidden()
    write(panel, "a")
    expect(panel.get_by_text("1 character in 6 bits, or 1 byte.")).to_be_visible()
    expect(panel.locator(".heard")).to_have_text("a")
    for text in ("king " * 1000, "7" * 5000):
        write(panel, text)
        n_read = MOST if text[0] == "k" else 0
        expect(panel.locator(".letter:visible")).to_have_count(n_read)
    write(panel, "king " * 1000)
    expect(panel.get_by_text(f"Compressed: the first {MOST} characters")).to_be_visible()
    coder.expect(panel, "king " * 16)
    assert fits(visit.visits[-1][0])


def test_fast_typing_ends_with_the_last_text(visit: Visitor, coder: Coder):
    panel = opened(visit)
    field = panel.get_by_label("Your sentence")
    field.fill("")
    field.press_sequentially("Good night, sweet prince")
    settled(panel)
    expect(panel.locator(".heard")).to_have_text("Good night, sweet prince", timeout=MILLISECONDS)
    coder.expect(panel, "Good night, sweet prince")


def test_a_state_comes_back_from_the_address(visit: Visitor):
    panel = opened(visit)
    page = visit.visits[-1][0].page
    assert "#" not in page.url, "only the reader changes the address"
    write(panel, "My lord, go.")
    panel.locator(".letter").nth(3).click()
    page.wait_for_function("location.hash.includes('letter=4')")
    page.reload()
    again = find(visit.visits[-1][0], "compress-sentence").locator(".panel")
    expect(again.get_by_label("Your sentence")).to_have_value("My lord, go.", timeout=MILLISECONDS)
    expect(again.locator(".letter").nth(3)).to_have_attribute("aria-pressed", "true")


def test_a_missing_model_gives_the_message_and_can_be_retried(visit: Visitor):
    expect_message_without(visit, PAGE, "compress-sentence", "**/*.safetensors*")


def test_without_scripts_the_static_form_stays(visit: Visitor):
    applet = find(visit(PAGE, javascript=False), "compress-sentence")
    assert applet.inner_text().strip()
    expect(applet.locator("button")).to_have_count(0)
