# SPDX-License-Identifier: MIT
"""Texts of any kind: cleaned, cut, scored, shown as HTML, put into prompts."""

import html
import math
from typing import Any

from harness import fuzz
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from strategies import GENERATORS, ODD_FLOATS, TEXTS, calls, mostly, sizes

from pretrain.cleaning import Speech, clean_play, mend, plain_text
from pretrain.datasets import SPLITS, film_split, play_split
from pretrain.live import error_html
from pretrain.play_baselines import Scores, majority_share, name_scores, name_spans
from pretrain.play_scenes import core
from pretrain.plot_or_review import split_sentences
from pretrain.prompts import Template, draw_balanced, encode_answers, encode_task, relabel
from pretrain.rouge import Rouge, rouge_l, rouge_n, words
from pretrain.tables import TOKEN_STATES, Html, bars_html, table_html, tokens_html, visible
from pretrain.timeline import KINDS, Step, check_steps, decimal_year, lineage_size

PLAYS = st.text("*#_[]()\\ \nAab.:-&;", max_size=60) | TEXTS


@fuzz(mend, calls(markdown=PLAYS, slug=mostly(st.just("none"), st.just("hamlet"), TEXTS)))
def test_mend(mended: str, **_: Any) -> None:
    """No blanks at the ends of lines, and at most one empty line."""
    assert not any(line.endswith((" ", "\t", "\r")) for line in mended.split("\n"))
    assert "\n\n\n" not in mended


@fuzz(clean_play, calls(mended=PLAYS))
def test_clean_play(speeches: tuple[Speech, ...], mended: str) -> None:
    """Speeches, none empty."""
    assert all(speech.text.strip() for speech in speeches)
    assert not speeches or "**" in mended


@fuzz(plain_text, calls(text=TEXTS))
def test_plain_text(plain: str, text: str) -> None:
    """Printable ASCII on one line with single blanks, and twice is once."""
    assert all(" " <= character <= "~" for character in plain)
    assert plain == " ".join(plain.split())
    assert plain_text(plain) == plain


@fuzz(words, calls(text=TEXTS))
def test_words(found: list[str], text: str) -> None:
    """Small letters and digits that stand in the text."""
    assert all(word.isascii() and word.isalnum() and word == word.lower() for word in found)
    assert all(word in text.lower() for word in found)


def is_rouge(score: Rouge, written: str, reference: str) -> None:
    """Shares, and their harmonic mean between them."""
    assert all(0 <= value <= 1 for value in score)
    assert min(score[:2]) - 1e-9 <= score.f1 <= max(score[:2]) + 1e-9
    assert words(written) != words(reference) or score[0] in (0.0, 1.0)


@fuzz(rouge_n, calls(written=TEXTS, reference=TEXTS, n=sizes(4)))
def test_rouge_n(score: Rouge, written: str, reference: str, n: int) -> None:
    """Shares; all of an n-gram text when it is compared with itself."""
    is_rouge(score, written, reference)
    assert rouge_n(written, written, n) == Rouge(*[float(len(words(written)) >= n)] * 3)


@fuzz(rouge_l, calls(written=TEXTS, reference=TEXTS))
def test_rouge_l(score: Rouge, written: str, reference: str) -> None:
    """Shares, no larger than those of single words."""
    is_rouge(score, written, reference)
    assert score.recall <= rouge_n(written, reference).recall + 1e-9


@fuzz(core, calls(word=TEXTS))
def test_core(found: str, word: str) -> None:
    """Small letters, without marks at the ends."""
    assert found == found.lower().strip("'-")
    assert found in word.lower()


@fuzz(split_sentences, calls(text=TEXTS | st.text('Ab.!?" ', max_size=40)))
def test_split_sentences(sentences: list[str], text: str) -> None:
    """Pieces of the text in order, none empty."""
    place = 0
    for sentence in sentences:
        assert sentence == sentence.strip() != ""
        place = text.index(sentence, place) + len(sentence)


@fuzz(play_split, calls(slug=mostly(st.just("hamlet"), TEXTS)))
def test_play_split(split: str, **_: Any) -> None:
    """One of three."""
    assert split in SPLITS


@fuzz(film_split, calls(film=TEXTS))
def test_film_split(split: str, film: str) -> None:
    """One of three, and always the same."""
    assert split in SPLITS
    assert film_split(film) == split


ERRORS = st.builds(lambda kind, text: kind(text), st.sampled_from([ValueError, KeyError]), TEXTS)


