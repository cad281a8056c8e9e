# SPDX-License-Identifier: MIT
"""What depends on what the build knows: the version, and text about the repository's buttons."""

from types import SimpleNamespace

import pytest

from book_pages.links.edition import edition_line
from book_pages.links.page_buttons import WithRepository
from book_pages.links.repository import Repository
from book_pages.theme.tables import unbroken

GITHUB = Repository("https://github.com", "owner", "book", "main", is_branch=True)


def test_the_version_links_its_changes_where_they_are_known():
    assert edition_line("1.2", None) == "Version 1.2"
    assert edition_line("1.2", GITHUB) == (
        'Version 1.2 · <a href="https://github.com/owner/book/blob/main/CHANGELOG.md">changes</a>'
    )
    assert edition_line("1.2", GITHUB._replace(host="https://git.example.org")) == "Version 1.2"


@pytest.mark.parametrize(("repository", "expected"), [(None, []), (tuple(GITHUB), ["parsed"])])
def test_text_about_buttons_needs_the_buttons(repository: object, expected: list[str]):
    directive = SimpleNamespace(
        config=SimpleNamespace(book_repository=repository),
        parse_content_to_nodes=lambda: ["parsed"],
    )
    assert WithRepository.run(directive) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("60.7 [58, 63] %", "60.7 [58,\xa063] %"),
        ("4.9 (+4.85 to +5.11)", "4.9 (+4.85\xa0to\xa0+5.11)"),
        ("−0.1 [−1.5, 2.0]", "−0.1 [−1.5,\xa02.0]"),
        ("[the list, a name] (2, or more)", "[the list, a name] (2, or more)"),
    ],
)
def test_an_interval_stays_on_one_line(text: str, expected: str):
    assert unbroken(text) == expected
