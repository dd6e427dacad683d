# SPDX-License-Identifier: Apache-2.0
"""Names of a package that are loaded from their modules when they are first used.

Executables set their signal handlers before NumPy loads, so an `__init__` imports nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from diffbot_description.suite_version import suite_version

_IMPORT = re.compile(r"from (\S+) import \(?\s*(\w+) as \2\b")


def lazy_names(package: str, file: str) -> tuple[Callable[[str], Any], list[str]]:
    """Return `__getattr__` and `__all__` of a package with this `__init__` file.

    Its public names are those that its `__init__` imports for type checkers as themselves: `from
    MODULE import NAME as NAME`. `__version__` is that of the suite.

    Example:
        >>> import diffbot_description
        >>> get, known = lazy_names("diffbot_description", diffbot_description.__file__)
        >>> "closed_form" in known
        True
        >>> get("closed_form").__module__
        'diffbot_description.dynamics'
        >>> get("closed_from")
        Traceback (most recent call last):
        AttributeError: module 'diffbot_description' has no attribute 'closed_from'
    """
    text = Path(file).read_text(encoding="utf-8")
    modules = {name: module for module, name in _IMPORT.findall(text)}

    def get(name: str) -> Any:
        if name == "__version__":
            return suite_version()
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return get, list(modules)
