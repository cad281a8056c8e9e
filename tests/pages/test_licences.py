# SPDX-License-Identifier: MIT
"""Licences travel with what is distributed: pages, packs, decks, data and weights."""

import re
import tomllib
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

from book_pages.weight import licences
from book_pages.weight.icons import ICON_FONT
from tools.editions import offline, student
from tools.editions.slides import make as make_slides

MIT = "Permission is hereby granted, free of charge, to any person obtaining a copy of this"


def flat(text: str) -> str:
    """Take line breaks out of a text."""
    return " ".join(text.split())


def test_the_text_holds_every_licence_that_the_pages_need(repository: Path):
    text = flat(licences.licences(repository))
    assert flat((repository / "LICENSE").read_text(encoding="utf-8")) in text
    assert "Creative Commons Attribution 4.0" in text
    assert "SIL OPEN FONT LICENSE Version 1.1" in text
    assert "Reserved Font Name Font Awesome" in text
    assert "Bootstrap" in text
    assert "clipboard.js" in text
    assert text.count(MIT) >= 5
    assert text.count("Redistributions of source code must retain the above copyright notice") >= 4
    for name in licences.PARTS:
        assert flat(licences.licence_of(name)) in text, name


def test_a_distribution_without_a_licence_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    information = tmp_path / "bare-1.dist-info" / "METADATA"
    information.parent.mkdir()
    information.write_text("Metadata-Version: 2.1\nName: bare\nVersion: 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(FileNotFoundError, match="bare holds no licence"):
        licences.licence_of("bare")


def test_files_of_others_are_known_by_name():
    known = ("scripts/bootstrap.js.map", "clipboard.min.js", "fonts/book-maths.woff", "basic.css")
    assert all(licences.is_named(name) for name in known)
    assert not licences.is_named("other.min.js")


def test_the_packs_say_where_the_licences_are():
    assert licences.TARGET in offline.READ_ME
    assert offline.is_packed(Path(licences.TARGET))
    assert set(licences.OWN) <= set(student.COPIED)
    assert "MIT licence:\n{licence}" in make_slides.PAGE


def test_every_fetched_package_brings_its_licence_and_the_card_names_it(repository: Path):
    card = (repository / "data" / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w-]+)` \| [\d.]+ \| [^|]* \| ([^|]*) \|", card, re.M))
    sources = tomllib.loads((repository / "data" / "sources.toml").read_text(encoding="utf-8"))
    assert set(rows) == set(sources)
    for name, source in sources.items():
        assert any(member.endswith("LICENSE") for member in source["members"]), name
        named = re.findall(r"MIT|Apache-2\.0", source["licence"])
        assert named, name
        assert re.search(r"MIT|Apache-2\.0", rows[name])[0] in named, name


def test_the_card_names_the_licence_of_everything_that_is_stored(repository: Path):
    card = (repository / "data" / "README.md").read_text(encoding="utf-8")
    section = card.partition("## Licences of what is stored here")[2].partition("\n## ")[0]
    folder = repository / "data"
    stored = {path.name for path in folder.iterdir() if path.name not in ("README.md",)}
    stored = {f"{name}/" if (folder / name).is_dir() else name for name in stored}
    named = set(re.findall(r"`([\w./]+)`", section))
    assert stored - named == set()
    assert {"MIT", "CC BY 4.0"} <= set(re.findall(r"MIT|CC BY 4\.0", section))


class TestBuiltPages:
    def test_the_licences_stand_beside_the_pages(self, html: Path, repository: Path):
        assert (html / licences.TARGET).read_text(encoding="utf-8") == licences.licences(repository)

    def test_every_file_of_others_has_its_licence(self, html: Path, repository: Path):
        own = {path.name for path in (repository / "chapters" / "assets").iterdir()}
        own |= {Path(licences.TARGET).name, "search-index.js"}
        static = html / "_static"
        paths = [path for path in static.rglob("*") if path.is_file()]
        files = {path.relative_to(static).as_posix() for path in paths}
        others = {name for name in files - own if not name.startswith(("applets/", "previews/"))}
        assert [name for name in sorted(others) if not licences.is_named(name)] == []
        assert len(others) > 30

    def test_the_icon_font_names_its_licence(self, html: Path):
        with TTFont(html / "_static/vendor/fontawesome/webfonts" / ICON_FONT) as font:
            assert "SIL Open Font License" in font["name"].getDebugName(13)
            assert "Font Awesome" in font["name"].getDebugName(0)
