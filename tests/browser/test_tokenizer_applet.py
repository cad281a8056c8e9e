# SPDX-License-Identifier: MIT
"""The tokenisers of the page give the ids of the library, and the playground shows them."""

import json
import math
import re
from functools import cache
from itertools import chain, combinations, pairwise

import pytest
from applets import (
    SIZES_AND_THEMES,
    expect_message_without,
    find,
    focused_text,
    open_applet,
)
from axe import axe_complaints
from chapter_places import applet_page
from playwright.sync_api import Locator, Page, expect
from token_strings import token_strings
from tokenizers import Tokenizer
from visiting import Visitor

from pretrain_lab.checkpoints import load_model
from pretrain_lab.tokenizers.subwords import SubwordTokenizer, load_tokenizer

pytestmark = pytest.mark.applet
PAGE = applet_page("tokenizer")
KINDS = ("bpe", "wordpiece", "unigram")
TITLES = dict(zip(("BPE", "WordPiece", "Unigram"), KINDS, strict=True))
N_STRINGS = 2_400
WORD = "h3:not(.kind)"  # how a word is cut
TABLES_FIT = """(panel) => [...panel.querySelectorAll("table")].every((table) =>
  table.getBoundingClientRect().right <= panel.getBoundingClientRect().right + 1)"""
START = "Theodore"
SENTENCE = "The seaman's unhappiness is her unkindness, dear Zoë."
SPECIALS = 6  # [PAD] to </s>; no text gives them

load = cache(load_tokenizer)

MODULES = "_static/applets/start.js"  # a page so light that it opens at once
RUN = """async ([name, code, given]) => {
  globalThis.ptBook = { root: new URL("./", location).href, version: "" };
  const { getJson } = await import("./ui/files.mjs");
  const { Subwords } = await import("./engine/subwords.mjs");
  const subwords = new Subwords(await getJson(`plays_${name}.json`));
  return new Function("subwords", "given", `return ${code}`)(subwords, given);
}"""


def run(page: Page, name: str, code: str, given: object = None) -> object:
    """Evaluate an expression over ``subwords``, a vocabulary in the page, and ``given``."""
    return page.evaluate(RUN, [name, code, given])


def tokenizer(name: str) -> SubwordTokenizer:
    """Load a vocabulary in Python."""
    return load(f"plays_{name}")


@pytest.fixture
def modules(visit: Visitor) -> Page:
    """A page that can import the modules."""
    return visit(MODULES, may_fail=True).page


class TestParity:
    def test_ids_are_those_of_the_library(self, modules: Page):
        strings = token_strings(N_STRINGS)
        assert len(strings) > N_STRINGS
        for name in KINDS:
            expected = [tokenizer(name).encode(text).tolist() for text in strings]
            code = "given.map((text) => subwords.encode(text).map(({ id }) => id))"
            got = run(modules, name, code, strings)
            pairs = zip(strings, expected, got, strict=True)
            assert [text for text, one, other in pairs if one != other] == [], name
            assert any(tokenizer(name).unk_id in ids for ids in expected), "unknowns are tried"

    def test_pieces_stand_where_they_are_in_the_text(self, modules: Page):
        strings = token_strings(300, seed=1)
        code = """given.every((text) => subwords.encode(text).every(
          (token) => text.startsWith(token.text, token.start)))"""
        for name in KINDS:
            assert run(modules, name, code, strings), name
        whole = "given.filter((text) => subwords.encode(text).map((t) => t.text).join('') !== text)"
        assert run(modules, "bpe", whole, strings) == []
        assert run(modules, "unigram", whole, strings) == []

    def test_sizes(self, modules: Page):
        for name in KINDS:
            assert run(modules, name, "subwords.size") == tokenizer(name).vocab_size
            assert run(modules, name, "subwords.unknownId") == tokenizer(name).unk_id

    def test_a_vocabulary_of_another_kind_is_refused(self, modules: Page):
        code = """(() => { try { new subwords.constructor(given); } catch (error) {
          return error.message; } })()"""
        state = tokenizer("bpe").to_dict()
        for change, complaint in (
            ({"normalizer": {"type": "NFKC"}}, "expected no normalizer but NFD"),
            ({"pre_tokenizer": {"type": "ByteLevel"}}, "expected the cut BertPreTokenizer or"),
            ({"model": {**state["model"], "type": "WordLevel"}}, "got WordLevel"),
            ({"model": {**state["model"], "byte_fallback": True}}, "one with byte_fallback"),
            ({"model": {**state["model"], "fuse_unk": True}}, "one with fuse_unk"),
        ):
            assert complaint in run(modules, "bpe", code, {**state, **change})