@fuzz(error_html, calls(error=ERRORS))
def test_error_html(found: str, error: Exception) -> None:
    """The message, escaped."""
    assert html.escape(str(error)) in found
    assert found.count("<") == 4


TAGS = st.lists(st.sampled_from("OBI"), max_size=6)


@fuzz(name_spans, calls(tags=TAGS))
def test_name_spans(spans: list[tuple[int, int]], tags: list[str]) -> None:
    """They cover all B and I, and nothing else."""
    covered = [place for start, end in spans for place in range(start, end)]
    assert covered == [place for place, tag in enumerate(tags) if tag != "O"]


@fuzz(name_scores, calls(marked=st.lists(TAGS, max_size=3), truth=st.lists(TAGS, max_size=3)).map(
    lambda call: {**call, "marked": [list(tags) for tags in call["truth"]]}
    if len(call["marked"]) % 2 else call))  # fmt: skip
def test_name_scores(scores: Scores, marked: Any, truth: Any) -> None:
    """Shares; all of the truth when it is marked itself."""
    assert all(0 <= value <= 1 for value in scores)
    if marked == truth and any(tag != "O" for tags in truth for tag in tags):
        assert scores == (1, 1, 1)


LABELS = st.lists(st.sampled_from("abc"), max_size=6)


@fuzz(majority_share, calls(train=LABELS, test=LABELS))
def test_majority_share(share: float, train: list[str], test: list[str]) -> None:
    """A share, and at least a third of the three labels of the training itself."""
    assert 0 <= share <= 1
    assert majority_share(train, train) >= 1 / 3


@fuzz(visible, calls(token=TEXTS))
def test_visible(shown: str, token: str) -> None:
    """As long as the token, without a blank at either end."""
    assert len(shown) == len(token)
    assert shown == shown.strip(" ")
    assert "\n" not in shown


@st.composite
def bars(draw: DrawFn) -> dict[str, Any]:
    """Draw bars, mostly with one number each."""
    labels = draw(st.lists(TEXTS, max_size=4))
    value = mostly(st.floats(0.0, 1e6), ODD_FLOATS)
    fitting = st.lists(value, min_size=len(labels), max_size=len(labels))
    paradigm = mostly(st.sampled_from(["gpt", "bert", "t5", "baseline"]), st.just("rnn"))
    return {"labels": labels, "values": draw(mostly(fitting, st.lists(value))),
            "caption": draw(TEXTS), "unit": draw(TEXTS), "paradigm": draw(paradigm),
            "fmt": draw(mostly(st.sampled_from([".2f", ".0%", ",.1f"]), st.just(".2q"))),
            "marked": draw(st.lists(st.integers(-1, 4))),
            "top": draw(st.none() | value)}  # fmt: skip


@fuzz(bars_html, bars())
def test_bars_html(found: Html, labels: list[str], values: list[float], fmt: str, **_: Any) -> None:
    """Every name and number, in both forms."""
    assert found.html.count("<li") == len(labels)
    for label, value in zip(labels, values, strict=True):
        assert visible(label) in found.text
        assert f"{value:{fmt}}" in found.text
        assert html.escape(visible(label)) in found.html


@fuzz(
    table_html,
    calls(
        columns=mostly(st.just(["a", "b"]), st.lists(TEXTS, max_size=3)),
        rows=st.lists(mostly(st.tuples(TEXTS, st.integers()), st.just(())), max_size=3),
        caption=TEXTS,
    ),
)
def test_table_html(found: Html, rows: Any, **_: Any) -> None:
    """Every cell, in both forms."""
    assert found.html.count("<tr>") == len(rows) + 1
    assert all(html.escape(str(cell)) in found.html for row in rows for cell in row)


@fuzz(
    tokens_html,
    calls(
        tokens=st.lists(TEXTS, max_size=4),
        states=st.lists(mostly(st.sampled_from(sorted(TOKEN_STATES)), st.just("x")), max_size=4),
        caption=TEXTS,
    ).map(lambda call: {**call, "tokens": (call["tokens"] * 4)[: len(call["states"])]}),
)
def test_tokens_html(found: Html, tokens: list[str], **_: Any) -> None:
    """Every token, in both forms."""
    assert all(visible(token) in found.text for token in tokens)
    assert all(html.escape(visible(token)) in found.html for token in tokens)


