"""Checking of nested mappings against the dataclasses of the robot schema."""

from __future__ import annotations

import difflib
import math
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

from diffbot_description.quantity import METADATA_KEY, Quantity


def read_section(cls: type, data: Any, where: str = "", **given: Any) -> Any:
    """Return an instance of the dataclass ``cls`` made from the mapping ``data``.

    ``where`` is the dotted name of the section, "" for the whole file. ``given`` are fields that
    do not come from the mapping. Raises ValueError that names the field, the value, the limit
    and what to change.
    """
    if not isinstance(data, dict):
        section = where or "the file"
        raise ValueError(f"{section} must hold named values, not {data!r}. Copy twil.yaml.")
    declared = [f for f in fields(cls) if f.name not in given]
    _check_keys(data, [f.name for f in declared], where)
    types = get_type_hints(cls)
    values = {
        f.name: _read(types[f.name], data[f.name], _dotted(where, f.name), f.metadata)
        for f in declared
    }
    return cls(**values, **given)


def _dotted(where: str, key: object) -> str:
    return f"{where}.{key}" if where else str(key)


def _check_keys(data: dict[Any, Any], expected: list[str], where: str) -> None:
    unknown = [key for key in data if key not in expected]
    missing = [key for key in expected if key not in data]
    problems = []
    if unknown:
        problems.append("unknown: " + ", ".join(_dotted(where, key) for key in unknown))
    if missing:
        problems.append("missing: " + ", ".join(_dotted(where, key) for key in missing))
    if not problems:
        return
    near = [m for key in unknown for m in difflib.get_close_matches(str(key), missing, 1)]
    advice = f"Did you mean {_dotted(where, near[0])}? " if near else ""
    section = where or "the file"
    raise ValueError(
        f"wrong keys, {'; '.join(problems)}. {advice}{section} needs exactly {', '.join(expected)}."
    )


def _read(kind: Any, value: Any, where: str, metadata: Any) -> Any:
    if is_dataclass(kind):
        return read_section(kind, value, where)
    if get_origin(kind) is tuple:
        return _read_list(get_args(kind), value, where, metadata)
    rule: Quantity = metadata[METADATA_KEY]
    if kind is str:
        return _read_name(value, where, rule)
    return _read_number(kind, value, where, rule)


def _read_list(kinds: tuple[Any, ...], value: Any, where: str, metadata: Any) -> tuple[Any, ...]:
    any_length = kinds[-1] is Ellipsis
    length = "one or more" if any_length else str(len(kinds))
    right_length = isinstance(value, list) and (
        len(value) >= 1 if any_length else len(value) == len(kinds)
    )
    if not right_length:
        raise ValueError(f"{where} = {value!r} must be a list of {length} entries.")
    return tuple(
        _read(kinds[0], entry, f"{where}[{index}]", metadata) for index, entry in enumerate(value)
    )


def _read_name(value: Any, where: str, rule: Quantity) -> str:
    if not isinstance(value, str) or not value.isidentifier() or not value.isascii():
        raise ValueError(
            f"{where} = {value!r} must be text of letters, digits and underscores that starts "
            f"with a letter. Give the {rule.meaning}."
        )
    return value


def _read_number(kind: type, value: Any, where: str, rule: Quantity) -> float | int:
    wanted = "a whole number" if kind is int else "a number"
    allowed = (int,) if kind is int else (int, float)
    if isinstance(value, bool) or not isinstance(value, allowed):
        raise ValueError(
            f"{where} = {value!r} must be {wanted}, the {rule.meaning}"
            f"{f' in {rule.unit}' if rule.unit else ''}.{_yaml_hint(value)}"
        )
    try:
        number = kind(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{where} = {value} must be finite. Give the {rule.meaning}.")
    broken = rule.violation(number)
    if broken:
        raise ValueError(
            f"{where} = {rule.show(value)} {broken}. Give the {rule.meaning}"
            f"{f' in {rule.unit}' if rule.unit else ''}."
        )
    return number


def _yaml_hint(value: Any) -> str:
    """YAML 1.1 takes 1e7 for text; say how to write it."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return ""
    mantissa, _, exponent = f"{number:e}".partition("e")
    return f" Write {float(mantissa)}e{exponent} or {number!r}."