class TestSteps:
    def test_merges_come_in_the_order_in_which_they_were_learned(self, modules: Page):
        model = tokenizer("bpe").to_dict()["model"]
        ranks = {tuple(pair): rank for rank, pair in enumerate(model["merges"])}
        words = [" unhappiness", " melancholy", "the", "Q", " Zoë", "aaaa"]
        for word, states in zip(
            words,
            run(modules, "bpe", "given.map((word) => subwords.algorithm.states(word))", words),
            strict=True,
        ):
            symbols = list(word)
            for state in states:
                assert state["symbols"] == symbols
                offers = sorted(
                    (ranks[pair], at) for at, pair in enumerate(pairwise(symbols)) if pair in ranks
                )
                assert [(offer["rank"], offer["at"]) for offer in state["offers"]] == offers
                if offers:
                    at = offers[0][1]
                    symbols[at : at + 2] = ["".join(symbols[at : at + 2])]
            assert states[-1]["offers"] == []
            assert [s if s in model["vocab"] else "[UNK]" for s in symbols] == tokenizer(
                "bpe"
            ).split(word)

    def test_what_was_tried_before_a_match(self, modules: Page):
        tokens = set(tokenizer("wordpiece").tokens)
        code = "given.map((word) => subwords.algorithm.tries(word))"
        good, lost, long = run(modules, "wordpiece", code, ["unhappiness", "Zoë", "a" * 101])
        taken = ["##" * bool(i) + one["text"] for i, one in enumerate(good)]
        assert taken == tokenizer("wordpiece").split("unhappiness")
        assert not tokens & {piece for one in good for piece in one["missing"]}
        assert good[0]["missing"][0] == "unhappiness"
        assert len(good[0]["missing"]) == len("unhappiness") - len(good[0]["text"])
        assert lost[-1]["id"] is None
        assert lost[-1]["missing"][-1] == "##ë"
        assert long == []

    def test_the_two_likeliest_cuts_are_the_best_of_all(self, modules: Page):
        scores = dict(tokenizer("unigram").to_dict()["model"]["vocab"][SPECIALS:])
        words = [" unhappiness", " seaman", " melancholy", "steam", " unkindness", "Rosalind"]
        code = "given.map((word) => subwords.algorithm.best(word))"
        for word, found in zip(words, run(modules, "unigram", code, words), strict=True):
            places = range(1, len(word))
            every = []
            for n in range(len(word)):
                for inner in combinations(places, n):
                    ends = [0, *inner, len(word)]
                    cut = [word[a:b] for a, b in pairwise(ends)]
                    if all(piece in scores for piece in cut):
                        every.append((sum(scores[piece] for piece in cut), cut))
            best = sorted(every, reverse=True)[:2]
            assert [[p["text"] for p in one["pieces"]] for one in found] == [c for _, c in best]
            assert [one["score"] for one in found] == pytest.approx([s for s, _ in best])

    def test_a_single_character_has_one_cut(self, modules: Page):
        assert len(run(modules, "unigram", "subwords.algorithm.best('😀')")) == 1


def texts_of(panel: Locator, name: str) -> list[str]:
    """Read the chips of one tokeniser, each as its two lines."""
    row = panel.get_by_role("group", name=f"Tokens of {name}")
    return [re.sub(r"\s*\n\s*", "|", chip) for chip in row.locator(".chip").all_inner_texts()]


def chips_in_python(name: str, text: str) -> list[str]:
    """Write a text's tokens as the chips do; unknown ones by their names alone."""
    found = tokenizer(name)
    tokens = [(found.tokens[i], i) for i in found.encode(text).tolist()]
    return [f"{token.replace(' ', '␣')}|{i}" for token, i in tokens]


