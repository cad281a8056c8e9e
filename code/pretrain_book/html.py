# SPDX-License-Identifier: MIT
"""Small pieces of HTML for chapters: bars, tables and rows of tokens, each readable as text.

Implements the pieces that tables and explorers of the book are made of. Each piece keeps the same
facts twice: as HTML for notebooks and pages, and as plain text for terminals and for comparison.
Colours are the page's own variables with fallbacks, so a dark page needs nothing more.

Leaves out: scripts, style sheets and anything loaded from elsewhere.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape

TOKEN_STATES = {  # state -> (mark written under the token, border style of its box)
    "not selected": ("", "1px solid"),
    "masked": ("mask", "2px solid"),
    "random": ("random", "2px dashed"),
    "kept": ("kept", "2px dotted"),
    "target": ("target", "3px double"),
}
_BORDER = "var(--pst-color-border, #8a8d91)"
_MONO = "font-family:monospace;color:inherit;white-space:pre"
_COLORS = {"gpt": "#0072B2", "bert": "#009E73", "t5": "#D55E00", "baseline": "#8a8d91"}


@dataclass(frozen=True)
class Html:
    """Markup together with the plain text that says the same.

    Attributes:
        html: Markup that stands alone.
        text: The same facts as plain text.
    """

    html: str
    text: str

    def _repr_html_(self) -> str:
        """Return the markup, which notebooks prefer."""
        return self.html

    def __repr__(self) -> str:
        """Return the plain text, which terminals and stored outputs show."""
        return self.text

    def __add__(self, other: "Html") -> "Html":
        """Put another piece under this one."""
        return Html(self.html + other.html, f"{self.text}\n{other.text}")


def visible(token: str) -> str:
    """Make the blanks of a token visible: ␣ at either end, ↵ and ⇥ anywhere.

    Args:
        token: Any string; spaces between words stay as they are.

    Returns:
        The string with its blanks replaced.
    """
    inner = token.strip(" ")
    before = len(token) - len(token.lstrip(" "))
    after = len(token) - before - len(inner)
    return "␣" * before + inner.replace("\n", "↵").replace("\t", "⇥") + "␣" * after


def bars_html(
    labels: Sequence[str],
    values: Sequence[float],
    caption: str,
    *,
    unit: str = "",
    fmt: str = ".2f",
    marked: Collection[int] = (),
    paradigm: str = "gpt",
    top: float | None = None,
) -> Html:
    """List numbers as horizontal bars in pure HTML, each number readable as text.

    Args:
        labels: One name per bar; blanks are made visible.
        values: One number per bar, not negative. Bars are drawn from the *rounded* numbers.
        caption: Sentence above the bars that names the quantity.
        unit: Unit after each number.
        fmt: Format specification of the numbers, such as ``".2f"`` or ``".0%"``.
        marked: Indices of bars shown bold with a tick, for example the true character.
        paradigm: ``"gpt"``, ``"bert"``, ``"t5"`` or ``"baseline"``, for the colour of the bars.
        top: Value of a full bar; the largest value when None.

    Returns:
        The bars as HTML and as text.

    Raises:
        ValueError: Labels and values differ in number or are empty, a value is negative, larger
            than ``top`` or not finite, or the paradigm is unknown.
    """
    _check_bars(labels, values, paradigm)
    full = max(values) if top is None else top
    if full < max(values):
        raise ValueError(f"bars_html expects values up to top = {full}, got {max(values)}")
    rows = [
        (visible(label) + (" ✓" if index in marked else ""), value, index in marked)
        for index, (label, value) in enumerate(zip(labels, values, strict=True))
    ]
    width = max(len(name) for name, _, _ in rows)
    suffix = f" {unit}" if unit else ""
    items = "".join(
        _bar_row(
            name,
            f"{value:{fmt}}{suffix}",
            _percent(value, full, fmt),
            strong,
            width,
            paradigm,
        )
        for name, value, strong in rows
    )
    lines = [f"  {name:<{width}}  {value:{fmt}}{suffix}" for name, value, _ in rows]
    head = f'<div style="margin-bottom:.3em">{escape(caption)}</div>'
    body = f'<ul style="list-style:none;margin:0;padding:0">{items}</ul>'
    return Html(f'<div style="max-width:38em">{head}{body}</div>', "\n".join([caption, *lines]))


def table_html(columns: Sequence[str], rows: Sequence[Sequence[object]], caption: str = "") -> Html:
    """Lay out a small table; numbers should come already formatted.

    Args:
        columns: Column titles, with units.
        rows: One sequence of cells per row; the first cell names the row.
        caption: Sentence above the table.

    Returns:
        The table as HTML and as aligned text.

    Raises:
        ValueError: A row has another number of cells than there are columns.
    """
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"table_html expects {len(columns)} cells a row, got {list(row)}")
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    head = "".join(f'<th scope="col">{escape(title)}</th>' for title in columns)
    body = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in rest)
        + "</tr>"
        for name, *rest in cells
    )
    title = f'<caption style="color:inherit">{escape(caption)}</caption>' if caption else ""
    lines = [_text_row(row, widths) for row in [list(columns), *cells]]
    return Html(
        f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>",
        "\n".join([caption, *lines] if caption else lines),
    )


def tokens_html(tokens: Sequence[str], states: Sequence[str], caption: str = "") -> Html:
    """Show a row of tokens whose states are told apart by border and words, not by colour.

    Args:
        tokens: The tokens as they stand in the sequence; blanks are made visible.
        states: One of ``TOKEN_STATES`` for each token: the fates of ``pretrain.objectives`` by
            name, or ``"target"`` for a token to predict.
        caption: Sentence above the row.

    Returns:
        The row as HTML, and as text with the state in brackets.

    Raises:
        ValueError: Tokens and states differ in number, or a state is unknown.
    """
    if len(tokens) != len(states):
        raise ValueError(f"tokens_html expects one state a token, got {len(tokens)}, {len(states)}")
    if unknown := set(states) - set(TOKEN_STATES):
        raise ValueError(f"tokens_html expects states {list(TOKEN_STATES)}, got {sorted(unknown)}")
    pairs = list(zip(tokens, states, strict=True))
    boxes = "".join(_token_box(token, state) for token, state in pairs)
    words = [
        visible(t) + (f"[{TOKEN_STATES[s][0]}]" if s != "not selected" else "") for t, s in pairs
    ]
    head = f"<div>{escape(caption)}</div>" if caption else ""
    row = f'<div style="display:flex;flex-wrap:wrap;gap:.25em;margin:.3em 0">{boxes}</div>'
    return Html(head + row, "\n".join(([caption] if caption else []) + [" ".join(words)]))


def _check_bars(labels: Sequence[str], values: Sequence[float], paradigm: str) -> None:
    """Refuse bars without labels, without values, below zero or of an unknown paradigm."""
    if len(labels) != len(values) or len(values) == 0:
        raise ValueError(f"bars need one label a value, got {len(labels)} and {len(values)}")
    if not all(0 <= value < float("inf") for value in values):
        raise ValueError(f"bars expect finite values that are not negative, got {list(values)}")
    if paradigm not in _COLORS:
        raise ValueError(f"bars expect a paradigm from {list(_COLORS)}, got {paradigm!r}")


def _percent(value: float, full: float, fmt: str) -> int:
    """Give a bar's width in percent from the printed numbers: equal text, equal stored HTML."""
    shown, of = (float(f"{number:{fmt}}".rstrip("%").replace(",", "")) for number in (value, full))
    return round(100 * shown / of) if of > 0 else 0


