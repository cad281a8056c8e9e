# SPDX-License-Identifier: MIT
"""Which definitions of the packages in ``code/`` a piece of code reaches.

From the names that it imports, functions, classes (whole) and top-level assignments are followed
through all packages. Rather too much is counted than too little: a name counts wherever it is
written, also where a variable inside a function hides it; a module that is used as an object
counts whole; a statement that acts when its module is imported counts as soon as that happens.
Not followed are the annotations of arguments and results, imports for type checkers alone, and
what stands below ``if __name__ == "__main__":``.

A name is written as ``pretrain.gpt:GPT``, a whole module as ``pretrain.masks``.
"""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

# Modules imported by the number of a chapter: whoever knows the number names them.
CHOSEN_BY_NUMBER = "pretrain_book.exercises."
_DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_IMPORT = (ast.Import, ast.ImportFrom)


def reached(names: Iterable[str], code: Path) -> dict[str, list[ast.stmt]]:
    """Collect the definitions that some names depend on, themselves included.

    Args:
        names: Such as ``pretrain.gpt:GPT`` or ``pretrain.masks``; what is of no package in the
            folder is left out.
        code: The folder with the packages.

    Returns:
        Module → its reached top-level statements as they stand in the file, imports among them, one
        name each. A module comes after those from which it takes something.
    """
    walk = _Walk(code)
    walk.follow_all(names)
    return {
        name: [one for one in walk.modules[name].statements if one in walk.found[name]]
        for name in walk.from_the_ground()
        if walk.found.get(name)
    }


def imported(source: str) -> set[str]:
    """List what code outside the packages imports anywhere, as names for :func:`reached`."""
    return _imports(ast.parse(source), "")


def module_names(code: Path) -> list[str]:
    """List all modules of the packages in a folder, sorted."""
    tops = (path.parent for path in code.glob("*/__init__.py"))
    files = (path.relative_to(code).with_suffix("") for top in tops for path in top.rglob("*.py"))
    return sorted(".".join(part for part in file.parts if part != "__init__") for file in files)


def module_path(name: str, code: Path) -> Path:
    """Return the file of a module or package, whether it exists or not."""
    base = code / Path(*name.split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


def bound_names(statement: ast.stmt) -> set[str]:
    """List the names that a top-level statement binds or changes."""
    if isinstance(statement, _DEFINITION):
        return {statement.name}
    names = {_root(target) for target in _assigned(statement)}
    for node in ast.walk(statement):
        if isinstance(node, _IMPORT):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, _DEFINITION):
            names.add(node.name)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
    return names - {""}


def top_level(source: str) -> list[ast.stmt]:
    """List what importing a source executes, without bare strings, imports split by name."""
    return list(_executed(ast.parse(source).body))


