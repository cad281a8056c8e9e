# SPDX-License-Identifier: MIT
"""Join the applets' modules into one classic script, for pages opened from a disk.

A browser loads no ES module from ``file://``. The modules in ``chapters/applets/`` therefore keep
to three forms, which this can rewrite: ``import { a, b } from "./folder/file.mjs";``, ``export``
before a ``function``, ``async function``, ``class`` or ``const``, and no default export. The worker
stays out: a page from a disk has none.
"""

import posixpath
import re
from pathlib import Path

WORKER = "engine/worker"
_IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.\.?/[\w./-]+)\.mjs";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)
_LEFT = re.compile(r"^\s*(?:import|export)\b(?!\().*$", re.MULTILINE)


class BundleError(Exception):
    """A module has a form that cannot be joined."""


def bundle(folder: Path) -> str:
    """Write all ``.mjs`` files of a folder, subfolders too, as one classic script.

    Each module is a function that runs once, after those that it imports.

    Raises:
        BundleError: An unknown form of import or export, a missing module, or a circle.
    """
    modules = {
        path.relative_to(folder).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.mjs"))
    }
    modules.pop(WORKER, None)
    parts = [_wrapped(name, modules[name]) for name in _in_order(modules)]
    return "(() => {\n" + "\n".join(parts) + "\n})();\n"


def with_version(source: str, version: str) -> str:
    """Append a version, such as ``?v=12ab34cd``, to the address of every import of a module.

    So a reader never gets a stale mix.
    """
    return _IMPORT.sub(
        lambda found: f'import {{{found[1]}}} from "{found[2]}.mjs{version}";', source
    )


def _in_order(modules: dict[str, str]) -> list[str]:
    """Sort the modules so that each comes after those that it imports."""
    order: list[str] = []
    open_names: list[str] = []

    def visit(name: str) -> None:
        """Place what a module needs, then the module."""
        if name in order:
            return
        if name in open_names or name not in modules:
            why = "imports itself" if name in open_names else "is missing"
            raise BundleError(f"the module {name}.mjs {why} ({' → '.join([*open_names, name])})")
        open_names.append(name)
        for found in _IMPORT.finditer(modules[name]):
            visit(_meant(found[2], name))
        open_names.pop()
        order.append(name)

    for name in modules:
        visit(name)
    return order


def _wrapped(name: str, source: str) -> str:
    """Turn one module into a function that returns its exports."""
    exports = [found[1] for found in _EXPORT.finditer(source)]
    body = _IMPORT.sub(
        lambda found: f"const {{{_renamed(found[1])}}} = {_variable(_meant(found[2], name))};",
        source,
    )
    body = _EXPORT.sub("", body)
    if left := _LEFT.search(body):
        raise BundleError(
            f"{name}.mjs: expected only `import {{ … }} from` and `export` before a function, "
            f"class or const, got {left[0].strip()!r}"
        )
    returned = f"return {{ {', '.join(exports)} }};" if exports else ""
    return f"const {_variable(name)} = (() => {{\n{body}\n{returned}\n}})();"


def _meant(path: str, importer: str) -> str:
    """Name the module to which a path leads from another module: folder and file."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(importer), path))


def _renamed(names: str) -> str:
    """Write imported names as a pattern: ``a as b`` becomes ``a: b``."""
    return re.sub(r"\s+as\s+", ": ", names)


def _variable(name: str) -> str:
    """Name the variable that holds a module's exports."""
    return f"module_{re.sub(r'[/-]', '_', name)}"
