# SPDX-License-Identifier: Apache-2.0
"""Classes of messages by the name of their type, for nodes that take any topic."""

from __future__ import annotations

import importlib
import re

from ament_index_python.resources import has_resource

_TYPE = re.compile(r"([a-z]\w*)/(?:(msg|srv|action)/)?([A-Z]\w*)", re.ASCII)


def message_class(name: str) -> type:
    """Return the class of ``package/msg/Name`` or ``package/Name``; ValueError if there is none.

    Only packages of interfaces are imported: anyone in the graph can name any module of Python.
    """
    parts = _TYPE.fullmatch(name)
    if parts is None:
        raise ValueError(f"{name!r} is not a message type; expected PACKAGE/msg/NAME")
    package, folder, kind = parts.groups("msg")
    if has_resource("rosidl_interfaces", package):
        try:
            message: type = getattr(importlib.import_module(f"{package}.{folder}"), kind)
            return message
        except (ImportError, AttributeError):
            pass
    raise ValueError(f"message type {name!r} not found; is its package built and sourced?")
