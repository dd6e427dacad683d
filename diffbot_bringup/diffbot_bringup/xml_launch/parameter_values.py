"""The value of a parameter: which type the text of ``<param value=...>`` means.

Without ``type`` the text is read as YAML (``5`` int, ``5.0`` float, ``true`` bool, ``[1, 2]``
list, ``'5'`` in quotes text). A substitution is performed first and its text is read as YAML.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from diffbot_bringup.xml_launch import substitutions
from diffbot_bringup.xml_launch.substitutions import Scope
from diffbot_bringup.xml_launch.templates import Text, parse

TYPES: dict[str, tuple[type | None, bool]] = {
    # identifier: (type of the scalar or None for YAML's choice, is a list)
    "int": (int, False),
    "float": (float, False),
    "bool": (bool, False),
    "str": (str, False),
    "list_of_int": (int, True),
    "list_of_float": (float, True),
    "list_of_bool": (bool, True),
    "list_of_str": (str, True),
    "yaml": (None, False),
}
_SCALARS = (int, float, bool, str)
_MOST_BRACKETS = 20  # of a value; lists of scalars need one


@dataclass(frozen=True)
class ParameterValue:
    """A value whose substitutions are still to be performed.

    `value` is a scalar, a template, or a list of both.
    """

    value: Any
    scalar: type | None
    is_list: bool

    @classmethod
    def parse(cls, text: str, identifier: str | None) -> ParameterValue:
        """Read the attributes `value` and `type`. Raises ValueError when they do not fit."""
        scalar, is_list = TYPES[identifier or "yaml"]
        value = _interpolate(_coerce(text, scalar, is_list, text_allowed=True))
        _check_type(value, scalar, is_list)
        return cls(value, scalar, is_list)

    def evaluate(self, scope: Scope) -> Any:
        """Perform the substitutions and return the final value (scalar or list)."""
        if isinstance(self.value, tuple):
            text = substitutions.perform(self.value, scope)
            return _coerce(text, self.scalar, self.is_list, text_allowed=False)
        if not isinstance(self.value, list):
            return self.value
        items = [
            _coerce(substitutions.perform(item, scope), self.scalar, False, text_allowed=False)
            if isinstance(item, tuple)
            else item
            for item in self.value
        ]
        if not _valid(items, text_allowed=False):
            raise ValueError(f"the items of {items} are not of one type")
        return items


def _coerce(text: str, scalar: type | None, is_list: bool, text_allowed: bool) -> Any:
    """Convert text; with `text_allowed`, text that does not convert yet stays (a substitution)."""
    if scalar is None:
        return _from_yaml(text, text_allowed)
    if is_list:
        value = _from_yaml(text, text_allowed)
        if not isinstance(value, list) or not all(
            isinstance(item, (scalar, str) if text_allowed else scalar) for item in value
        ):
            raise ValueError(f"{text!r} is not a list of {scalar.__name__}")
        return value
    if scalar is str:
        return text
    if scalar is bool:
        value = _from_yaml({"1": "true", "0": "false"}.get(text, text), text_allowed)
    else:
        try:
            value = scalar(text)
        except ValueError:
            value = text
    if isinstance(value, (scalar, str) if text_allowed else scalar):
        return value
    raise ValueError(f"{text!r} is not of type {scalar.__name__}")


def _from_yaml(text: str, text_allowed: bool) -> Any:
    if not text:
        return text
    try:
        value = read_scalar(text)
    except ValueError:
        if text_allowed:
            return text
        raise
    if not _valid(value, text_allowed):
        raise ValueError(
            f"{text!r} is a {type(value).__name__} for YAML; supported are int, float, bool, text "
            "and lists of one of these (put quotes around text)"
        )
    return value


def read_scalar(text: str) -> Any:
    """Value of a YAML text; raises ValueError, in one line, where it has none."""
    if text.count("[") + text.count("{") > _MOST_BRACKETS:
        raise ValueError(f"{text!r} has more than {_MOST_BRACKETS} brackets")
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        problem = " ".join((getattr(error, "problem", None) or str(error)).split())
        raise ValueError(f"{text!r} is not YAML: {problem}") from None
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        # What PyYAML lets through of values such as `!!int ""` and 2001-99-99.
        raise ValueError(f"{text!r} is no value of its kind: {error}") from None


def _valid(value: Any, text_allowed: bool) -> bool:
    if not isinstance(value, list):
        return isinstance(value, _SCALARS)
    first = next((type(item) for item in value if type(item) is not str), str)
    return first in _SCALARS and all(
        isinstance(item, (first, str) if text_allowed else first) for item in value
    )


def _interpolate(value: Any) -> Any:
    """Parse the substitutions in text; text without any stays text, escapes taken out."""
    kinds = set()

    def one(item: Any) -> Any:
        if not isinstance(item, str):
            kinds.add(type(item))
            return item
        template = parse(item)
        substitutions.check(template)
        if len(template) == 1 and isinstance(template[0], Text):
            kinds.add(str)
            return template[0].value
        return template

    result = [one(item) for item in value] if isinstance(value, list) else one(value)
    if len(kinds) > 1:
        raise ValueError("the items of the list are not of one type")
    return result


def _check_type(value: Any, scalar: type | None, is_list: bool) -> None:
    """Refuse a value without substitutions that is not of the type asked for."""
    if isinstance(value, tuple) or scalar is None:
        return
    if isinstance(value, list) != is_list:
        raise ValueError(f"{value!r} is {'not ' if is_list else ''}a list")
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, (scalar, tuple)):
            raise ValueError(f"{item!r} is not of type {scalar.__name__}")
