# SPDX-License-Identifier: Apache-2.0
"""Classes of messages by the name of their type, for nodes that take any topic."""

from __future__ import annotations

import importlib


def message_class(name: str) -> type:
    """Return the class of ``package/msg/Name`` or ``package/Name``; ValueError if there is none."""
    parts = name.split("/")
    if len(parts) == 2:
        parts.insert(1, "msg")
    if len(parts) != 3 or not all(parts):
        raise ValueError(f"{name!r} is not a message type; expected PACKAGE/msg/NAME")
    package, folder, kind = parts
    try:
        message: type = getattr(importlib.import_module(f"{package}.{folder}"), kind)
        return message
    except (ImportError, AttributeError):
        raise ValueError(
            f"message type {name!r} not found; is its package built and sourced?"
        ) from None
