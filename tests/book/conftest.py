"""One strict build of the book, shared by the tests of its pages."""

from pathlib import Path

import pytest
from strict_build import Build, build_book


@pytest.fixture(scope="session")
def build(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """The finished build and the folder of its pages."""
    output = tmp_path_factory.mktemp("book")
    return build_book(repository, output), output / "_build" / "html"


@pytest.fixture(scope="session")
def html(build: Build) -> Path:
    """The folder of the book's pages, once they have built without a warning."""
    done, folder = build
    if done.returncode:
        pytest.fail("the build failed, see test_builds_without_a_warning", pytrace=False)
    return folder
