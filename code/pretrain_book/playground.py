# SPDX-License-Identifier: MIT
"""Play with a function of several values: live fields in Jupyter, the first state in the page.

Implements a front for any function of the book or of the reader. Each keyword argument becomes a
control with an accessible name, chosen by the value that is given for it. Where a person runs the
cell the controls are live `ipywidgets`; stored notebooks and pages hold the first state.

Leaves out: several stored states (see `pretrain_book.slider`), and states made in the reader's
browser.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from html import escape
from typing import Any, NamedTuple

import torch

from pretrain_book.html import visible
from pretrain_book.widgets import StoredWidget, link_controls, number_slider, render_state, tidy


class Control(NamedTuple):
    """One control of a playground, before it is a widget."""

    kind: str
    """Class of `ipywidgets`, or "slider", whose class depends on its numbers."""
    start: Any
    """First value."""
    options: dict[str, Any]
    """What the widget is made with besides."""

    def widgets(self, label: str) -> tuple[Any, Any]:
        """Make the `ipywidgets` control.

        A slider gets a number field at its side, for `ipywidgets` gives sliders no name that
        screen readers could say, and exact values are easier to type.

        Args:
            label: Its accessible name.

        Returns:
            The widget that holds the value, and what is shown: the same, or its row.
        """
        import ipywidgets

        common: dict[str, Any] = {"description": label, "style": {"description_width": "initial"}}
        if self.kind != "slider":
            control = getattr(ipywidgets, self.kind)(value=self.start, **self.options, **common)
            return control, control
        slider = number_slider(start=self.start, readout=False, **self.options)
        whole = isinstance(slider, ipywidgets.IntSlider)
        kind = ipywidgets.BoundedIntText if whole else ipywidgets.BoundedFloatText
        common |= {"min": slider.min, "max": slider.max, "step": slider.step}
        field = kind(value=self.start, **common)
        ipywidgets.link((field, "value"), (slider, "value"), transform=(_same, tidy))
        return field, ipywidgets.HBox([field, slider])


class Playground(StoredWidget):
    """Hold a function and its controls; made by :func:`playground`."""

    def __init__(
        self,
        function: Callable[..., Any],
        controls: Mapping[str, Control],
        alt: str | Callable[..., str],
    ) -> None:
        """Check that the function takes the controls, and compute the state to be stored."""
        self.function, self.controls, self.alt = function, dict(controls), alt
        _check_function(function, self.controls)
        # Here, and not while displaying: IPython would swallow an error of the function.
        self._first = None if self._watched else self._render(self.start)

    @property
    def start(self) -> dict[str, Any]:
        """Give the first value of each control."""
        return {name: control.start for name, control in self.controls.items()}

    @property
    def first(self) -> tuple[str, str]:
        """Give the first state as (HTML, plain text)."""
        if self._first is None:
            self._first = self._render(self.start)
        return self._first

    def __repr__(self) -> str:
        """Return the first values and the first state as plain text."""
        head = ", ".join(f"{name} = {text}" for name, text in self._settings())
        return f"{head}\n{self.first[1]}"

    def live(self) -> Any:
        """Make the `ipywidgets` controls with the current state under them.

        Returns:
            ipywidgets.VBox of the controls, in their order, and an HTML view. It shows the
            message of an error that the function raises.
        """
        made = {name: one.widgets(_label(name)) for name, one in self.controls.items()}
        fields = {name: field for name, (field, _) in made.items()}
        rows = [row for _, row in made.values()]
        return link_controls(fields, lambda values: self._render(values)[0], rows)

    def _render(self, values: dict[str, Any]) -> tuple[str, str]:
        """Call the function and turn what it returns into (HTML, plain text)."""
        where = ", ".join(f"{name} = {value!r}" for name, value in values.items())
        alt = self.alt(**values) if callable(self.alt) else self.alt
        alt = alt or (f"Figure for {where}." if self._watched else "")  # what is stored has its own
        with torch.random.fork_rng(devices=[]):  # play must not change what later cells draw
            return render_state(self.function(**values), "playground", where, alt)

    def _settings(self) -> list[tuple[str, str]]:
        """Write the first values as they stand in the page."""
        return [
            (_label(name), visible(str(value)) or "(empty)") for name, value in self.start.items()
        ]

    def _html(self) -> str:
        """Write the first values and the first state; nothing here can be moved."""
        head = " · ".join(
            f"{escape(name)}: <strong>{escape(text)}</strong>" for name, text in self._settings()
        )
        return f'<div class="playground"><p>{head}</p>{self.first[0]}</div>'


def playground(
    function: Callable[..., Any],
    /,
    *,
    start: Mapping[str, Any] | None = None,
    alt: str | Callable[..., str] = "",
    **controls: Any,
) -> Playground:
    """Show what a function returns under controls for its arguments.

    The value given for an argument chooses its control: text a text field (of several lines, if
    it holds a line break), True or False a box to tick, a single number a number field, a pair
    (low, high) or a range a slider with a number field, a list a choice.

    Args:
        function: Takes the controls' values by name; returns a piece of HTML (see
            `pretrain_book.html`), a matplotlib figure, or anything that has a text. It should raise
            ValueError with a helpful message for what it cannot show.
        start: First values of sliders and choices that shall not begin with their first.
        alt: Alternative text of figures: one text, or a function of the controls' values; may be
            left out where nothing is stored.
        controls: One for each argument; its name, with spaces for "_", is the control's label.

    Returns:
        The object that a cell displays by ending with it.

    Raises:
        ValueError: No controls, one of another kind, a start value that is none of its control's,
            or a function that does not take these arguments. In stored notebooks and scripts,
            also whatever the function raises for the first values.
    """
    if not controls:
        raise ValueError("playground expects at least one control, such as text='To be', got none")
    start = dict(start or {})
    if unknown := sorted(set(start) - set(controls)):
        raise ValueError(f"playground expects start values for {list(controls)}, got {unknown}")
    made = {name: _control(name, value) for name, value in controls.items()}
    for name, value in start.items():
        made[name] = _started(name, made[name], value)
    return Playground(function, made, alt)


def _control(name: str, value: Any) -> Control:
    """Choose the control for a value."""
    wide = {"layout": {"width": "100%"}, "continuous_update": False}  # when Enter is pressed
    match value:
        case str():
            return Control("Textarea" if "\n" in value else "Text", value, wide)
        case bool():
            return Control("Checkbox", value, {"indent": False})
        case int():
            return Control("IntText", value, {})
        case float():
            return Control("FloatText", value, {})
        case range() if len(value) > 1 and value.step > 0:
            return Control(
                "slider", value[0], {"numbers": (value[0], value[-1]), "step": value.step}
            )
        case (low, high) if isinstance(value, tuple) and _is_number(low) and _is_number(high):
            if low < high:
                return Control("slider", low, {"numbers": (low, high), "step": _step(low, high)})
        case list() if value and len(set(map(str, value))) == len(value) and None not in value:
            return Control("Dropdown", value[0], {"options": [(str(one), one) for one in value]})
    raise ValueError(
        f"playground expects {name} to be text, a number, True or False, (low, high) with "
        f"low < high, a rising range, or a list of different choices, got {value!r}"
    )


def _started(name: str, control: Control, value: Any) -> Control:
    """Let a control begin with another value, which must be one of its own."""
    if control.kind == "Dropdown":
        choices = [choice for _, choice in control.options["options"]]
        fits, expected = value in choices, f"one of {choices}"
    elif control.kind == "slider":
        (low, high), step = control.options["numbers"], control.options["step"]
        fits, expected = _is_number(value) and low <= value <= high, f"a number in {low}..{high}"
        if type(low) is type(high) is int:
            fits = fits and type(value) is int and (value - low) % step == 0
            expected += f" in steps of {step}"
    else:
        raise ValueError(f"{name} begins with the value given for it; drop it from start")
    if not fits:
        raise ValueError(f"playground expects {name} to start with {expected}, got {value!r}")
    return control._replace(start=value)


def _check_function(function: Callable[..., Any], controls: Mapping[str, Control]) -> None:
    """Refuse a function that cannot be called with the controls' names."""
    try:
        inspect.signature(function).bind(**dict.fromkeys(controls))
    except TypeError as error:
        raise ValueError(
            f"playground expects a function of the arguments {list(controls)}: {error}"
        ) from error


def _step(low: float, high: float) -> float:
    """Give whole sliders steps of 1, and others the power of ten that makes 20 to 200 steps."""
    if type(low) is type(high) is int:
        return 1
    return 10.0 ** math.floor(math.log10((high - low) / 20))


def _is_number(value: Any) -> bool:
    """Tell numbers from True, False and the rest."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _same(value: Any) -> Any:
    """Hand a field's value on to its slider."""
    return value


def _label(name: str) -> str:
    """Turn an argument's name into words."""
    return name.replace("_", " ")
