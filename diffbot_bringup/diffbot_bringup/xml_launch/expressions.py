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

# An expression is a line of a file: no need for more, and what a few characters can ask of Python
# (9**9**9, 'a'*10**10) would take all time and memory.
LONGEST = 2000  # characters of an expression
LARGEST = 4000  # bits of a power, items or characters of a repetition
_COMBINATORIAL = ("factorial", "comb", "perm")
_LARGEST_COUNT = 1000  # that these take


def _power(base: Any, exponent: Any) -> Any:
    whole = isinstance(base, int) and isinstance(exponent, int)
    if whole and base.bit_length() * abs(exponent) > LARGEST:
        raise ValueError(f"{base}**{exponent} is too large; write it with a decimal point")
    return operator.pow(base, exponent)


def _product(left: Any, right: Any) -> Any:
    for sequence, count in ((left, right), (right, left)):
        repeats = isinstance(sequence, (str, tuple, list)) and isinstance(count, int)
        if repeats and len(sequence) * count > LARGEST:
            raise ValueError(f"{count} repetitions are too many; the limit is {LARGEST} items")
    return operator.mul(left, right)


def _remainder(left: Any, right: Any) -> Any:
    if isinstance(left, str):
        raise ValueError("formatting of text with % is not supported; write the text out")
    return operator.mod(left, right)


_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _product,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: _remainder,
    ast.Pow: _power,
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
    if len(text) > LONGEST:
        raise ValueError(f"$(eval): {len(text)} characters; the limit is {LONGEST}: shorten it")
    try:
        tree = ast.parse(text.lstrip(" \t"), mode="eval")
    except SyntaxError as error:
        raise ValueError(f"$(eval): {error.msg} in {text!r}") from None
    except (RecursionError, MemoryError):
        raise ValueError(f"$(eval): nested too deeply; take brackets out of {text!r}") from None
    try:
        return str(_value(tree.body))
    except RecursionError:
        raise ValueError(f"$(eval): nested too deeply; take brackets out of {text!r}") from None
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
        values = [_value(argument) for argument in node.args]
        if node.func.id in _COMBINATORIAL and any(
            isinstance(value, int) and value > _LARGEST_COUNT for value in values
        ):
            raise ValueError(f"{node.func.id} takes numbers up to {_LARGEST_COUNT}")
        return function(*values)
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
