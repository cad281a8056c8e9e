# SPDX-License-Identifier: MIT
"""Which applets a reader waits for."""

from pathlib import Path

from tools.checks.applet_waits import applets


def test_it_lists_what_opens_and_tells_pages_apart(tmp_path: Path):
    room = 'class="applet" style="--room-wide: 330px; --room-narrow: 450px"'
    for page, element in {
        "a.html": f"<pt-one {room}></pt-one>",
        "b.html": f'<pt-one {room}></pt-one><pt-at-once class="applet"></pt-at-once>',
    }.items():
        (tmp_path / page).write_text(f"<html><body>{element}</body></html>", encoding="utf-8")
    assert applets(tmp_path) == {"one": ("a.html", "pt-one"), "one (b)": ("b.html", "pt-one")}
