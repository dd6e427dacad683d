# SPDX-License-Identifier: Apache-2.0
"""Numbers with unit, 95 % interval and source, and YAML with them as comments above each value."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from diffbot_ident.estimate import NORMAL_95


@dataclass(frozen=True)
class SourcedValue:
    """A value of an exported file, with its source.

    Attributes:
        value: Finite.
        unit: "1": dimensionless.
        source: As a text for the user.
        lower, upper: The 95 % interval; None: given, not identified.
        assumed: Whether the value is a rule's guess.
    """

    value: float
    unit: str
    source: str
    lower: float | None = None
    upper: float | None = None
    assumed: bool = False

    @classmethod
    def normal(cls, value: float, std: float, unit: str, source: str) -> SourcedValue:
        """Return an estimate from value and standard deviation, both finite."""
        half = NORMAL_95 * std
        return cls(value, unit, source, value - half, value + half)

    @property
    def low(self) -> float:
        """Lower end of the interval; without one, the value."""
        return self.value if self.lower is None else self.lower

    @property
    def high(self) -> float:
        """Upper end of the interval; without one, the value."""
        return self.value if self.upper is None else self.upper

    @property
    def identified(self) -> bool:
        """Whether it has an interval."""
        return self.lower is not None

    def at_least(self, limit: float) -> SourcedValue:
        """Return value and interval with everything below a limit raised to it."""
        lower, upper = (
            None if end is None else max(end, limit) for end in (self.lower, self.upper)
        )
        return replace(self, value=max(self.value, limit), lower=lower, upper=upper)

    def times(self, factor: float, unit: str, source: str) -> SourcedValue:
        """Return the product with an exact factor > 0."""
        lower, upper = (None if end is None else end * factor for end in (self.lower, self.upper))
        return SourcedValue(self.value * factor, unit, source, lower, upper, self.assumed)

    def text(self) -> str:
        """Return value, interval and unit as text."""
        unit = "" if self.unit == "1" else f" {self.unit}"
        if self.lower is None or self.upper is None:
            return f"{self.value:.6g}{unit} ({'assumed' if self.assumed else 'given'}, no interval)"
        return f"{self.value:.6g} [{self.lower:.6g}, {self.upper:.6g}]{unit}"

    def cited(self) -> str:
        """Return value, interval, unit and source as text."""
        return f"{self.text()}, {self.source}"


def product(
    unit: str, source: str, *factors: tuple[SourcedValue, float], scale: float = 1.0
) -> SourcedValue:
    """Return a product of powers of independent factors, not 0, with a first-order interval."""
    value, down, up = scale, 0.0, 0.0
    for quantity, power in factors:
        if quantity.value == 0.0:
            raise ValueError(f"{quantity.source} = 0: has no logarithm")
        value *= quantity.value**power
        below = power * (quantity.low - quantity.value) / quantity.value
        above = power * (quantity.high - quantity.value) / quantity.value
        down, up = math.hypot(down, min(below, above)), math.hypot(up, max(below, above))
    assumed = any(quantity.assumed for quantity, _ in factors)
    if not any(quantity.identified for quantity, _ in factors):
        return SourcedValue(value, unit, source, assumed=assumed)
    lower, upper = sorted((value * (1.0 - down), value * (1.0 + up)))
    return SourcedValue(value, unit, source, lower, upper, assumed)


Value = bool | int | float | str | Sequence[float] | Sequence[str] | Sequence[bool]
WIDTH = 98
ASSUMED = "assumed, so not set: "
"""Begin of the comment in place of a value that is an assumption."""


@dataclass(frozen=True)
class Entry:
    """A value or list, its interval and source; if `assumed`, it is written as a comment."""

    value: Value
    comment: str = ""
    assumed: bool = False


Tree = Mapping[str, "Entry | Tree"]


def to_yaml(tree: Tree, head: Sequence[str]) -> str:
    """Return the document: comment lines `head`, then the tree in its order."""
    lines = [line for text in head for line in _comment(text, "")]
    return "\n".join((*lines, *_lines(tree, ""))) + "\n"


def _lines(tree: Tree, indent: str) -> list[str]:
    lines = []
    for key, node in tree.items():
        if isinstance(node, Entry):
            lines += _comment(node.comment, indent) if node.comment else []
            if node.assumed:
                text = f"{ASSUMED}{key}: {scalar(node.value)}"
                lines += _comment(text, indent)
                continue
            lines += textwrap.wrap(
                f"{indent}{key}: {scalar(node.value)}",
                WIDTH,
                subsequent_indent=f"{indent}  ",
                break_on_hyphens=False,
                break_long_words=False,
            )
        else:
            # ROS does not read a section without a value.
            mark = "" if _is_set(node) else "# "
            lines += [f"{indent}{mark}{key}:", *_lines(node, f"{indent}  ")]
    return lines


def _is_set(tree: Tree) -> bool:
    return any(
        not node.assumed if isinstance(node, Entry) else _is_set(node) for node in tree.values()
    )


def _comment(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=f"{indent}# ",
        subsequent_indent=f"{indent}#   ",
        break_on_hyphens=False,
        break_long_words=False,
    ) or [f"{indent}#"]


def scalar(value: Value) -> str:
    """Format a value for YAML, so that a float never reads as an integer or a text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, str):
        return f'"{value}"'
    return f"[{', '.join(scalar(entry) for entry in value)}]"


def _number(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0.0 else "-.inf"
    text = f"{value:.6g}"
    mantissa, mark, exponent = text.partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}{mark}{exponent}"
