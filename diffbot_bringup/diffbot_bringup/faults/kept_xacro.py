"""While a bus is open a robot's URDF is made once: xacro takes longer than a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import xacro


class KeptXacro:
    """Takes the place of `xacro.process_file`, and keeps what it gave for the same robot file."""

    _kept: ClassVar[dict[tuple[Any, ...], Any]] = {}

    def __init__(self) -> None:
        self._original: Callable[..., Any] | None = None

    def install(self) -> None:
        """Begin to keep."""
        self._original, xacro.process_file = xacro.process_file, self._process

    def remove(self) -> None:
        """Give the original back."""
        xacro.process_file, self._original = self._original, None

    def _process(self, source: str, mappings: dict[str, str]) -> Any:
        content = Path(mappings["robot"]).read_bytes()
        key = (source, content, *sorted(mappings.items()))
        if key not in self._kept:
            self._kept[key] = self._original(source, mappings=mappings)
        return self._kept[key]
