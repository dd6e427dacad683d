"""The launch arguments of a run, as text."""

from __future__ import annotations

import json
import shlex
from typing import Any


def parse_arguments(text: str) -> dict[str, Any]:
    """Launch arguments from a JSON object or from words "name:=value".

    Values that are JSON scalars become numbers or truth values; all others stay text.

    Raises:
        ValueError: the text is neither.
    """
    text = text.strip()
    if text.startswith("{"):
        try:
            return json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValueError(f"arguments = {text!r}: not a JSON object: {error}") from error
    arguments = {}
    for word in shlex.split(text):
        name, mark, value = word.partition(":=")
        if not (name and mark):
            raise ValueError(f"arguments: {word!r} is not name:=value, in {text!r}")
        arguments[name] = _scalar(value)
    return arguments


def _scalar(text: str) -> Any:
    try:
        value = json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):  # ValueError: a number of more than 4300 digits
        return text
    return value if isinstance(value, (bool, int, float, str)) else text
