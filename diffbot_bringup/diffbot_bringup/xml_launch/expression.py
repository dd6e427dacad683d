"""Evaluates the expression of ``$(eval ...)`` without running Python code.

Numbers, strings, True, False, None, arithmetic, comparison, in / not in, and / or / not,
``a if c else b``, tuples and lists, and the names of the math module (``pi``, ``sqrt(2)``).
Everything here means what it means in Python, so the real launch gives the same text.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}
_MATH = {name: value for name, value in vars(math).items() if not name.startswith("_")}
SUPPORTED = (
    "numbers, 'strings', True, False, None, + - * / // % **, comparisons, in, not in, and, or, "
    "not, a if c else b, tuples, lists and names of the math module"
)


def evaluate(text: str) -> str:
    """Return the value of the expression as text, as `str()` writes it.

    Raises ValueError when the expression is wrong or uses what is not supported.
    """
    try:
        tree = ast.parse(text.lstrip(" \t"), mode="eval")
    except SyntaxError as error:
        raise ValueError(f"$(eval): {error.msg} in {text!r}") from None
    try:
        return str(_value(tree.body))
    except (ArithmeticError, TypeError, ValueError) as error:
        raise ValueError(f"$(eval): {error} in {text!r}") from None


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str, type(None))):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.operand))
    if isinstance(node, ast.BoolOp):
        return _logical(node)
    if isinstance(node, ast.Compare):
        return _compare(node)
    if isinstance(node, ast.IfExp):
        return _value(node.body) if _value(node.test) else _value(node.orelse)
    if isinstance(node, ast.Tuple):
        return tuple(_value(item) for item in node.elts)
    if isinstance(node, ast.List):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.Name):
        return _name(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        function = _name(node.func)
        return function(*(_value(argument) for argument in node.args))
    raise ValueError(f"{ast.unparse(node)!r} is not supported; supported are {SUPPORTED}")


def _name(node: ast.Name) -> Any:
    if node.id not in _MATH:
        raise ValueError(f"unknown name {node.id!r} (text needs quotes); supported are {SUPPORTED}")
    return _MATH[node.id]


def _logical(node: ast.BoolOp) -> Any:
    """Python's `and` / `or`: the last value looked at, and no further."""
    stop_at = isinstance(node.op, ast.Or)
    value: Any = None
    for operand in node.values:
        value = _value(operand)
        if bool(value) is stop_at:
            break
    return value


def _compare(node: ast.Compare) -> Any:
    left = _value(node.left)
    result: Any = True
    for operation, operand in zip(node.ops, node.comparators, strict=True):
        if type(operation) not in _OPERATORS:
            raise ValueError(f"{ast.unparse(node)!r} is not supported; supported are {SUPPORTED}")
        right = _value(operand)
        result = _OPERATORS[type(operation)](left, right)
        if not result:
            break
        left = right
    return result
