# SPDX-License-Identifier: MIT
"""The rules of a checker as plain data, so that a page can check an answer without Python.

A checker's predicates are Python functions of one expression. Here each becomes an expression of
nested lists, such as ``["near", ["answer"], [0.25], 0.005, 0]``, which JSON can hold and
``chapters/assets/answer-rules.js`` evaluates. So a right value, a tolerance and the hint for a
mistake are written once, in the checker. What does not depend on the answer is computed here; of
the rest, this knows comparisons, sets, arithmetic, subscripts, and calls of other predicates.

Left out: functions that a reader writes, which only Python can call. A predicate with anything else
in it raises PageRuleError.
"""

import ast
import inspect
import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pretrain_book.exercises.answer_types import Choice, Function, Number, Numbers, Words
from pretrain_book.exercises.grader import Checker, Part
from pretrain_book.exercises.predicates import At, Equal, Near

Expression = Any
"""A number, a string, or a list of an operation's name and its operands."""
ANSWER: Expression = ["answer"]
COMPARISONS = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
}
ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.BitAnd: "&"}
CALLS = ("abs", "all", "any", "bool", "float", "len", "max", "min", "set", "sum")
"""Functions, or methods without arguments, that the page knows too."""


class PageRuleError(Exception):
    """A predicate does something that a page cannot do; the message says what and where."""


def page_rules(checker: Checker) -> dict[str, Any]:
    """Describe what a page needs to judge answers as the checker does.

    Args:
        checker: Of one exercise.

    Returns:
        JSON values: "parts", a list; "python", the names of the parts that are functions; and
        "explanation".

    Raises:
        PageRuleError: A predicate cannot be described.
    """
    python = [n for n, part in checker.parts.items() if isinstance(part.wanted, Function)]
    parts = [_part(name, part) for name, part in checker.parts.items() if name not in python]
    return {"parts": parts, "python": python, "explanation": checker.explanation}


def _part(name: str, part: Part) -> dict[str, Any]:
    """Describe one part: what is asked for, what is right, which mistakes are known."""
    return {
        "name": name,
        "asks": part.wanted.asks_for,
        **_kind(part.wanted),
        "right": rule(part.right),
        "mistakes": [[rule(mistake.when), mistake.hint] for mistake in part.all_mistakes],
        "hint": part.default_hint,
    }


def _kind(wanted: object) -> dict[str, Any]:
    """Describe how an answer is read from what is typed or chosen."""
    match wanted:
        case Number(whole=whole):
            return {"kind": "number", "whole": whole}
        case Numbers(shape=shape):
            return {"kind": "numbers", "shape": list(shape)}
        case Choice(options=options):
            return {"kind": "choice", "options": list(options)}
        case Words(count=count):
            return {"kind": "words", "count": count}
    raise PageRuleError(f"no page can ask for {type(wanted).__name__}")


def rule(predicate: Callable[..., Any], *arguments: Expression) -> Expression:
    """Describe a predicate.

    Args:
        predicate: A function of one expression, or what ``near`` or ``equals`` made.
        arguments: What it is called with; nothing = the answer.

    Returns:
        An expression.

    Raises:
        PageRuleError: It cannot be described.
    """
    given = arguments or (ANSWER,)
    match predicate:
        case Near(targets=targets, rel=rel, abs_=abs_):
            return ["near", *given, [_plain(target) for target in targets], rel, abs_]
        case Equal(targets=targets):
            return ["or", *(["==", *given, _constant(one)] for one in targets)]
        case At(index=index, predicate=inner):
            return rule(inner, ["item", *given, index])
    if not inspect.isfunction(predicate):
        raise PageRuleError(f"no page can call {predicate}")
    made_with = inspect.getclosurevars(predicate).nonlocals
    parameters, body = _source(predicate)
    known = {**vars(sys.modules[predicate.__module__]), **made_with}
    return _Translator(known, dict(zip(parameters, given, strict=True))).expression(body)