def counts_in_python(text: str) -> list[list[object]]:
    """Give the table of counts, from Python; numbers as the page rounds them.

    An unknown token holds nothing. WordPiece drops white space, which goes with the token after it.
    """
    _, characters = load_model("gpt_chars")
    cuts = {title: pieces_in_python(name, text) for title, name in TITLES.items()}
    cuts["Characters"] = [(c, c, c not in characters.tokens) for c in text]
    rows: list[list[object]] = []
    for title, pieces in cuts.items():
        known = [with_space for with_space, _, is_unknown in pieces if not is_unknown]
        sizes: list[object] = ["–", "–"]
        if known:
            whole = "".join(known)
            sizes = [pytest.approx(n / len(known), abs=0.0051)
                     for n in (len(whole), len(whole.encode()))]  # fmt: skip
        lost = sum(len(piece) for _, piece, is_unknown in pieces if is_unknown)
        rows.append([title, len(pieces), *sizes, lost])
    return rows


def library(name: str, n_merges: int | None = None) -> Tokenizer:
    """Give a vocabulary to the library, without special tokens, or with the first merges alone."""
    state = tokenizer(name).to_dict()
    state["added_tokens"] = []
    if n_merges is not None:
        made = [a + b for a, b in map(tuple, state["model"]["merges"])]
        dropped = set(made[n_merges:]) - set(made[:n_merges])
        state["model"]["merges"] = state["model"]["merges"][:n_merges]
        vocab = state["model"]["vocab"]
        state["model"]["vocab"] = {one: i for one, i in vocab.items() if one not in dropped}
    return Tokenizer.from_str(json.dumps(state))


def pieces_in_python(name: str, text: str) -> list[tuple[str, str, bool]]:
    """Cut a text with the library: each piece with what was dropped before it, alone, unknown?"""
    found = library(name).encode(text, add_special_tokens=False)
    pieces, end = [], 0
    for i, (begin, stop) in zip(found.ids, found.offsets, strict=True):
        pieces.append((text[end:stop], text[begin:stop], i == tokenizer(name).unk_id))
        end = stop
    return pieces


def counts_of(panel: Locator) -> list[list[object]]:
    """Read the table of counts."""
    lines = panel.locator(".counts tbody tr").all()
    rows = [line.locator("th, td").all_inner_texts() for line in lines]
    return [[title, *(n if n == "–" else float(n) for n in numbers)] for title, *numbers in rows]


def open_all(visited: object, text: str | None = SENTENCE, **how: bool) -> Locator:
    """Open the applet and the part with the other tokenisers, and type a text."""
    panel = open_applet(visited, "tokenizer", **how)  # type: ignore[arg-type]
    panel.locator("summary").click()
    if text is not None:
        panel.get_by_label("Your name").fill(text)
    return panel


def ladder_of(panel: Locator) -> list[list[str]]:
    """Read the ladder, row by row."""
    rows: dict[str, list[str]] = {}
    for rung in panel.locator(".rung").all():
        row = rung.evaluate("(one) => one.style.gridRowStart")
        rows.setdefault(row, []).append(rung.inner_text().replace("␣", " "))
    return list(rows.values())


def merged(*words: str) -> list[list[str]]:
    """Merge words together, the merge that was learned first before the others."""
    model = tokenizer("bpe").to_dict()["model"]
    ranks = {tuple(pair): rank for rank, pair in enumerate(model["merges"])}
    symbols = [list(word) for word in words]
    rows = [list(chain(*symbols))]
    while True:
        offers = [
            (ranks[pair], i, at)
            for i, word in enumerate(symbols)
            for at, pair in enumerate(pairwise(word))
            if pair in ranks
        ]
        if not offers:
            return rows
        _, i, at = min(offers)
        symbols[i][at : at + 2] = ["".join(symbols[i][at : at + 2])]
        rows.append(list(chain(*symbols)))


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_it_opens_with_the_merges_of_a_name(visit: Visitor, width: int, theme: str):
    visited = visit(PAGE, width=width, theme=theme, reduced_motion=True)
    panel = open_applet(visited, "tokenizer")
    assert ladder_of(panel) == merged(START)
    assert texts_of(panel, "BPE") == chips_in_python("bpe", START)
    assert axe_complaints(visited.page, "pt-tokenizer") == []
    assert visited.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_a_sentence_in_all_tokenisers(visit: Visitor, width: int, theme: str):
    visited = visit(PAGE, width=width, theme=theme, reduced_motion=True)
    panel = open_all(visited)
    panel.get_by_role("group", name="Tokens of BPE").locator(".chip").nth(5).click()
    assert counts_of(panel) == counts_in_python(SENTENCE)
    for title, name in (("BPE", "bpe"), ("Unigram", "unigram")):
        expected = [chip.replace("[UNK]|", "ë|[UNK] ") for chip in chips_in_python(name, SENTENCE)]
        assert texts_of(panel, title) == expected
    expected = chips_in_python("wordpiece", SENTENCE)
    assert texts_of(panel, "WordPiece") == [
        chip.replace("[UNK]|", "Zoë|[UNK] ") for chip in expected
    ]
    assert panel.locator(".chip.unknown").count() == 4
    assert axe_complaints(visited.page, "pt-tokenizer") == []
    assert visited.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    assert panel.evaluate(TABLES_FIT)


