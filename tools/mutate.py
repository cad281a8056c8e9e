# SPDX-License-Identifier: MIT
"""Change the package's code in many small ways and see whether a test notices: ``make mutate``.

The tool `mutmut` makes the changes (*mutants*): a ``<`` becomes ``<=``, a 1 a 2, an argument None.
For each, the module's own unit tests run; when none fails, the mutant *survived*, and either a test
is missing or the change means nothing. The modules, and the survivors that mean nothing with the
reason, stand in ``tools/mutation.toml``. All work is done on a copy, and the result goes to
``data/runs/mutation.json``, module by module, so that a long run can be made in parts. With
``--again`` only the recorded survivors are made once more (:mod:`retry_mutants`).

The texts of error messages are not changed: tests compare the part that names what is wrong.
"""

import argparse
import ast
import json
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from retry_mutants import RetryError, preload, retry

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tools" / "mutation.toml"
RECORD = ROOT / "data" / "runs" / "mutation.json"
SCRATCH = ROOT / "_build" / "mutation"
CAUGHT = ("killed", "timeout", "segfault", "caught by type check")
SETTINGS = """\
[tool.mutmut]
source_paths = ["src"]
only_mutate = ["src/pretrain/{module}.py"]
also_copy = ["data", "experiments", "tools"]
process_isolation = "forkserver"
pytest_add_cli_args_test_selection = {tests}
do_not_mutate_patterns = {patterns}
use_git_change_detection = false
track_dependencies = false

[tool.pytest.ini_options]
pythonpath = ["tools"]
addopts = ["-x", "-p", "no:cacheprovider", "-m", "not slow and not network"]
markers = ["slow: takes seconds", "network: needs a hub"]
"""
MESSAGES = [r'^\s*f?"[^"]*"\)?,?$', r"raise \w+Error\(f?\""]  # lines of text alone, and of errors
_RESULT = re.compile(r"^\s*(?P<name>\S+__mutmut_\d+): (?P<status>.+)$", re.M)


class MutationError(Exception):
    """The mutants could not be made or run; the message says what to do."""


def main(arguments: list[str] | None = None) -> int:
    """Mutate the modules that the command line names and record what survived.

    Args:
        arguments: Command-line words; None = those of this process.

    Returns:
        0 when every survivor is explained, 1 otherwise.
    """
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("module", nargs="*", help="such as masks; default: all of mutation.toml")
    parser.add_argument("--children", type=int, default=2, help="processes at once")
    parser.add_argument("--again", action="store_true", help="only what survived, after new tests")
    parser.add_argument("--record", type=Path, default=RECORD)
    options = parser.parse_args(arguments)
    table = tomllib.loads(LIST.read_text(encoding="utf-8"))
    left = 0
    try:
        known = json.loads(options.record.read_text(encoding="utf-8")) if options.again else {}
        for module in options.module or (known if options.again else table["modules"]):
            if options.again:
                result = mutate_again(module, known[module], table)
            else:
                result = mutate(module, table, options.children)
            store(options.record, module, result)
            open_ones = [one for one in result["survivors"] if not one["reason"]]
            left += len(open_ones)
            print(f"{module}: {result['caught']} of {result['mutants']} caught", flush=True)
            for one in open_ones:
                print(f"    {one['function']}: {one['before']}  →  {one['after']}")
    except (MutationError, RetryError) as error:
        print(f"mutate: {error}", file=sys.stderr)
        return 1
    print(summary(json.loads(options.record.read_text(encoding="utf-8"))))
    return int(left > 0)


def mutate(module: str, table: dict[str, Any], children: int) -> dict[str, Any]:
    """Run the tests of one module against all its mutants.

    Args:
        module: A module of the package.
        table: The content of ``tools/mutation.toml``.
        children: Processes at once.

    Returns:
        Counts of mutants, of caught ones and of those whose tests did not end in time (caught,
        too), the survivors, and the seconds that it took.

    Raises:
        MutationError: There is no such module or test, or the unchanged code fails its tests.
    """
    tests = table.get("tests", {}).get(module, [f"test_{module}.py"])
    _prepare(module, tests)
    start = time.perf_counter()
    _mutmut("run", "--max-children", str(children))
    found = dict(_RESULT.findall(_mutmut("results", "--all", "true")))
    found = {name: status for name, status in found.items() if f".{module}." in name}
    if not found or "not checked" in found.values():
        raise MutationError(f"{module}: its tests failed before any change; look in {SCRATCH}")
    explained = [one for one in table.get("explained", []) if one["module"] == module]
    survivors = [survivor(name, explained) for name, s in found.items() if s not in CAUGHT]
    return {
        "mutants": len(found),
        "caught": len(found) - len(survivors),
        "timeouts": sum(status == "timeout" for status in found.values()),
        "survivors": survivors,
        "seconds": round(time.perf_counter() - start),
        "versions": {"mutmut": version("mutmut"), "torch": version("torch")},
    }


def mutate_again(module: str, result: dict[str, Any], table: dict[str, Any]) -> dict[str, Any]:
    """Try the survivors of a module again: with the tests and the reasons that there are now.

    Args:
        module: A module of the package.
        result: What :func:`mutate` recorded.
        table: The content of ``tools/mutation.toml``.

    Returns:
        The result with fewer survivors, or more of them explained.

    Raises:
        MutationError: There is no such module or test.
        RetryError: A survivor cannot be made again.
    """
    tests = table.get("tests", {}).get(module, [f"test_{module}.py"])
    _prepare(module, tests)
    preload()
    source = SCRATCH / "src" / "pretrain" / f"{module}.py"
    left = retry(source, result["survivors"], [f"tests/{name}" for name in tests])
    known = [one for one in table.get("explained", []) if one["module"] == module]
    left = [{**one, "reason": reason_of(one, known)} for one in left]
    return {**result, "caught": result["mutants"] - len(left), "survivors": left}