QUESTIONS = mostly(st.just("Q: {input}\nA:"), TEXTS, st.just("{input}{input}"), st.just("{x}{"))
TEMPLATES = st.builds(Template, QUESTIONS, st.sampled_from([" ", ""]), TEXTS, TEXTS)
EXAMPLES = st.lists(st.tuples(TEXTS, st.sampled_from(["yes", "no"])), max_size=6)


@fuzz(Template.prompt, calls(self=TEMPLATES, demonstrations=EXAMPLES, text=TEXTS))
def test_prompt(found: str, self: Template, demonstrations: Any, text: str) -> None:
    """The head first, the question last, and every example between them."""
    assert found.startswith(self.head)
    assert found.endswith(self.ask(text))
    assert all(self.ask(a) + self.before + b in found for a, b in demonstrations)


def encode(text: str) -> list[int]:
    """Stand in for a tokeniser."""
    return [ord(character) for character in text]


@fuzz(
    encode_task,
    calls(template=TEMPLATES, demonstrations=EXAMPLES, texts=st.lists(TEXTS, max_size=3),
          encode=st.just(encode)),
)  # fmt: skip
def test_encode_task(
    found: tuple[list[int], list[list[int]]], template: Template, demonstrations: Any, texts: Any,
    **_: Any,
) -> None:  # fmt: skip
    """Both parts together are the prompt."""
    shared, questions = found
    for text, question in zip(texts, questions, strict=True):
        assert shared + question == encode(template.prompt(demonstrations, text))


@fuzz(
    encode_answers,
    calls(template=TEMPLATES, answers=st.lists(TEXTS, max_size=3), encode=st.just(encode)),
)
def test_encode_answers(found: list[list[int]], answers: list[str], **_: Any) -> None:
    """One row for each."""
    assert len(found) == len(answers)


@fuzz(draw_balanced, calls(examples=EXAMPLES, k=sizes(6, 0), generator=GENERATORS))
def test_draw_balanced(drawn: list[Any], examples: list[Any], k: int, **_: Any) -> None:
    """As many as asked, of the pool, each answer as often as the others or once more."""
    assert len(drawn) == k
    assert all(drawn.count(one) <= examples.count(one) for one in drawn)
    counts = [[answer for _, answer in drawn].count(a) for a in {b for _, b in examples}]
    assert not counts or max(counts) - min(counts) <= 1


@fuzz(
    relabel,
    calls(
        demonstrations=EXAMPLES,
        labels=mostly(st.just(["yes", "no"]), st.just([]), st.just(["no"])),
        how=mostly(st.sampled_from(["true", "random", "next"]), st.just("false")),
        generator=mostly(GENERATORS, st.none()),
    ),
)
def test_relabel(found: Any, demonstrations: Any, labels: list[str], how: str, **_: Any) -> None:
    """The same inputs; with two labels, "next" makes all answers wrong."""
    assert [text for text, _ in found] == [text for text, _ in demonstrations]
    pairs = list(zip(found, demonstrations, strict=True))
    assert how != "true" or all(new == old for new, old in pairs)
    assert how != "next" or len(labels) < 2 or all(new[1] != old[1] for new, old in pairs)


DATES = mostly(
    st.dates().map(str) | st.integers(1000, 9999).map(str) | st.just("1999-13"), TEXTS,
    st.text("0123456789-", max_size=10),
)  # fmt: skip


@fuzz(decimal_year, calls(date=DATES))
def test_decimal_year(year: float, date: str) -> None:
    """Within its year."""
    assert int(date[:4]) <= year < int(date[:4]) + 1


NAMES = st.sampled_from(["a", "b", "c", ""])
STEPS = st.builds(
    Step, st.sampled_from("abc"), DATES, mostly(st.sampled_from(sorted(KINDS)), st.just("x")),
    st.just("idea"), st.just("limit"), NAMES, NAMES, st.just("key"), st.just("seen"),
)  # fmt: skip


@fuzz(check_steps, calls(steps=st.lists(STEPS, max_size=3)))
def test_check_steps(result: None, steps: list[Step]) -> None:
    """What passes has successors, each of them later."""
    assert result is None
    named = {step.name: step for step in steps}
    for step in steps:
        if step.next:
            assert decimal_year(named[step.next].date) > decimal_year(step.date)


@fuzz(lineage_size, calls(n_steps=st.integers(0, 10**6)))
def test_lineage_size(size: tuple[float, float], n_steps: int) -> None:
    """Larger for more steps."""
    assert all(math.isfinite(length) and length > 0 for length in size)
    assert lineage_size(n_steps + 1)[1] > size[1]
