"""Drawing the pictures of an identification run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from diffbot_bringup.report.background_drawing import BackgroundDrawing, Picture
from diffbot_bringup.report.quantity import Quantity
from diffbot_bringup.report.recording import IdentRecording


class Drawing(BackgroundDrawing):
    """Pictures of K5..K8 and of the excitation."""

    def load(self) -> None:
        """Import figures and warm them up."""
        from diffbot_bringup.report import figures

        figures.warm_up()
        self._figures = figures

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
        if not self.ready(deadline):
            return
        figures = self._figures
        make: dict[str, Callable] = {
            "parameters": lambda: figures.parameters_figure(recording, parameters, title),
            "covariance": lambda: figures.covariance_figure(recording, parameters, title),
            "excitation": lambda: figures.excitation_figure(recording, title),
        }
        pictures = [
            Picture(f"{name}.png", lambda path, m=m: figures.save_figure(m(), path))
            for name, m in make.items()
        ]
        yield from self.write(pictures, directory, deadline)
