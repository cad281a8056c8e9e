# SPDX-License-Identifier: MIT
"""What explorers and playgrounds share: one object, live for a person and stored for the page.

Implements the two faces of such an object, the states that it shows, and the link from `ipywidgets`
controls to the state under them. Where a person runs the cell, the controls are live. Notebook
runners store HTML and plain text instead, since a widget's view would need scripts from elsewhere.

Leaves out: which controls there are, and what the stored HTML looks like.
"""

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from html import escape
from typing import Any

from pretrain_lab.progress import is_interactive

MAX_PNG_BYTES = 100_000
PNG_COLOURS = 128  # a quarter of the bytes; no pixel of a chart moves by more than 2 %

_PRE = "white-space:pre-wrap;color:inherit;background:none"


class StoredWidget:
    """Show live controls to a person, and leave notebook runners HTML and plain text."""

    @property
    def _watched(self) -> bool:
        """Tell whether a person runs the cell, so that states can wait until they are needed."""
        return is_interactive()

    def live(self) -> Any:
        """Make the `ipywidgets` view, as subclasses define it."""
        raise NotImplementedError

    def _html(self) -> str:
        """Write the stored HTML, as subclasses define it."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return what is stored: HTML and plain text, never a widget."""
        return {"text/html": self._html(), "text/plain": repr(self)}

    def _ipython_display_(self) -> None:
        """Show the live controls to a person, and leave notebook runners the stored form."""
        if not self._watched:
            raise NotImplementedError  # IPython then takes `_repr_mimebundle_`
        from IPython.display import display

        display(self.live())


def render_state(result: Any, maker: str, where: str, alt: str = "") -> tuple[str, str]:
    """Turn what a function returned into what is shown.

    Args:
        result: A piece of HTML (see `pretrain_book.html`), a matplotlib figure, which is closed,
            or anything else, which is shown as text.
        maker: Name of the function that the reader called, for messages.
        where: The arguments that led to the result, for messages.
        alt: Alternative text of a figure.

    Returns:
        The state as HTML and as plain text.

    Raises:
        ValueError: There is no result, or it is a figure without alternative text or too large.
    """
    if hasattr(result, "savefig"):
        return _picture(result, maker, where, alt)
    if hasattr(result, "_repr_html_"):
        return str(result._repr_html_()), repr(result)
    if result is None:
        raise ValueError(
            f"{maker} expects its function to return something, got nothing for {where}"
        )
    return f'<pre style="{_PRE}">{escape(str(result))}</pre>', str(result)


def link_controls(
    controls: Mapping[str, Any],
    show: Callable[[dict[str, Any]], str],
    rows: Sequence[Any] | None = None,
) -> Any:
    """Put a view under controls, and show the state anew whenever one of them changes.

    An error of the function becomes a message in the place of the state: while somebody types,
    half of what stands in a field is wrong, and a callback's traceback would go unseen.

    Args:
        controls: Name → `ipywidgets` control with a ``value``.
        show: Takes name → value; returns the state as HTML.
        rows: What stands above the view; by default the controls in their order.

    Returns:
        ipywidgets.VBox with the rows and an HTML view.
    """
    import ipywidgets

    view = ipywidgets.HTML()

    def _update(_: Any = None) -> None:
        """Show the state of the controls' values."""
        try:
            view.value = show({name: tidy(one.value) for name, one in controls.items()})
        except Exception as error:
            view.value = error_html(error)

    for control in controls.values():
        control.observe(_update, names="value")
    _update()
    return ipywidgets.VBox([*(controls.values() if rows is None else rows), view])


def error_html(error: Exception) -> str:
    """Write an error as a paragraph; its class is named unless it is a plain ValueError.

    Args:
        error: What the function raised.

    Returns:
        HTML with the role of an alert, which screen readers say at once.
    """
    kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
    return f'<p role="alert"><strong>Not possible:</strong> {escape(f"{kind}{error}")}</p>'


def number_slider(
    numbers: Sequence[float], start: float, step: float | None = None, **common: Any
) -> Any:
    """Make a slider of whole numbers, if all that is given is whole, or of decimal ones.

    Args:
        numbers: The slider reaches from the least to the largest of them.
        start: First value.
        step: Distance of neighbours; by default one unit of the last decimal place in use.
        common: Passed on to the widget.

    Returns:
        ipywidgets.IntSlider or FloatSlider.
    """
    import ipywidgets

    common |= {"min": min(numbers), "max": max(numbers), "value": start}
    if all(type(number) is int for number in [*numbers, start]):
        return ipywidgets.IntSlider(step=step or 1, **common)
    places = max(_decimals(number) for number in [*numbers, start, step or 1])
    common |= {"step": step or 10.0**-places, "readout_format": f".{places}f"}
    return ipywidgets.FloatSlider(**common)


def _decimals(number: float) -> int:
    """Count the decimal places that a number is written with."""
    exponent = Decimal(str(number)).normalize().as_tuple().exponent
    return max(0, -int(exponent))


def tidy(value: Any) -> Any:
    """Take the float noise off a slider's value: 0.7, not 0.7000000000000001."""
    return round(value, 9) if isinstance(value, float) else value


def _picture(figure: Any, maker: str, where: str, alt: str) -> tuple[str, str]:
    """Embed a figure as a PNG of limited size with its alternative text, then close it."""
    from matplotlib import pyplot
    from PIL import Image

    if not alt.strip():
        raise ValueError(f"{maker} expects alt text for the figure at {where}, got none")
    drawn, buffer = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png")
    pyplot.close(figure)
    picture = Image.open(drawn).convert("RGB")
    palette = picture.quantize(PNG_COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    palette.save(buffer, "png", optimize=True)
    if buffer.tell() > MAX_PNG_BYTES:
        raise ValueError(
            f"{maker} expects figures of at most {MAX_PNG_BYTES} bytes, "
            f"got {buffer.tell()} at {where}"
        )
    data = base64.b64encode(buffer.getvalue()).decode()
    width = round(96 * figure.get_size_inches()[0])  # CSS pixels, as large as other figures
    style = f"width:{width}px;max-width:100%"
    image = f'<img src="data:image/png;base64,{data}" alt="{escape(alt)}" style="{style}">'
    return image, alt