def is_bare_string(node: object) -> bool:
    """Return whether a statement is a string alone, such as a docstring."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


class Module:
    """The top level of one module: what binds which name, and what acts on import."""

    def __init__(self, name: str, path: Path, packages: set[str]) -> None:
        """Read a module; `packages` are the top names of all packages."""
        self.package = name if path.stem == "__init__" else name.rpartition(".")[0]
        self.packages = packages
        self.statements = top_level(path.read_text(encoding="utf-8"))
        self.bound: dict[str, list[ast.stmt]] = {}
        for statement in self.statements:
            for bound in bound_names(statement):
                self.bound.setdefault(bound, []).append(statement)
        self.effects = [one for one in self.statements if self._acts(one)]

    def _acts(self, statement: ast.stmt) -> bool:
        """Return whether importing the module does more here than give something a name."""
        if isinstance(statement, _IMPORT):
            return statement.names[0].name == "*"
        if isinstance(statement, _DEFINITION):
            return any(map(self._may_note, statement.decorator_list))
        calls = [node.func for node in ast.walk(statement) if isinstance(node, ast.Call)]
        names_only = all(isinstance(one, ast.Name | ast.Tuple) for one in _assigned(statement))
        return not (_assigned(statement) and names_only) or any(map(self._may_note, calls))

    def _may_note(self, called: ast.expr) -> bool:
        """Return whether what is called may keep what it gets: our functions and methods may.

        A class of ours only makes an object, and what other packages offer, such as ``dataclass``
        and ``compile``, keeps nothing, unless it is called ``register``.
        """
        called = called.func if isinstance(called, ast.Call) else called
        root = _root(called)
        if isinstance(called, ast.Name) and root[:1].isupper() and not root.isupper():
            return False
        return _last(called) == "register" or not all(
            isinstance(one, _IMPORT) and not self._ours(one) for one in self.bound.get(root, [])
        )

    def _ours(self, statement: ast.stmt) -> bool:
        """Return whether a statement imports something from one of the packages."""
        return any(n.split(".")[0] in self.packages for n in _imports(statement, self.package))


class _Walk:
    """Follows names from module to module and keeps what it meets."""

    def __init__(self, code: Path) -> None:
        """Start with nothing found."""
        self.code = code
        self.names = set(module_names(code))
        self.modules: dict[str, Module] = {}
        self.found: dict[str, set[ast.stmt]] = {}
        self.below: dict[str, set[str]] = {}
        self.waiting: list[tuple[str, ast.stmt]] = []

    def follow_all(self, names: Iterable[str]) -> None:
        """Follow names, then whatever they lead to."""
        for name in names:
            self._follow(name)
        while self.waiting:
            name, statement = self.waiting.pop()
            module = self.modules[name]
            for target in _imports(statement, module.package):
                self.below[name] |= self._follow(target)
            for used in (node.id for node in _inside(statement) if isinstance(node, ast.Name)):
                everything = used in ("globals", "eval", "exec")
                bound = module.bound.get(used, [])
                self._take(name, module.statements if everything else bound)

    def from_the_ground(self) -> list[str]:
        """Order the modules so that each comes after those from which it takes something."""
        ordered: dict[str, None] = {}

        def climb(name: str, above: frozenset[str]) -> None:
            """Put a module after those below it; a circle is cut where it was entered."""
            for lower in sorted(self.below[name] - above):
                if lower not in ordered:
                    climb(lower, above | {name})
            ordered[name] = None

        for name in sorted(self.modules):
            climb(name, frozenset({name}))
        return list(ordered)

    def _follow(self, target: str) -> set[str]:
        """Take what a name stands for; return the modules in which it was looked for."""
        if target.endswith("*") and ":" not in target:  # all modules whose names begin so
            if target.startswith(CHOSEN_BY_NUMBER):
                return set()
            found = [name for name in self.names if name.startswith(target[:-1])]
            return {name for one in found for name in self._follow(one)}
        name, _, attribute = target.partition(":")
        if name not in self.names:
            return set()
        self._enter(name)
        module = self.modules[name]
        if attribute in module.bound:
            self._take(name, module.bound[attribute])
        elif f"{name}.{attribute}" in self.names:
            return self._follow(f"{name}.{attribute}")
        else:  # the module itself, or a name that it makes in a way of its own
            self._take(name, module.statements)
        return {name}

    def _enter(self, name: str) -> None:
        """Do what importing a module does: enter those that it imports, take what acts."""
        if name in self.modules or name not in self.names:
            return
        self._enter(name.rpartition(".")[0])
        packages = {one.split(".")[0] for one in self.names}
        module = self.modules[name] = Module(name, module_path(name, self.code), packages)
        self.found[name], self.below[name] = set(), set()
        for statement in module.statements:
            if not isinstance(statement, _DEFINITION):
                for target in _imports(statement, module.package):
                    self._enter(target.partition(":")[0])
                    self._enter(target.replace(":", "."))
        self._take(name, module.effects)

    def _take(self, name: str, statements: Iterable[ast.stmt]) -> None:
        """Keep statements of a module, and remember those that are new."""
        new = set(statements) - self.found[name]
        self.found[name] |= new
        self.waiting += [(name, statement) for statement in new]


def _executed(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of :func:`top_level`."""
    for statement in body:
        if isinstance(statement, _IMPORT):
            for alias in statement.names:
                yield type(statement)(**{**vars(statement), "names": [alias]})
        elif isinstance(statement, ast.If) and _is_skipped(statement.test):
            yield from _executed(statement.orelse)
        elif not is_bare_string(statement):
            yield statement


def _is_skipped(test: ast.expr) -> bool:
    """Return whether a condition does not hold when a module is imported."""
    return _last(test) in ("TYPE_CHECKING", "__name__ == '__main__'")


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and what is in it, but for annotations of functions and skipped branches."""
    yield node
    if isinstance(node, ast.If) and _is_skipped(node.test):
        left_out: tuple[str, ...] = ("test", "body")
    else:
        left_out = ("returns", "annotation") if not isinstance(node, ast.AnnAssign) else ()
    for field, value in ast.iter_fields(node):
        for part in value if isinstance(value, list) else [value]:
            if field not in left_out and isinstance(part, ast.AST):
                yield from _inside(part)


def _imports(tree: ast.AST, package: str) -> set[str]:
    """List what a tree imports, as names; a relative import starts in a package."""
    names: set[str] = set()
    for node in _inside(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                ends = range(1, len(parts) + 1) if not alias.asname else [len(parts)]
                names |= {".".join(parts[:end]) for end in ends}
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1]
            parts = (base if node.level else []) + ([node.module] if node.module else [])
            names |= {f"{'.'.join(parts)}:{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and _last(node.func) == "import_module":
            names.add(_named(node.args[0]) if node.args else "*")
    return names


def _named(argument: ast.expr) -> str:
    """Return the module that an expression names, ``*`` for what is not written out."""
    if isinstance(argument, ast.Constant):
        return str(argument.value)
    begin = argument.values[:1] if isinstance(argument, ast.JoinedStr) else []
    return "".join(str(one.value) for one in begin if isinstance(one, ast.Constant)) + "*"


def _last(called: ast.expr) -> str:
    """Return the last name of an expression such as ``a.b.c``."""
    return ast.unparse(called).rpartition(".")[2]


def _assigned(statement: ast.stmt) -> list[ast.expr]:
    """List the targets of an assignment; other statements have none."""
    if isinstance(statement, ast.Assign):
        return statement.targets
    if isinstance(statement, ast.AnnAssign | ast.AugAssign):
        return [statement.target]
    return []


def _root(node: ast.expr) -> str:
    """Return the name with which an expression such as ``a.b[0].c`` begins."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