def test_no_merge_crosses_from_one_name_to_the_next(visit: Visitor):
    panel = open_all(visit(PAGE, reduced_motion=True), "Ada Lovelace")
    rows = merged("Ada", " Lovelace")
    assert ladder_of(panel) == rows
    assert rows[-1] == tokenizer("bpe").split("Ada Lovelace")
    notes = panel.locator(".rung-note").all_inner_texts()
    assert notes[0] == "characters"
    ranks = [int(re.sub(r"\D", "", note)) for note in notes[1:]]
    assert ranks == sorted(ranks)


def test_of_a_longer_text_the_chosen_word_is_merged(visit: Visitor):
    panel = open_all(visit(PAGE, reduced_motion=True))
    panel.get_by_role("group", name="Tokens of WordPiece").locator(".chip").nth(1).click()
    assert ladder_of(panel) == merged(" seaman")


def test_the_merges_are_shown_one_after_another(visit: Visitor):
    panel = open_applet(visit(PAGE), "tokenizer")
    last = panel.locator(".rung").last
    expect(last).to_be_visible(timeout=10_000)
    panel.get_by_role("button", name="Watch the merges again").click()
    expect(last).to_be_hidden()
    expect(last).to_be_visible(timeout=10_000)
    panel.get_by_label("Your name").fill("Christopher")
    expect(panel.locator(".rung").first).to_be_visible()
    expect(last).to_be_hidden()
    expect(last).to_be_visible(timeout=10_000)


@pytest.mark.parametrize("text", ["Zoë 👩‍👩‍👧 🇩🇪", "👍🏽", "❤️", "a👨‍👩‍👧"])
def test_no_picture_cuts_an_emoji(visit: Visitor, text: str):
    visited = visit(PAGE, reduced_motion=True)
    panel = open_all(visited, text)
    signs = visited.page.evaluate(
        "(text) => [...new Intl.Segmenter('en').segment(text)].map((one) => one.segment)", text
    )
    pictures = [sign for sign in signs if not sign.isascii()]
    chips = panel.get_by_role("group", name="Tokens of Characters").locator(".chip > span")
    for shown in (ladder_of(panel)[0], chips.all_inner_texts()):
        assert [one for one in shown if not one.replace("␣", " ").isascii()] == pictures
    assert counts_of(panel) == counts_in_python(text)


