"""The end of a run: the final table, the pictures and summary.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType

from arc_odometry import WheelGeometry
from diffbot_bringup.report.drawing import Drawing
from diffbot_bringup.report.handover import hand_over, headline
from diffbot_bringup.report.physical import meanings, physical_quantities
from diffbot_bringup.report.quantity import Quantity, parameter_quantities
from diffbot_bringup.report.recording import IdentRecording
from diffbot_bringup.report.run_end import Ending
from diffbot_bringup.report.samples import ParameterSample
from diffbot_bringup.report.summary import RunDescription, summary
from diffbot_bringup.report.table import parameter_table


class ReportWriter:
    """Shows and saves what a run found.

    Args:
        run: what is run.
        geometry: wheel radii and track, for masses and inertias.
        directory: where the files go; exists.
        console: where the table goes.
        drawing: makes the pictures.
    """

    def __init__(
        self,
        run: RunDescription,
        geometry: WheelGeometry,
        directory: Path,
        console: Console,
        drawing: Drawing,
    ) -> None:
        self._run = run
        self._geometry = geometry
        self._directory = directory
        self._console = console
        self._drawing = drawing

    def table(self, recording: IdentRecording, title: str = "") -> RenderableType:
        """The parameters as they are now."""
        parameters = self._parameters(recording)
        phrases = meanings(parameters, self._geometry)
        caption = _caption(recording.latest)
        return parameter_table(parameters, phrases, title, caption, self._console.width)

    def write(
        self, recording: IdentRecording, ending: Ending, factor: float | None, deadline: float
    ) -> None:
        """Print the final table, write the files and print their paths.

        Args:
            recording: the run.
            ending: how it ended.
            factor: robot time over wall time; None where unknown.
            deadline: time.monotonic() after which no further picture is begun, s.
        """
        recording.finish()
        parameters = self._parameters(recording)
        drawn = len(recording.motion()[0]) > 0
        hand_over(
            self._console,
            self.table(recording, headline(self._run, recording.elapsed, ending)),
            self._summary(recording, ending, factor, parameters),
            self._directory,
            self._drawing.draw(recording, parameters, self._run.setting, self._directory, deadline)
            if drawn
            else iter(()),
            lambda: self._drawing.problem if drawn else "nothing was recorded",
        )

    def _parameters(self, recording: IdentRecording) -> tuple[Quantity, ...]:
        return parameter_quantities(recording.latest, recording.last_truth())

    def _summary(
        self,
        recording: IdentRecording,
        ending: Ending,
        factor: float | None,
        parameters: tuple[Quantity, ...],
    ) -> dict[str, Any]:
        more: dict[str, Any] = {}
        if recording.latest is not None:
            more["samples"] = recording.latest.samples
            more["residual_std"] = list(recording.latest.residual_std)
        if recording.status is not None:
            more["guarded"] = recording.status.guarded
            more["refused"] = recording.status.refused
        physical = physical_quantities(parameters, self._geometry)
        return summary(self._run, ending, recording.elapsed, factor, parameters, physical, more)


def _caption(sample: ParameterSample | None) -> str:
    if sample is None:
        return ""
    linear, angular = sample.residual_std
    text = f"{sample.samples} samples, residuals {linear:.2g} m/s² and {angular:.2g} rad/s²"
    return f"{text}; {sample.state}: {sample.reason}" if sample.reason else text
