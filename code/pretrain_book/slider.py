# SPDX-License-Identifier: MIT
"""Explore a function of one value: a slider in Jupyter, the same states precomputed in the page.

Implements one object with two faces. Where a person runs the cell it becomes a live `ipywidgets`
slider that calls the function. Everywhere else, in stored notebooks and in the built page, it is
HTML that holds the result for each listed value behind one native ``<input type="range">``. The
first state shows without any script, in print too; moving the slider needs one inline line.

Leaves out: several controls at once (see `pretrain_book.playground`), and states made in the
reader's browser.
"""

import json
import re
import zlib
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from pretrain_book.widgets import StoredWidget, link_controls, number_slider, render_state

MAX_STATES = 12

# `this` is the slider: it shows the chosen state, hides the others, and updates the value that
# is written beside it and the one that screen readers say.
_ON_INPUT = (
    "const b=this.closest('.explore'),n=+this.value;"
    "b.querySelectorAll('.explore-state').forEach((s,i)=>{s.hidden=i!==n});"
    "const t=b.querySelectorAll('.explore-state')[n].dataset.value;"
    "b.querySelector('output').textContent=t;this.setAttribute('aria-valuetext',t)"
)
_STYLE = (
    "<style>.explore output{font-weight:bold}@media print{.explore input{display:none}}"
    "@media (scripting:none){.explore input{display:none}}</style>"
)


class Explorer(StoredWidget):
    """Hold a function and its precomputed states; made by :func:`slider`."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        values: Sequence[Any],
        label: str,
        unit: str = "",
        start: int = 0,
        alt: str | Callable[[Any], str] = "",
    ) -> None:
        """Check the arguments, and compute the states that a runner will store."""
        _check_states(values, label, start)
        self.function, self.values, self.label = function, list(values), label
        self.unit, self.start, self.alt = unit, start, alt
        # Here, and not while displaying: IPython would swallow an error of the function.
        self._states = [] if self._watched else self._compute()

    def __repr__(self) -> str:
        """Return the label, the values and the first state as plain text."""
        names = ", ".join(self._name(value) for value in self.values)
        return f"{self.label}: {names}\n{self.states[self.start][1]}"

    @property
    def states(self) -> list[tuple[str, str]]:
        """Give each state as (HTML, plain text), in the order of the values."""
        if not self._states:
            self._states = self._compute()
        return self._states

    def _compute(self) -> list[tuple[str, str]]:
        """Call the function for every value."""
        return [self._render(value) for value in self.values]

    def live(self, step: float | None = None) -> Any:
        """Make the `ipywidgets` slider, which also reaches values between the listed ones.

        Args:
            step: Distance between neighbouring values of a numeric slider; by default one unit of
                the last decimal place in use. Values that are no numbers become a choice.

        Returns:
            ipywidgets.VBox with the slider and the current state under it.
        """
        slider = self._slider(step)
        return link_controls({"value": slider}, lambda now: self._render(now["value"])[0])

    def _slider(self, step: float | None) -> Any:
        """Choose the widget that fits the values: whole numbers, numbers, or names."""
        import ipywidgets

        start = self.values[self.start]
        common: dict[str, Any] = {
            "description": self.label,
            "style": {"description_width": "initial"},
        }
        if not all(type(value) in (int, float) for value in self.values):
            options = [(self._name(value), value) for value in self.values]
            return ipywidgets.SelectionSlider(options=options, value=start, **common)
        return number_slider(self.values, start, step, **common)

    def _name(self, value: Any) -> str:
        """Write a value with its unit."""
        return f"{value} {self.unit}" if self.unit else str(value)

    def _render(self, value: Any) -> tuple[str, str]:
        """Call the function and turn what it returns into (HTML, plain text)."""
        alt = self.alt(value) if callable(self.alt) else self.alt
        where = f"{self.label} = {self._name(value)}"
        return render_state(self.function(value), "slider", where, alt)

    def _html(self) -> str:
        """Write the slider and all states; all but the first are hidden."""
        now = escape(self._name(self.values[self.start]))
        name = escape(self.label)
        slider = (
            f'<input type="range" min="0" max="{len(self.values) - 1}" value="{self.start}" '
            f'step="1" autocomplete="off" aria-valuetext="{now}" '
            f'style="vertical-align:middle;width:14em" oninput="{escape(_ON_INPUT)}">'
        )
        head = f'<p><label>{name} {slider}</label> <output aria-live="off">{now}</output></p>'
        body = "".join(
            f'<div class="explore-state" role="group" aria-label="{name}: {text}" '
            f'data-value="{text}"{"" if index == self.start else " hidden"}>{html}</div>'
            for index, (html, text) in enumerate(
                (state[0], escape(self._name(value)))
                for state, value in zip(self.states, self.values, strict=True)
            )
        )
        return f'{_STYLE}<div class="explore" id="{self._id()}">{head}{body}</div>'

    def _id(self) -> str:
        """Make an id from the label and the values: the same in every run."""
        slug = re.sub(r"[^a-z0-9]+", "-", self.label.lower()).strip("-")
        check = zlib.crc32(json.dumps([self.label, list(map(str, self.values))]).encode())
        return f"explore-{slug}-{check:08x}"


def slider(
    function: Callable[[Any], Any],
    values: Sequence[Any],
    label: str,
    unit: str = "",
    start: int = 0,
    alt: str | Callable[[Any], str] = "",
) -> Explorer:
    """Show ``function(value)`` behind a slider: live in Jupyter, precomputed in the page.

    Stored HTML is compared when a chapter runs again, so numbers in it should come rounded from
    committed models. Figures are stored as PNG; prefer the pieces of :mod:`pretrain_book.html`.

    Args:
        function: Takes one value; returns a piece of HTML, plain text or a matplotlib figure.
        values: The 1 to 12 different values whose states are stored.
        label: What the value is; it names the slider.
        unit: Unit written after each value.
        start: Index of the state that shows first.
        alt: Alternative text of figures: one text, or a function of the value.

    Returns:
        The object that a cell displays by ending with it.

    Raises:
        ValueError: No label, no values, more than 12, the same value twice, or ``start`` outside.
    """
    return Explorer(function, values, label, unit, start, alt)


def _check_states(values: Sequence[Any], label: str, start: int) -> None:
    """Refuse explorers without a name, without states, or with a start that is none of them."""
    if not label.strip():
        raise ValueError("slider expects a label that names the slider, got an empty one")
    if not 1 <= len(values) <= MAX_STATES:
        raise ValueError(f"slider expects 1..{MAX_STATES} values, got {len(values)}")
    if len(set(map(str, values))) != len(values):
        raise ValueError(f"slider expects different values, got {list(values)}")
    if not 0 <= start < len(values):
        raise ValueError(f"slider expects start in 0..{len(values) - 1}, got {start}")