def test_a_long_paste_keeps_whole_characters(visit: Visitor):
    panel = open_applet(visit(PAGE, reduced_motion=True), "tokenizer")
    box = panel.get_by_label("Your name")
    box.fill("👩‍👩‍👧" * 1_000)
    kept = box.input_value()
    assert kept == "👩‍👩‍👧" * (300 // 8)
    box.fill("a" * 5_000)
    assert box.input_value() == "a" * 300
    assert len(panel.locator(".rung-note").all()) <= 10


def test_a_pressed_token_chooses_its_word_in_every_row(visit: Visitor):
    panel = open_all(visit(PAGE, reduced_motion=True))
    panel.get_by_role("group", name="Tokens of WordPiece").locator(".chip").nth(1).click()
    expect(panel.locator(WORD)).to_have_text("How “␣seaman” is cut")
    pressed = panel.locator(".chip[aria-pressed=true] > span:first-child").all_inner_texts()
    assert "".join(pressed) == "␣seamansea##man␣seaman␣seaman"
    log_probs = dict(tokenizer("unigram").to_dict()["model"]["vocab"])
    score = sum(log_probs[piece] for piece in tokenizer("unigram").split(" seaman"))
    likeliest = panel.locator(".columns .steps").last
    expect(likeliest).to_contain_text(f"Best: {score:.2f}".replace("-", "−"))
    found = re.search(r"Runner-up: −([\d.]+)", likeliest.inner_text())
    ratio = re.search(r"([\d.,]+) times as likely", likeliest.inner_text())
    expected = math.exp(score + float(found[1]))
    assert float(ratio[1].replace(",", "")) == pytest.approx(expected, rel=0.06)


def test_a_text_of_ones_own_by_keyboard_alone(visit: Visitor):
    visited = visit(PAGE, reduced_motion=True)
    panel = open_applet(visited, "tokenizer", by_keyboard=True)
    keyboard = visited.page.keyboard
    keyboard.press("Control+a")
    keyboard.type("O melancholy 日本")
    assert ladder_of(panel) == merged("O", " melancholy", " 日本")
    for _ in range(2):  # ready texts, the ladder that scrolls
        keyboard.press("Tab")
    keyboard.press("Tab")
    assert focused_text(visited.page).startswith("capital O, ")
    for _ in range(4):  # the button, the slider, the button, the other tokenisers
        keyboard.press("Tab")
    keyboard.press("Enter")
    assert counts_of(panel) == counts_in_python("O melancholy 日本")
    expect(panel.locator(WORD)).to_have_text("How “␣日本” is cut")
    expect(panel.locator(".columns")).to_contain_text("the whole word becomes [UNK]")
    keyboard.press("Tab")
    keyboard.press("ArrowRight")
    keyboard.press("Enter")
    expect(panel.locator(WORD)).to_have_text("How “␣melancholy” is cut")
    expect(panel.locator(".heard")).to_have_text(
        re.compile(r"^BPE \d+ · WordPiece \d+ · Unigram \d+ · Characters 15 tokens$")
    )


def test_bytes_write_everything(visit: Visitor):
    panel = open_all(visit(PAGE, reduced_motion=True))
    panel.get_by_label("Ready texts").select_option(label="Chinese")
    text = panel.get_by_label("Your name").input_value()
    assert counts_of(panel)[-1] == ["Characters", len(text), "–", "–", len(text)]
    panel.get_by_label("Plain units").select_option("bytes")
    encoded = text.encode()
    ratio = pytest.approx(len(text) / len(encoded), abs=0.0051)
    assert counts_of(panel)[-1] == ["Bytes", len(encoded), ratio, 1, 0]
    assert texts_of(panel, "Bytes") == [f"\\x{one:x}|{one}" for one in encoded]


def test_unknown_tokens_are_no_compression(visit: Visitor):
    panel = open_all(visit(PAGE, reduced_motion=True))
    box = panel.get_by_label("Your name")
    box.fill("παρακαλώ θέλω")
    rows = {row[0]: row for row in counts_of(panel)}
    assert rows["WordPiece"] == ["WordPiece", 2, "–", "–", len("παρακαλώθέλω")]
    box.fill("the the παρακαλώ")
    rows = {row[0]: row for row in counts_of(panel)}
    assert rows["WordPiece"] == ["WordPiece", 3, 3.5, 3.5, len("παρακαλώ")]


def test_long_texts_show_whole_rows_and_a_button_for_the_rest(visit: Visitor):
    visited = visit(PAGE, width=390, reduced_motion=True)
    panel = open_all(visited)
    text = "the quick brown fox " * 300
    box = panel.get_by_label("Your name")
    box.fill(text)
    row = panel.get_by_role("group", name="Tokens of Characters")
    cut = """(row) => { const bottom = row.getBoundingClientRect().bottom;
      return [...row.children].every((key) => key.getBoundingClientRect().bottom <= bottom + 1)
        && row.scrollHeight <= row.clientHeight + 1; }"""
    assert row.evaluate(cut), "no key is cut"
    n_shown = row.locator(".chip").count()
    panel.get_by_role("button", name="Show all tokens").click()
    assert n_shown < row.locator(".chip").count() <= len(box.input_value())
    assert row.evaluate(cut)
    expect(panel.get_by_role("button", name="Show all tokens")).to_be_hidden()
    assert counts_of(panel)[-1][1] == len(box.input_value())
    assert visited.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


def test_a_smaller_vocabulary_uses_the_first_merges_alone(visit: Visitor):
    panel = open_all(visit(PAGE, reduced_motion=True))
    size = panel.get_by_role("slider", name="BPE’s vocabulary")
    row = panel.get_by_role("group", name="Tokens of BPE")
    size.fill("0")
    shown = [one.replace("␣", " ") for one in row.locator(".chip > span").all_inner_texts()]
    assert shown == list(SENTENCE), "without a merge, characters are left"
    model = tokenizer("bpe").to_dict()["model"]
    counts = []
    for stop in (0, 6, 12, 18, 24):
        size.fill(str(stop))
        n_merges = round(len(model["merges"]) ** (stop / 24)) if stop else 0
        n_ids = tokenizer("bpe").vocab_size - len(model["merges"]) + n_merges
        expect(size).to_have_attribute("aria-valuetext", f"{n_ids:,} tokens")
        expected = library("bpe", n_merges).encode(SENTENCE, add_special_tokens=False)
        counts.append(row.locator(".chip").count())
        assert counts[-1] == len(expected.ids)
    assert counts == sorted(counts, reverse=True)
    panel.get_by_role("button", name="Grow it").click()
    expect(size).to_have_value(re.compile("^[1-9]$"))
    size.fill("20")
    visited_after = row.locator(".chip").count()
    panel.page.wait_for_timeout(600)
    assert row.locator(".chip").count() == visited_after, "a hand on the slider ends the growth"


def test_typing_leaves_the_name_of_no_ready_text(visit: Visitor):
    panel = open_all(visit(PAGE, reduced_motion=True))
    panel.get_by_label("Your name").fill("mine")
    ready = panel.get_by_label("Ready texts")
    assert ready.evaluate("(one) => one.selectedOptions[0].text") == "your own"


@pytest.mark.parametrize("name", ["German", "Greek", "Numbers", "Emoji", "Code"])
def test_the_ready_texts(name: str, visit: Visitor):
    panel = open_all(visit(PAGE, reduced_motion=True))
    panel.get_by_label("Ready texts").select_option(label=name)
    text = panel.get_by_label("Your name").input_value()
    assert counts_of(panel) == counts_in_python(text)


def test_an_empty_text_and_invisible_characters(visit: Visitor):
    visited = visit(PAGE, reduced_motion=True)
    panel = open_all(visited)
    box = panel.get_by_label("Your name")
    box.fill("")
    assert {row[1] for row in counts_of(panel)} == {0}
    expect(panel.locator(WORD)).to_have_count(0)
    expect(panel).to_contain_text("Type a text, or take a ready one.")
    box.fill("a\u200db \u0301\t[MASK]")
    assert counts_of(panel) == counts_in_python("a\u200db \u0301\t[MASK]")
    shown = "".join(panel.locator(".chip > span:first-child").all_inner_texts())
    assert "⟨200D⟩" in shown
    assert "◌\u0301" in shown
    box.evaluate("(box) => { box.value = 'a\\ud83d'; box.dispatchEvent(new Event('input')); }")
    expect(panel.locator(".chip.unknown > span:first-child").first).to_have_text("\ufffd")


def test_nothing_is_loaded_before_a_reader_asks(visit: Visitor):
    visited = visit(PAGE)
    asked: list[str] = []
    visited.page.on("request", lambda request: asked.append(request.url))
    find(visited, "tokenizer").scroll_into_view_if_needed()
    visited.page.wait_for_timeout(300)
    assert not [one for one in asked if "models/" in one]


def test_a_missing_file_gives_the_message(visit: Visitor):
    expect_message_without(visit, PAGE, "tokenizer", "**/plays_unigram.json*")


def test_without_scripts_the_merges_stay(visit: Visitor):
    applet = find(visit(PAGE, javascript=False), "tokenizer")
    expect(applet.locator("pre")).to_contain_text("The od ore")
    expect(applet.get_by_text("A name, merged step by step")).to_be_visible()
    expect(applet.locator("button")).to_have_count(0)