def _source(predicate: Callable[..., Any]) -> tuple[list[str], ast.expr]:
    """Find the parameters and the one expression of a function in its module's file."""
    code = predicate.__code__
    where = f"{predicate.__module__}, line {code.co_firstlineno}"
    tree = ast.parse(inspect.getsource(sys.modules[predicate.__module__]))
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda | ast.FunctionDef) and node.lineno == code.co_firstlineno
    ]
    if len(found) != 1:
        raise PageRuleError(f"{where}: expected one function on this line, found {len(found)}")
    (node,) = found
    parameters = [one.arg for one in node.args.args]
    if isinstance(node, ast.Lambda):
        return parameters, node.body
    match node.body:
        case [ast.Return(value=ast.expr() as value)]:
            return parameters, value
        case [ast.Expr(value=ast.Constant()), ast.Return(value=ast.expr() as value)]:
            return parameters, value  # below its docstring
    raise PageRuleError(f"{where}: {node.name} is more than one expression")


class _Translator:
    """Turns the syntax tree of an expression into nested lists."""

    def __init__(self, known: Mapping[str, Any], given: Mapping[str, Expression]) -> None:
        """Take what the names of a function stand for: known values, and what is given to it."""
        self.known, self.given = known, given

    def expression(self, node: ast.expr) -> Expression:
        """Translate one expression."""
        names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        if not names & set(self.given):
            return _constant(self._value(node))
        match node:
            case ast.Name(id=name):
                return self.given[name]
            case ast.BoolOp(op=op, values=values):
                return [type(op).__name__.lower(), *map(self.expression, values)]
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ["not", self.expression(operand)]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
                return [ARITHMETIC[type(op)], self.expression(left), self.expression(right)]
            case ast.Compare():
                return self._comparison(node)
            case ast.Subscript(value=value, slice=place):
                return ["item", self.expression(value), *self._places(place)]
            case ast.Call(func=ast.Attribute(value=value, attr=name), args=[]) if name in CALLS:
                return [name, self.expression(value)]
            case ast.Call(func=ast.Name(id=name), args=[argument]) if name in CALLS:
                return [name, self.expression(argument)]
            case ast.Call(func=function, args=arguments):
                return rule(self._value(function), *map(self.expression, arguments))
        raise PageRuleError(f"no page can evaluate {ast.unparse(node)}")

    def _comparison(self, node: ast.Compare) -> Expression:
        """Translate a comparison; of several in a row, each must hold."""
        sides = [self.expression(side) for side in (node.left, *node.comparators)]
        pairs = [
            [COMPARISONS[type(op)], left, right]
            for op, left, right in zip(node.ops, sides, sides[1:], strict=False)
        ]
        return pairs[0] if len(pairs) == 1 else ["and", *pairs]

    def _places(self, node: ast.expr) -> list[Expression]:
        """Translate what stands in square brackets: an index or [start, stop] for each axis."""
        axes = node.elts if isinstance(node, ast.Tuple) else [node]
        return [self._place(axis) for axis in axes]

    def _place(self, axis: ast.expr) -> Expression:
        """Translate one index or slice, written out or held by a name."""
        if isinstance(axis, ast.Slice):
            place = slice(*(end and self._value(end) for end in (axis.lower, axis.upper)))
        else:
            place = self._value(axis)
        return [place.start or 0, place.stop] if isinstance(place, slice) else place

    def _value(self, node: ast.expr) -> Any:
        """Compute what does not depend on the answer."""
        return eval(compile(ast.Expression(node), "<predicate>", "eval"), dict(self.known))


def _constant(value: Any) -> Expression:
    """Describe a value: sets and lists are operations, for a bare list would be one."""
    if isinstance(value, set | frozenset):
        return ["set", ["list", *sorted(value)]]
    return _listed(_plain(value))


def _listed(plain: Any) -> Expression:
    """Mark lists as such, at any depth."""
    return ["list", *map(_listed, plain)] if isinstance(plain, list) else plain


def _plain(value: Any) -> Any:
    """Turn tuples and NumPy's numbers and arrays into what JSON knows; infinity is the largest."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and math.isinf(value):
        return math.copysign(sys.float_info.max, value)
    if not isinstance(value, str | int | float):
        raise PageRuleError(f"no page knows what {value!r} is")
    return value
