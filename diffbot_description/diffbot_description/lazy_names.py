# SPDX-License-Identifier: Apache-2.0
"""Names of a package that are loaded from their modules when they are first used.

The executables of a package set their signal handlers before NumPy loads; Ctrl-C in the first
second then leaves no traceback. So its `__init__` imports nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, names: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], list[str]]:
    """Return `__getattr__` and `__all__` of a package.

    Args:
        package: Name of the package.
        names: Its public names, by the module that has them, relative to the package.

    Example:
        >>> get, known = lazy_names("diffbot_description", {"dynamics": ["closed_form"]})
        >>> known
        ['closed_form']
        >>> get("closed_form").__module__
        'diffbot_description.dynamics'
        >>> get("closed_from")
        Traceback (most recent call last):
        AttributeError: module 'diffbot_description' has no attribute 'closed_from'
    """
    modules = {name: module for module, group in names.items() for name in group}

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return get, list(modules)
