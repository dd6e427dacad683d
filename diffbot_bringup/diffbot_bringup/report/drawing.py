"""Drawing the pictures of a run, with matplotlib loaded in the background."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from diffbot_bringup.report.quantity import Quantity
from diffbot_bringup.report.recording import IdentRecording


class Drawing:
    """Loads matplotlib while the run goes on, so that its end is quick."""

    def __init__(self) -> None:
        self.problem = ""
        self._figures = None
        self._thread = threading.Thread(target=self._load, name="load-figures", daemon=True)

    def start(self) -> None:
        """Begin to load."""
        self._thread.start()

    def _load(self) -> None:
        try:
            from diffbot_bringup.report import figures

            # The first drawing loads the fonts.
            figures.warm_up()
            self._figures = figures
        except ImportError as error:
            self.problem = f"{error}; install matplotlib"

    def draw(
        self,
        recording: IdentRecording,
        parameters: Sequence[Quantity],
        title: str,
        directory: Path,
        deadline: float,
    ) -> Iterator[Path]:
        """Write the PNGs into the directory, one after the other; yields their paths.

        Args:
            recording: the run.
            parameters: K5..K8 at its end.
            title: what was run, for example "twil, mujoco, seed 1".
            directory: where to.
            deadline: time.monotonic() after which no further picture is begun, s.
        """
        self._thread.join(timeout=max(0.0, min(deadline - time.monotonic(), 60.0)))
        figures = self._figures
        if figures is None:
            self.problem = self.problem or "matplotlib was not loaded yet"
            return
        pictures: dict[str, Callable] = {
            "parameters": lambda: figures.parameters_figure(recording, parameters, title),
            "covariance": lambda: figures.covariance_figure(recording, parameters, title),
            "excitation": lambda: figures.excitation_figure(recording, title),
        }
        for name, make in pictures.items():
            if time.monotonic() > deadline:
                self.problem = f"no time left for {name}.png"
                return
            yield figures.save_figure(make(), directory / f"{name}.png")
