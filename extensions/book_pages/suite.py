# SPDX-License-Identifier: MIT
"""The directive ``{suite}``: what the tests notice, by the records of the long checks.

Small changes to the package (``make mutate``), arguments that nobody thought of (``tests/fuzz``)
and training runs that are killed (``make soak``).
"""

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .markdown import parse_markdown

RECORDS = {name: f"data/runs/{name}.json" for name in ("mutation", "fuzz", "soak")}


def register(app: Sphinx) -> None:
    """Add the directive."""
    app.add_directive("suite", SuiteDirective)


class SuiteDirective(SphinxDirective):
    """``{suite} mutation``, ``{suite} fuzz`` or ``{suite} soak``: what the record says."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Write the table or the sentences as Markdown and let the page's parser read it.

        Returns:
            Their nodes.

        Raises:
            DirectiveError: There is no such record.
        """
        name = self.arguments[0]
        if name not in RECORDS:
            raise self.error(f"expected one of {', '.join(RECORDS)}, got {name!r}")
        path = Path(self.env.srcdir) / RECORDS[name]
        if not path.exists():
            raise self.error(f"expected the record {RECORDS[name]}, and there is none")
        self.env.note_dependency(str(path))
        record = json.loads(path.read_text(encoding="utf-8"))
        write = {"mutation": mutation_lines, "fuzz": fuzz_lines, "soak": soak_lines}[name]
        return parse_markdown(self, write(record), RECORDS[name], "receipts")


def mutation_lines(record: dict[str, Any]) -> list[str]:
    """Write what became of the changes: a sentence, the modules, and what no test noticed.

    Args:
        record: As :mod:`mutate` writes it: module → counts and survivors.

    Returns:
        Lines of Markdown.
    """
    n_mutants, n_caught = (
        sum(one[key] for one in record.values()) for key in ("mutants", "caught")
    )
    survivors = [{**s, "module": name} for name, one in record.items() for s in one["survivors"]]
    n_gaps = sum(not one["reason"] for one in survivors)
    share = f"{n_caught / n_mutants:.1%}"
    gaps = f"{n_gaps} of them are gaps" if n_gaps else "None of them is a gap"
    lines = [
        f"Of {n_mutants:,} changes to {len(record)} modules the tests noticed {n_caught:,}: "
        f"{share}. {len(survivors)} went unnoticed. {gaps}: where a reason stands below, the "
        "change alters nothing that a test should hold on to.",
        "",
        ":::{admonition} Changes and what became of them, module by module",
        ":class: note dropdown",
        "",
        "| module | changes | noticed | with a reason | gaps |",
        "|:--|--:|--:|--:|--:|",
    ]
    for name, one in record.items():
        its_gaps = sum(not survivor["reason"] for survivor in one["survivors"])
        reasons = len(one["survivors"]) - its_gaps
        lines.append(f"| `{name}` | {one['mutants']} | {one['caught']} | {reasons} | {its_gaps} |")
    lines += [":::", "", ":::{admonition} The changes that no test notices"]
    lines += [":class: note dropdown", ""]
    changed: dict[tuple[str, str, str], list[str]] = {}
    for one in survivors:
        place = one["module"], one["function"], one["reason"] or "**a gap**"
        changed.setdefault(place, []).append(_code(one["after"]))
    for (module, function, reason), after in changed.items():
        lines.append(f"- `{module}.{function}`: {reason}.")
        lines += [f"  - {line}" for line in after]
    return [*lines, ":::"]


def _code(line: str) -> str:
    """Write a line of code, which may hold backticks."""
    return f"`` {line} ``" if line else "the line left out"


def fuzz_lines(record: dict[str, Any]) -> list[str]:
    """Say how many calls were made with drawn arguments, and how they ended.

    Args:
        record: As the fuzz tests write it.

    Returns:
        One line of Markdown.
    """
    functions = list(record["functions"].values())
    errors: dict[str, int] = {}
    for one in functions:
        for name, count in one["errors"].items():
            errors[name] = errors.get(name, 0) + count
    n_cases, n_returned = (sum(one[key] for one in functions) for key in ("cases", "returned"))
    listed = [f"{count:,} by `{name}`" for name, count in sorted(errors.items())]
    return [
        f"{len(functions)} public functions were called {n_cases:,} times with drawn arguments, "
        f"right and wrong ones. {n_returned:,} calls returned, and what they returned was what the "
        "functions promise; the others were refused by errors that their docstrings name: "
        f"{', '.join(listed[:-1])} and {listed[-1]}."
    ]


def soak_lines(record: dict[str, Any]) -> list[str]:
    """Say how often runs were killed, and whether they ended as if nobody had.

    Args:
        record: As :mod:`soak` writes it.

    Returns:
        One line of Markdown.
    """
    n_kills = sum(record["kills"].values())
    return [
        f"{record['runs']} training runs were killed {n_kills} times in all, "
        f"{record['kills']['writing']} of them while a checkpoint was being written, and went on "
        f"each time. For {record['resumes_exact']} of the {n_kills} kills, the run ended with the "
        f"very bits of one that nobody had stopped."
    ]
