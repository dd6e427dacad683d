# SPDX-License-Identifier: Apache-2.0
"""Types of messages from the definitions in a recording, within limits."""

from __future__ import annotations

from typing import Any

from rosbags.interfaces import MessageDefinitionFormat, Nodetype
from rosbags.typesys import get_types_from_idl, get_types_from_msg

from diffbot_description.limits import DEFINITION, FIELDS
from diffbot_recordings.bag_part import BagTopic, DamagedError


def defined_types(topic: BagTopic) -> dict[str, Any]:
    """Return the types in a topic's definition, for a typestore of the library.

    Raises:
        LimitError: A definition is too long, or a type has too many fields.
        DamagedError: The definition cannot be read, or does not define the topic's type.
    """
    text = topic.definition.data
    is_idl = topic.definition.format == MessageDefinitionFormat.IDL
    if not is_idl:
        lines = (line for line in text.split("\n") if not line.lstrip().startswith("#"))
        text = "\n".join(lines)
    DEFINITION.check(len(text))
    FIELDS.check(text.count("\n"))
    try:
        types = get_types_from_idl(text) if is_idl else get_types_from_msg(text, topic.type)
    except RecursionError:
        raise DamagedError(f"the definition of {topic.type} is nested too deeply") from None
    except Exception as error:  # the library's own, and of any kind
        why = " ".join(str(error)[:1000].split())[:200]
        raise DamagedError(f"the definition of {topic.type} cannot be read: {why}") from None
    if topic.type not in types:
        raise DamagedError(f"the definition of {topic.type} defines other types only")
    FIELDS.check(_count(topic.type, types, (), {}))
    return types


def _count(name: str, types: dict[str, Any], within: tuple[str, ...], known: dict[str, int]) -> int:
    """Return the number of fields of a type, those of arrays and other types included."""
    if name in within:
        raise DamagedError(f"the type {name} contains itself")
    if name not in known:
        total = 0
        for _, (kind, content) in types[name][1] if name in types else ():
            times = 1
            if kind in (Nodetype.ARRAY, Nodetype.SEQUENCE):
                (inner, what), length = content
                times = length if kind == Nodetype.ARRAY else 1
            else:
                inner, what = kind, content
            nested = inner == Nodetype.NAME
            own = _count(what, types, (*within, name), known) if nested else 1
            total += max(1, times) * max(1, own)
        known[name] = total
        FIELDS.check(total)
    return known[name]