def _bar_row(name: str, number: str, percent: int, strong: bool, width: int, paradigm: str) -> str:
    """Write one bar as a list item: its name, the bar itself (decoration) and its number."""
    weight = "font-weight:bold;" if strong else ""
    bar = (
        f"width:{percent}%;min-width:1px;height:.8em;"
        f"background:{_COLORS[paradigm]};border:1px solid {_BORDER};box-sizing:border-box"
    )
    return (
        f'<li style="display:flex;align-items:center;gap:.6em;{weight}margin:0">'
        f'<span style="{_MONO};min-width:{width + 1}ch;text-align:right">{escape(name)}</span>'
        f'<span aria-hidden="true" style="flex:1"><span style="display:block;{bar}"></span></span>'
        f'<span style="min-width:5em">{escape(number)}</span></li>'
    )


def _token_box(token: str, state: str) -> str:
    """Write one token as a bordered box with its state in words under it."""
    mark, border = TOKEN_STATES[state]
    color = _BORDER if state == "not selected" else "currentColor"
    return (
        f'<span style="border:{border} {color};border-radius:3px;padding:.1em .4em;'
        f'text-align:center"><span style="{_MONO}">{escape(visible(token))}</span>'
        f"<br><small>{escape(mark) or '&nbsp;'}</small></span>"
    )


def _text_row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Align one row of text: the first cell to the left, the others to the right."""
    first, *rest = (
        cell.ljust(width) if column == 0 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join([first, *rest]).rstrip()