def survivor(name: str, explained: list[dict[str, str]]) -> dict[str, str]:
    """Describe a mutant that no test noticed.

    Args:
        name: Its name in mutmut.
        explained: Entries of ``tools/mutation.toml`` for its module.

    Returns:
        The function, the line before and after the change, and the reason; empty = a gap.
    """
    lines = _mutmut("show", name).splitlines()
    before, after = (_changed(lines, sign) for sign in "-+")
    function = re.split(r"\.x_?|ǁ", name.partition("__mutmut_")[0])[-1]
    found = {"function": function, "before": before, "after": after}
    return {**found, "reason": reason_of(found, explained)}


def reason_of(found: dict[str, str], explained: list[dict[str, str]]) -> str:
    """Look up why a change means nothing, by the line it makes or by the line it changes.

    Args:
        found: Function, lines before and after.
        explained: Entries of ``tools/mutation.toml`` for its module.

    Returns:
        The reason; "" = nobody has given one.
    """
    reasons = (
        one["reason"]
        for one in explained
        if one["function"] == found["function"]
        and (one.get("changed") == found["after"] or one.get("line") == found["before"])
    )
    return next(reasons, "")


def _changed(lines: list[str], sign: str) -> str:
    """Join the lines of a diff that start with a sign, and not with its header's three."""
    found = (line[1:].strip() for line in lines if line.startswith(sign))
    return " ".join(line for line in found if not line.startswith(sign * 2))


def store(record: Path, module: str, result: dict[str, Any]) -> None:
    """Add a module's result to the record."""
    content = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    content[module] = result
    text = json.dumps(dict(sorted(content.items())), indent=1, ensure_ascii=False)
    record.write_text(text + "\n", encoding="utf-8")


def summary(content: dict[str, Any]) -> str:
    """Sum a record up in one line."""
    mutants = sum(one["mutants"] for one in content.values())
    caught = sum(one["caught"] for one in content.values())
    reasons = [survivor["reason"] for one in content.values() for survivor in one["survivors"]]
    return (
        f"mutate: {caught} of {mutants} mutants caught ({caught / mutants:.1%}) in {len(content)}"
        f" modules; {sum(map(bool, reasons))} survivors explained, {reasons.count('')} not"
    )


def _prepare(module: str, tests: list[str]) -> None:
    """Lay out a copy as mutmut wants it, with the settings for one module."""
    missing = [name for name in tests if not (ROOT / "tests" / "unit" / name).is_file()]
    if missing or not (ROOT / "code" / "pretrain" / f"{module}.py").is_file():
        raise MutationError(f"no module {module!r}, or no tests/unit/ {', '.join(missing)}")
    shutil.rmtree(SCRATCH / "mutants", ignore_errors=True)  # with what it noted of other modules
    ignored = shutil.ignore_patterns("__pycache__")
    for source, copy in _copies(tests):
        if source.is_dir():
            shutil.rmtree(SCRATCH / copy, ignore_errors=True)
            shutil.copytree(source, SCRATCH / copy, ignore=ignored)
        else:
            (SCRATCH / copy).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, SCRATCH / copy)
    chosen = [f"tests/{name}" for name in tests]
    settings = SETTINGS.format(
        module=module, tests=json.dumps(chosen), patterns=json.dumps(MESSAGES)
    )
    (SCRATCH / "pyproject.toml").write_text(settings, encoding="utf-8")
    source = SCRATCH / "src" / "pretrain" / f"{module}.py"
    source.write_text(undecorated(source.read_text(encoding="utf-8")), encoding="utf-8")


def undecorated(text: str) -> str:
    """Apply decorators below their functions, for mutmut leaves a decorated function alone.

    Args:
        text: A module.

    Returns:
        The same module, but with ``f = torch.no_grad()(f)`` behind the function in place of
        ``@torch.no_grad()`` above it. Class and static methods stay: mutmut changes them as they
        are.
    """
    lines = text.splitlines()
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    for node in sorted(found, key=lambda node: node.lineno, reverse=True):
        names = [ast.unparse(decorator) for decorator in node.decorator_list]
        if not names or set(names) & {"classmethod", "staticmethod"}:
            continue
        applied = node.name
        for name in reversed(names):
            applied = f"{name}({applied})"
        lines.insert(node.end_lineno or 0, f"{' ' * node.col_offset}{node.name} = {applied}")
        del lines[node.decorator_list[0].lineno - 1 : node.lineno - 1]
    return "\n".join(lines) + "\n"


def _copies(tests: list[str]) -> Iterator[tuple[Path, str]]:
    """Yield what is copied, and to where."""
    yield ROOT / "code" / "pretrain", "src/pretrain"
    for folder in ("data", "experiments", "tools"):
        yield ROOT / folder, folder
    unit = ROOT / "tests" / "unit"
    shared = [path.name for path in unit.glob("*.py") if not path.name.startswith("test_")]
    for name in (*shared, *tests):
        yield unit / name, f"tests/{name}"


def _mutmut(*words: str) -> str:
    """Run mutmut in the copy and return what it prints."""
    command = [str(Path(sys.executable).with_name("mutmut")), *words]
    done = subprocess.run(command, cwd=SCRATCH, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MutationError(
            f"mutmut {words[0]} ended with {done.returncode}:\n{done.stdout[-2000:]}"
        )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
