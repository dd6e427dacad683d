"""Drawing the pictures of an identification run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from diffbot_bringup.report.background_drawing import BackgroundDrawing, Picture
from diffbot_bringup.report.quantity import Quantity
from diffbot_bringup.report.recording import IdentRecording


class Drawing(BackgroundDrawing):
    """Pictures of K5..K8, of the excitation, and of how far they may be trusted."""

    def load(self) -> None:
        """Import what draws and warm it up."""
        from diffbot_bringup.report import (
            arena_figure,
            figures,
            trust_figure,
            verification_figure,
        )

        figures.warm_up()
        self._figures = figures
        self._trust, self._arena = trust_figure, arena_figure
        self._verification = verification_figure

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
        pictures = [
            Picture(f"{name}.png", lambda path, m=m: self._figures.save_figure(m(), path))
            for name, m in self._makers(recording, parameters, title).items()
        ]
        yield from self.write(pictures, directory, deadline)

    def _makers(
        self, recording: IdentRecording, parameters: Sequence[Quantity], title: str
    ) -> dict[str, Callable]:
        """What draws each picture for which there is something to show, by its name."""
        figures, status, verification = self._figures, recording.status, recording.verification
        make: dict[str, Callable] = {
            "parameters": lambda: figures.parameters_figure(recording, parameters, title),
            "covariance": lambda: figures.covariance_figure(recording, parameters, title),
            "excitation": lambda: figures.excitation_figure(recording, title),
        }
        if self._trust.has_trust(recording):
            make["trust"] = lambda: self._trust.trust_figure(recording, title)
        if verification is not None:
            make["verification"] = lambda: self._verification.verification_figure(
                verification, title
            )
        if status is not None and status.arena is not None:
            arena = status.arena
            make["arena"] = lambda: self._arena.arena_figure(recording, arena, title)
        return make
