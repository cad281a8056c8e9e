# SPDX-License-Identifier: MIT
"""Small pictures of the chapters for the map, and of the three masks: SVG in the page's colours.

Each is drawn on a field of 120 by 72 units. The classes ``gpt``, ``bert``, ``t5``, ``ink``,
``pale`` and ``mark`` get their colours in ``front.css``, so that a picture is right on a light
page, on a dark one and in forced colours.
"""

from collections.abc import Callable
from math import exp

WIDTH, HEIGHT = 120, 72
N_TOKENS = 6
T5_SPLIT = 3  # of the six tokens, three are read by the encoder


def picture(number: int) -> str:
    """Draw the picture of a chapter; it says nothing to a screen reader, which reads the title.

    Raises:
        KeyError: No chapter has this number.
    """
    return svg(PICTURES[number](), WIDTH, HEIGHT)


def mask_picture(model: str) -> str:
    """Draw who may look at whom, rows are queries: `model` is ``gpt``, ``bert`` or ``t5``."""
    return svg(mask(model, 0, 0, 10), 60, 60)


def svg(parts: str, width: int, height: int) -> str:
    """Write a picture that is decoration."""
    return f'<svg class="picture" viewBox="0 0 {width} {height}" aria-hidden="true">{parts}</svg>'


def may_look(model: str, query: int, key: int) -> bool:
    """Return whether a query may look at a key, under the model's mask."""
    if model == "bert":
        return True
    if model == "t5" and query < T5_SPLIT:
        return key < T5_SPLIT
    return key <= query


def mask(model: str, left: float, top: float, step: float) -> str:
    """Draw a mask of six by six squares."""
    return "".join(
        box(left + step * key + 0.5, top + step * query + 0.5, step - 1, step - 1,
            model if may_look(model, query, key) else "pale")
        for query in range(N_TOKENS)
        for key in range(N_TOKENS)
    )  # fmt: skip


def box(x: float, y: float, width: float, height: float, css: str, r: float = 1) -> str:
    """Draw a rectangle."""
    place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    return f'<rect class="{css}" {place} rx="{r:g}"/>'


def dot(x: float, y: float, css: str, r: float = 3.5) -> str:
    """Draw a disc."""
    return f'<circle class="{css}" cx="{x:g}" cy="{y:g}" r="{r:g}"/>'


def path(d: str, css: str = "ink", width: float = 2) -> str:
    """Draw a line along a path."""
    return f'<path class="{css} line" d="{d}" stroke-width="{width:g}"/>'


def curve(height_at: Callable[[float], float], css: str) -> str:
    """Draw a curve over the field; `height_at` maps 0..1 to 0..1, upwards."""
    times = [step / 20 for step in range(21)]
    points = " ".join(f"{14 + 92 * t:.1f},{62 - 52 * height_at(t):.1f}" for t in times)
    return path(f"M{points}", css, 3)


def start() -> str:
    """Two nets with the same few labels: one has read before."""
    return (
        box(30, 34, 24, 28, "pale") + box(66, 16, 24, 46, "mark") + path("M14 62H106")
        + path("M42 30V16M38 20l4-4 4 4", "mark")
    )  # fmt: skip


def revolution() -> str:
    """Much plain text, a few labels."""
    lengths = (52, 46, 54, 40, 50, 36)
    lines = "".join(box(12, 11 + 9 * i, n, 4, "pale", 2) for i, n in enumerate(lengths))
    return lines + path("M72 36H86M81 31l5 5-5 5") + dot(98, 24, "gpt", 5) + dot(98, 48, "t5", 5)


def toolkit() -> str:
    """One token looks at all others."""
    *others, last = places = [18 + 17 * i for i in range(6)]
    widths = (1, 2.5, 1, 5, 1.5)
    arcs = "".join(
        path(f"M{last} 52Q{(last + x) / 2:g} {52 - 0.95 * (last - x):g} {x} 52", "mark", width)
        for x, width in zip(others, widths, strict=True)
    )
    return arcs + "".join(dot(x, 56, "ink", 4.5) for x in places)


