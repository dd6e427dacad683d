# SPDX-License-Identifier: Apache-2.0
"""Drawing the pictures of a run, with matplotlib loaded in the background."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffbot_description.terminal_text import refusal_of_machine

# Longest wall time to wait for matplotlib, s.
LOADING_TIME = 60.0


@dataclass(frozen=True)
class Picture:
    """A file to draw by `write`, which may take `seconds` of wall time: not started with less."""

    name: str
    write: Callable[[Path], Any]
    seconds: float = 0.0


class Drawing:
    """Loads matplotlib, by importing `module`, while the run is active.

    Attributes:
        problem: Why pictures were left out; None if none was.
        unwritten: Error messages of files that could not be written.
    """

    def __init__(self, module: str) -> None:
        self.problem: str | None = None
        self.unwritten: list[str] = []
        self._module = module
        self._loaded = False
        # A daemon would end within Matplotlib's C++ code, which aborts the process.
        self._thread = threading.Thread(target=self._load, name="load-figures")

    def start(self) -> None:
        """Start loading; a second call has no effect."""
        if self._thread.ident is None:
            self._thread.start()

    def _load(self) -> None:
        try:
            importlib.import_module(self._module)
            panels = importlib.import_module("diffbot_report.panels")
            panels.warm_up()
            self._loaded = True
        except (ImportError, OSError, MemoryError, RuntimeError) as error:
            known = refusal_of_machine(error)
            advice = "" if known or not isinstance(error, ImportError) else "; install matplotlib"
            self.problem = f"matplotlib cannot be loaded: {known or error}{advice}"

    def ready(self, deadline: float) -> bool:
        """Whether loading is complete; waits for it until time.monotonic() is `deadline`, s."""
        left = deadline - time.monotonic()
        if left > 0.0:
            self.start()
            self._thread.join(timeout=min(left, LOADING_TIME))
        if not self._loaded:
            self.problem = self.problem or "matplotlib was not loaded yet"
        return self._loaded

    def draw(
        self, pictures: Callable[[], Sequence[Picture]], directory: Path, deadline: float
    ) -> Iterator[Path]:
        """Draw pictures into a directory; yield their paths.

        `pictures` is called once loading is complete; none is started after time.monotonic() is
        `deadline`, s.
        """
        if not self.ready(deadline):
            return
        left_out = []
        for picture in pictures():
            if time.monotonic() + picture.seconds > deadline:
                left_out.append(picture.name)
                continue
            path = directory / picture.name
            try:
                picture.write(path)
            except OSError as error:
                self.unwritten.append(str(error))  # a smaller file may still fit on the disk
                continue
            yield path
        if left_out:
            self.problem = f"no time left for {', '.join(left_out)}"
