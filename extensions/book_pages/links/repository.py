# SPDX-License-Identifier: MIT
"""Find out from the environment where the book's repository is, and where its pages will be.

A build on GitHub's machines knows both from the variables that are set there; any other build can
be told by variables of our own, which come first. A build that is told nothing names no address, so
that no page carries a dead link.

| variable | example |
|:--|:--|
| BOOK_REPOSITORY_URL, BOOK_BRANCH | https://gitlab.com/owner/book, main |
| BOOK_BASE_URL | https://book.example.org/ |
| GITHUB_SERVER_URL, GITHUB_REPOSITORY | https://github.com, owner/book |
| GITHUB_REF_TYPE, GITHUB_REF_NAME, GITHUB_SHA | branch, main, 40 hexadecimal digits |
"""

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote

GITHUB = "https://github.com"
GITLAB = "https://gitlab.com"
BINDER = "https://mybinder.org/v2"
COLAB = "https://colab.research.google.com/github"
_HOST = r"https?://[A-Za-z0-9.-]+(?::\d+)?"
_NAME = r"[A-Za-z0-9_.-]+"
_REF = re.compile(r"(?!.*(?:\.\.|//))[A-Za-z0-9_][A-Za-z0-9_./+-]*(?<![/.])")
_SHA = re.compile(r"[0-9a-f]{40}")


class RepositoryError(ValueError):
    """A variable says something that cannot be an address; the message quotes it."""


class Repository(NamedTuple):
    """A repository on a host, at one branch, tag or commit."""

    host: str  # such as ``https://github.com``, without a slash at its end
    owner: str  # user, or group with its subgroups
    name: str
    ref: str  # branch, tag or commit that the pages are built from
    is_branch: bool  # only then can files be edited

    @property
    def url(self) -> str:
        """Its front page."""
        return f"{self.host}/{self.owner}/{self.name}"

    @property
    def kind(self) -> str:
        """``github``, ``gitlab``, or empty for a host whose addresses we do not know."""
        return next((kind for kind in ("github", "gitlab") if kind in self.host), "")

    def binder(self, path: str) -> str:
        """Return the address that opens a notebook in Binder."""
        ref = quote(self.ref, safe="")
        if self.host == GITHUB:
            where = f"gh/{self.owner}/{self.name}"
        elif self.host == GITLAB:
            where = f"gl/{quote(f'{self.owner}/{self.name}', safe='')}"
        else:
            where = f"git/{quote(self.url, safe='')}"
        return f"{BINDER}/{where}/{ref}?urlpath={quote(f'lab/tree/{path}', safe='')}"

    def colab(self, path: str) -> str:
        """Return the address that opens a notebook in Colab, which knows GitHub alone, or ''."""
        if self.host != GITHUB:
            return ""
        return f"{COLAB}/{self.owner}/{self.name}/blob/{quote(self.ref)}/{quote(path)}"

    def edit(self, path: str) -> str:
        """Return the address that edits a file; empty where there is nothing to edit."""
        if not self.is_branch or not self.kind:
            return ""
        middle = "edit" if self.kind == "github" else "-/edit"
        return f"{self.url}/{middle}/{quote(self.ref)}/{quote(path)}"

    def issue(self, title: str) -> str:
        """Return the address that opens an issue; empty on an unknown host."""
        if not self.kind:
            return ""
        start = "issues/new?title" if self.kind == "github" else "-/issues/new?issue%5Btitle%5D"
        return f"{self.url}/{start}={quote(title, safe='')}"


def find_repository(environment: Mapping[str, str]) -> Repository | None:
    """Read the repository from environment variables; None when none names one.

    Empty variables count as missing.

    Raises:
        RepositoryError: A variable is malformed, or no branch is named.
    """
    if environment.get("BOOK_REPOSITORY_URL"):
        url = _matched(
            environment, "BOOK_REPOSITORY_URL",
            rf"({_HOST})/({_NAME}(?:/{_NAME})*)/({_NAME})/?",
            "https://HOST/OWNER/NAME",
        )  # fmt: skip
        ref = environment.get("BOOK_BRANCH", "")
        if not _REF.fullmatch(ref):
            raise RepositoryError(f"BOOK_BRANCH: expected the name of a branch, got {ref!r}")
        name = url[3].removesuffix(".git")
        return Repository(url[1], url[2], name, ref, is_branch=not _SHA.fullmatch(ref))
    if environment.get("GITHUB_REPOSITORY"):
        names = _matched(environment, "GITHUB_REPOSITORY", rf"({_NAME})/({_NAME})", "OWNER/NAME")
        server = {"GITHUB_SERVER_URL": environment.get("GITHUB_SERVER_URL") or GITHUB}
        host = _matched(server, "GITHUB_SERVER_URL", rf"({_HOST})/?", "https://HOST")[1]
        return Repository(host, names[1], names[2], *_github_ref(environment))
    return None


def find_base(environment: Mapping[str, str], repository: Repository | None) -> str:
    """Find the address of the pages, with a slash at its end; empty when it is not known.

    BOOK_BASE_URL comes first; for a repository on github.com the pages are on GitHub Pages.

    Raises:
        RepositoryError: BOOK_BASE_URL is malformed.
    """
    if environment.get("BOOK_BASE_URL"):
        path = r"(?:/[A-Za-z0-9_.~%-]+)*"
        base = _matched(environment, "BOOK_BASE_URL", rf"({_HOST}{path})/?", "https://HOST/PATH/")
        return f"{base[1]}/"
    if repository is None or repository.host != GITHUB:
        return ""
    site = f"{repository.owner.lower()}.github.io"
    is_site = repository.name.lower() == site
    return f"https://{site}/" if is_site else f"https://{site}/{repository.name}/"


def _github_ref(environment: Mapping[str, str]) -> tuple[str, bool]:
    """Return the branch or tag of a run, or its commit when it checks a pull request."""
    ref = environment.get("GITHUB_REF_NAME", "")
    commit = environment.get("GITHUB_SHA", "")
    is_pull_request = re.fullmatch(r"\d+/merge", ref) is not None
    if ref and not is_pull_request:
        if not _REF.fullmatch(ref):
            raise RepositoryError(f"GITHUB_REF_NAME: expected a branch or tag, got {ref!r}")
        return ref, environment.get("GITHUB_REF_TYPE", "branch") == "branch"
    if not _SHA.fullmatch(commit):
        raise RepositoryError(
            "GITHUB_REPOSITORY is set, so GITHUB_REF_NAME must name a branch, or GITHUB_SHA a "
            f"commit of 40 hexadecimal digits; got {ref!r} and {commit!r}"
        )
    return commit, False


def _matched(environment: Mapping[str, str], name: str, pattern: str, form: str) -> re.Match[str]:
    """Match a variable as a whole, or say what was expected."""
    match = re.fullmatch(pattern, environment[name])
    if match is None:
        raise RepositoryError(f"{name}: expected {form}, got {environment[name]!r}")
    return match
