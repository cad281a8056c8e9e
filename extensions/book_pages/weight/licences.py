# SPDX-License-Identifier: MIT
"""Put the licences of all that the pages ship beside them: ``_static/licences.txt``.

Most of the scripts and styles come from installed distributions; their texts are read from there,
so that they are those of the very versions. What a distribution ships from others is named here.
"""

import re
from importlib.metadata import distribution
from pathlib import Path

from sphinx.application import Sphinx

TARGET = "_static/licences.txt"
OWN = ("LICENSE", "LICENSE-text.md")
PARTS = {
    "sphinx": r"basic\.css|doctools\.js|documentation_options\.js"
    r"|sphinx_highlight\.js|(?:file|plus|minus)\.png",
    "pygments": r"pygments\.css",
    "pydata-sphinx-theme": r"(?:scripts|styles)/(?:pydata-sphinx-theme|theme)\..*",
    "sphinx-book-theme": r"(?:scripts|styles)/sphinx-book-theme\..*|images/logo_.*",
    "sphinx-copybutton": r"copybutton.*|c(?:heck-solid|opy-button)\.svg",
    "sphinx-design": r"sphinx-design\.min\.css|design-tabs\.js",
    "sphinx-togglebutton": r"togglebutton\..*",
    "sphinx-exercise": r"exercise\.css",
    "sphinx-proof": r"proof\.css",
    "myst-nb": r"mystnb\..*\.css",
    "sphinx-thebe": r"play-solid\.svg",
}
"""Distribution → its files below ``_static/``."""
OTHERS = {
    r"scripts/bootstrap\..*": "Bootstrap 5, copyright 2011-2024 The Bootstrap Authors (its script "
    "holds Popper, copyright 2019 Federico Zivolo); also in the style of pydata-sphinx-theme",
    r"clipboard\.min\.js": "clipboard.js 2, copyright Zeno Rocha",
    r"c(?:heck-solid|opy-button)\.svg": "Icons of Tabler, copyright 2020-2024 Paweł Kuna",
}
"""Files of others, all under the MIT licence, that distributions bring → what and whose."""
ICONS = "vendor/fontawesome/.*"
ICON_NOTICE = """\
The icons of the pages are a part of Font Awesome Free 6, copyright (c) Fonticons, Inc.
(https://fontawesome.com), with Reserved Font Name Font Awesome. The font, reduced and renamed, is
licensed under the SIL Open Font License 1.1, whose text follows; the pictures of single icons
under CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/); their style rules under MIT."""
TYPEFACES = "fonts/book-(?!maths).*"
TYPEFACE_NOTICE = """\
The text of the pages is set in a part of Source Serif Pro and Source Sans Pro, copyright 2010-2018
Adobe (http://www.adobe.com/), with Reserved Font Name Source. The faces, reduced and renamed, are
licensed under the SIL Open Font License 1.1; its text stands below, at Font Awesome."""
MATHS = "fonts/book-maths.*"
MATHS_NOTICE = """\
The font of the formulas is a part of STIX Two Math, copyright 2001-2020 The STIX Fonts Project
Authors (https://github.com/stipub/stixfonts), reduced and renamed. It is licensed under the SIL
Open Font License 1.1, whose text follows."""
_LICENCE_FILE = re.compile(r"[^/]*\.dist-info/(?:licenses/)?(?:LICEN[CS]E|COPYING)(?:\.\w+)?")


def register(app: Sphinx) -> None:
    """Write the file once the pages are written."""
    app.connect("build-finished", write)


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write all licences into an HTML build, unless it ended early."""
    if exception is None and app.builder.format == "html":
        path = Path(app.outdir) / TARGET
        path.write_text(licences(Path(app.srcdir)), encoding="utf-8")


def licences(root: Path) -> str:
    """Collect the texts, a heading above each; of the book's own licences those that are there."""
    own = [(name, root / name) for name in OWN if (root / name).is_file()]
    sections = [(f"The book: {name}", path.read_text(encoding="utf-8")) for name, path in own]
    sections += [(name, licence_of(name)) for name in PARTS]
    mit = licence_of("sphinx-copybutton").partition("Permission is hereby granted")
    names = "\n".join(f"- {what}" for what in OTHERS.values())
    sections.append(("Further parts under the MIT licence", f"{names}\n\n{mit[1]}{mit[2]}"))
    sections.append(("The typefaces", TYPEFACE_NOTICE))
    font = Path(__file__).with_name("font_licence.txt").read_text(encoding="utf-8")
    sections.append(("Mathematics", MATHS_NOTICE))
    sections.append(("Font Awesome", f"{ICON_NOTICE}\n\n{font}"))
    return "\n\n".join(f"{'=' * 80}\n{name}\n\n{text.strip()}" for name, text in sections) + "\n"


def licence_of(name: str) -> str:
    """Read the licence that an installed distribution carries.

    Raises:
        FileNotFoundError: It carries none.
    """
    for file in distribution(name).files or []:
        if _LICENCE_FILE.fullmatch(file.as_posix()):
            return file.read_text(encoding="utf-8")
    raise FileNotFoundError(f"{name} holds no licence")


def is_named(file: str) -> bool:
    """Return whether a third party's file below ``_static/`` has its licence in the text."""
    patterns = (*PARTS.values(), *OTHERS, ICONS, TYPEFACES, MATHS)
    return any(re.fullmatch(pattern, file) for pattern in patterns)
