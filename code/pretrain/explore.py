"""Explore a function of one value: a slider in Jupyter, the same states precomputed in the page.

Implements one object with two faces. Where a person runs the cell it becomes a live `ipywidgets`
slider that calls the function. Everywhere else, in stored notebooks and in the built page, it is
HTML that holds the result for each listed value behind one native ``<input type="range">``. The
first state shows without any script, in print too; moving the slider needs one inline line.

Leaves out: several sliders at once, and states made in the reader's browser.
"""

import base64
import io
import json
import re
import zlib
from collections.abc import Callable, Sequence
from decimal import Decimal
from html import escape
from typing import Any

from pretrain.report import is_interactive

MAX_STATES = 12
MAX_PNG_BYTES = 100_000

# `this` is the slider: it shows the chosen state, hides the others, and updates the value that
# is written beside it and the one that screen readers say.
_ON_INPUT = (
    "const b=this.closest('.explore'),n=+this.value;"
    "b.querySelectorAll('.explore-state').forEach((s,i)=>{s.hidden=i!==n});"
    "const t=b.querySelectorAll('.explore-state')[n].dataset.value;"
    "b.querySelector('output').textContent=t;this.setAttribute('aria-valuetext',t)"
)
_PRE = "white-space:pre-wrap;color:inherit;background:none"
_STYLE = (
    "<style>.explore output{font-weight:bold}@media print{.explore input{display:none}}"
    "@media (scripting:none){.explore input{display:none}}</style>"
)


class Explorer:
    """Hold a function and its precomputed states; made by :func:`explore`."""

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
        self._states = [] if is_interactive() else self._compute()

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
        import ipywidgets

        slider = self._slider(ipywidgets, step)
        view = ipywidgets.HTML(value=self._render(slider.value)[0])

        def _update(change: dict[str, Any]) -> None:
            """Show the state of the slider's new value."""
            new = change["new"]
            view.value = self._render(round(new, 9) if isinstance(new, float) else new)[0]

        slider.observe(_update, names="value")
        return ipywidgets.VBox([slider, view])

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return what is stored: HTML and plain text, never a widget."""
        return {"text/html": self._html(), "text/plain": repr(self)}

    def _ipython_display_(self) -> None:
        """Show the live slider to a person, and leave notebook runners the stored form."""
        if not is_interactive():
            raise NotImplementedError  # IPython then takes `_repr_mimebundle_`
        from IPython.display import display

        display(self.live())

    def _slider(self, widgets: Any, step: float | None) -> Any:
        """Choose the widget that fits the values: whole numbers, numbers, or names."""
        common: dict[str, Any] = {"description": self.label, "value": self.values[self.start]}
        common["style"] = {"description_width": "initial"}
        if not all(type(value) in (int, float) for value in self.values):
            options = [(self._name(value), value) for value in self.values]
            return widgets.SelectionSlider(options=options, **common)
        common |= {"min": min(self.values), "max": max(self.values)}
        if all(type(value) is int for value in self.values):
            return widgets.IntSlider(step=step or 1, **common)
        places = max(_decimals(value) for value in [*self.values, step or 1])
        common |= {"step": step or 10.0**-places, "readout_format": f".{places}f"}
        return widgets.FloatSlider(**common)

    def _name(self, value: Any) -> str:
        """Write a value with its unit."""
        return f"{value} {self.unit}" if self.unit else str(value)

    def _render(self, value: Any) -> tuple[str, str]:
        """Call the function and turn what it returns into (HTML, plain text)."""
        result = self.function(value)
        if hasattr(result, "savefig"):
            alt = self.alt(value) if callable(self.alt) else self.alt
            return _picture(result, alt, f"{self.label} = {self._name(value)}")
        if hasattr(result, "_repr_html_"):
            return str(result._repr_html_()), repr(result)
        if isinstance(result, str):
            return f'<pre style="{_PRE}">{escape(result)}</pre>', result
        raise ValueError(
            f"explore expects its function to return HTML (see pretrain.tables), text or a figure, "
            f"got {type(result).__name__} for {self.label} = {self._name(value)}"
        )

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


def explore(
    function: Callable[[Any], Any],
    values: Sequence[Any],
    label: str,
    unit: str = "",
    start: int = 0,
    alt: str | Callable[[Any], str] = "",
) -> Explorer:
    """Show ``function(value)`` behind a slider: live in Jupyter, precomputed in the page.

    Stored HTML is compared when a chapter runs again, so numbers in it should come rounded from
    committed models. Figures are stored as PNG; prefer the pieces of :mod:`pretrain.tables`.

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
        raise ValueError("explore expects a label that names the slider, got an empty one")
    if not 1 <= len(values) <= MAX_STATES:
        raise ValueError(f"explore expects 1..{MAX_STATES} values, got {len(values)}")
    if len(set(map(str, values))) != len(values):
        raise ValueError(f"explore expects different values, got {list(values)}")
    if not 0 <= start < len(values):
        raise ValueError(f"explore expects start in 0..{len(values) - 1}, got {start}")


def _decimals(number: float) -> int:
    """Count the decimal places that a number is written with."""
    exponent = Decimal(str(number)).normalize().as_tuple().exponent
    return max(0, -int(exponent))


def _picture(figure: Any, alt: str, where: str) -> tuple[str, str]:
    """Embed a figure as a PNG of limited size with its alternative text, then close it."""
    from matplotlib import pyplot

    if not alt.strip():
        raise ValueError(f"explore expects alt text for the figure at {where}, got none")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    pyplot.close(figure)
    if buffer.tell() > MAX_PNG_BYTES:
        raise ValueError(
            f"explore expects figures of at most {MAX_PNG_BYTES} bytes, "
            f"got {buffer.tell()} at {where}"
        )
    data = base64.b64encode(buffer.getvalue()).decode()
    image = f'<img src="data:image/png;base64,{data}" alt="{escape(alt)}" style="max-width:100%">'
    return image, alt
