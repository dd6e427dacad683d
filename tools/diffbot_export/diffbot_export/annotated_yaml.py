# SPDX-License-Identifier: Apache-2.0
"""Write YAML with a comment above each value, which YAML dumpers do not support."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Value = bool | int | float | str | Sequence[float] | Sequence[str] | Sequence[bool]
WIDTH = 98


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
                text = f"assumed, so not set: {key}: {scalar(node.value)}"
                lines += _comment(text, indent)
                continue
            # A YAML list may continue on the next line.
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
