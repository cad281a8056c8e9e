# SPDX-License-Identifier: MIT
"""Cite by author and year in round brackets: (Vaswani et al., 2017)."""

from dataclasses import dataclass, field

import sphinxcontrib.bibtex.plugin
from sphinx.application import Sphinx
from sphinxcontrib.bibtex.style.referencing import BracketStyle
from sphinxcontrib.bibtex.style.referencing.author_year import AuthorYearReferenceStyle


def round_brackets() -> BracketStyle:
    """Return brackets for citations, several of them separated by semicolons."""
    return BracketStyle(left="(", right=")", sep="; ", sep2="; ", last_sep="; ")


@dataclass
class RoundAuthorYear(AuthorYearReferenceStyle):
    """The author–year style of sphinxcontrib-bibtex with round brackets."""

    bracket_textual: BracketStyle = field(default_factory=round_brackets)
    bracket_parenthetical: BracketStyle = field(default_factory=round_brackets)
    bracket_year: BracketStyle = field(default_factory=round_brackets)


def register(app: Sphinx) -> None:
    """Make the style known under the name that ``_config.yml`` uses."""
    sphinxcontrib.bibtex.plugin.register_plugin(
        "sphinxcontrib.bibtex.style.referencing", "author_year_round", RoundAuthorYear
    )