def tokens() -> str:
    """Words cut into pieces."""
    rows = ((0, (30, 22, 40)), (1, (16, 44, 14, 14)), (2, (52, 20, 16)))
    parts = []
    for row, widths in rows:
        x = 11
        for i, width in enumerate(widths):
            css = ("mark", "pale", "gpt", "t5")[(i + row) % 4]
            parts.append(box(x, 12 + 18 * row, width, 13, css, 3))
            x += width + 3
    return "".join(parts)


def worldview() -> str:
    """The three masks side by side."""
    places = {"gpt": 8, "bert": 44, "t5": 80}
    return "".join(mask(model, x, 20, 5.4) for model, x in places.items())


def advantage() -> str:
    """Accuracy over labels: the net that has read before is ahead."""
    return (
        path("M14 10V62H106") + curve(lambda t: 0.9 - 0.35 * exp(-4 * t), "mark")
        + curve(lambda t: 0.8 * t**1.4 + 0.08, "pale")
    )  # fmt: skip


def fine_tuning() -> str:
    """A frozen matrix, and two thin ones that are trained."""
    return (
        box(14, 14, 44, 44, "pale", 3) + path("M66 36H74M70 32V40")
        + box(82, 14, 7, 44, "t5", 2) + box(93, 14, 16, 7, "t5", 2)
    )  # fmt: skip


def feature_lab() -> str:
    """States of two kinds, and a line between them."""
    left = ((26, 24), (38, 16), (34, 36), (22, 46), (48, 26))
    right = ((72, 46), (86, 32), (92, 52), (64, 58), (100, 40))
    return (
        "".join(dot(x, y, "gpt") for x, y in left) + "".join(dot(x, y, "t5") for x, y in right)
        + path("M78 8L40 66")
    )  # fmt: skip


def in_context() -> str:
    """Three examples with answers, and one without."""
    rows = []
    for row, css in enumerate(("gpt", "t5", "gpt")):
        rows.append(box(16, 9 + 14 * row, 52, 6, "pale", 3) + dot(88, 12 + 14 * row, css, 5))
    return "".join(rows) + box(16, 51, 52, 6, "ink", 3) + path("M83 49h10v10h-10z", "mark")


def choosing() -> str:
    """A question with two answers, twice."""
    branches = path("M60 16V26M32 36V26H88V36M18 54V46H46V54")
    leaves = dot(18, 59, "gpt", 5) + dot(46, 59, "bert", 5) + dot(88, 42, "t5", 5)
    return branches + box(50, 8, 20, 10, "ink", 3) + dot(32, 41, "ink", 5) + leaves


def scaling() -> str:
    """Four runs on a line, and the one that it foretells."""
    runs = "".join(dot(24 + 16 * i, 20 + 8 * i, "ink", 4) for i in range(4))
    return path("M14 10V62H106") + path("M18 17L102 59", "mark") + runs + (
        '<circle class="mark line" cx="96" cy="56" r="5" stroke-width="2.5"/>'
    )  # fmt: skip


def efficiency() -> str:
    """A matrix with half of its weights removed."""
    weights = "110100101101001011010011010010110100"
    looks = {"1": ("mark", 4.0), "0": ("pale", 2.0)}
    return "".join(
        dot(25 + 14 * (i % 6), 11 + 10 * (i // 6), *looks[weight])
        for i, weight in enumerate(weights)
    )


def your_own() -> str:
    """A line of text found by a magnifying glass."""
    lines = "".join(box(16, 12 + 13 * row, 60, 6, "mark" if row == 2 else "pale", 3)
                    for row in range(4))  # fmt: skip
    return lines + path("M97 49L106 60") + (
        '<circle class="ink line" cx="90" cy="41" r="10" stroke-width="2.5"/>'
    )  # fmt: skip


PICTURES: dict[int, Callable[[], str]] = {
    0: start, 1: revolution, 2: toolkit, 3: tokens,
    4: lambda: mask("gpt", 30, 6, 10), 5: lambda: mask("bert", 30, 6, 10),
    6: lambda: mask("t5", 30, 6, 10), 7: worldview,
    8: advantage, 9: fine_tuning, 10: feature_lab, 11: in_context,
    12: choosing, 13: scaling, 14: efficiency, 15: your_own,
}  # fmt: skip
"""What is drawn for each chapter."""
