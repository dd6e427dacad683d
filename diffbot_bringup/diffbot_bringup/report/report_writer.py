"""The end of a run: the final table, the pictures and summary.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType

from diffbot_bringup.report.confidence import (
    confidence_entries,
    confidence_notes,
    verification_entry,
    verification_state,
)
from diffbot_bringup.report.drawing import Drawing
from diffbot_bringup.report.handover import hand_over, headline
from diffbot_bringup.report.physical import meanings, physical_quantities
from diffbot_bringup.report.quantity import Quantity, friction_quantities, parameter_quantities
from diffbot_bringup.report.recording import IdentRecording
from diffbot_bringup.report.run_end import Ending
from diffbot_bringup.report.summary import RunDescription, summary
from diffbot_bringup.report.table import parameter_table, state_notes
from diffbot_description import RobotModel


class ReportWriter:
    """Shows and saves what a run found.

    Args:
        run: what is run.
        model: the robot's description, for masses and inertias.
        directory: where the files go; exists.
        console: where the table goes.
        drawing: makes the pictures.
    """

    def __init__(
        self,
        run: RunDescription,
        model: RobotModel,
        directory: Path,
        console: Console,
        drawing: Drawing,
    ) -> None:
        self._run = run
        self._model = model
        self._directory = directory
        self._console = console
        self._drawing = drawing

    def table(self, recording: IdentRecording, title: str = "") -> RenderableType:
        """The parameters as they are now."""
        sample = recording.latest
        parameters = self._parameters(recording)
        phrases = meanings(parameters, physical_quantities(sample, self._model))
        notes = confidence_notes(sample, recording.verification)
        return parameter_table(
            parameters,
            phrases,
            title,
            [*state_notes(parameters), *notes],
            self._console.width,
            tuple(friction_quantities(sample).values()),
        )

    def write(
        self, recording: IdentRecording, ending: Ending, factor: float | None, deadline: float
    ) -> bool:
        """Print the final table, write the files and print their paths; whether all were written.

        Args:
            recording: the run.
            ending: how it ended.
            factor: robot time over wall time; None where unknown.
            deadline: time.monotonic() after which no further picture is begun, s.
        """
        recording.finish()
        missing = recording.missing()
        if not recording.has_last:
            recording.latest = None  # no figure rests on one that is not the last
        parameters = self._parameters(recording)
        drawn = len(recording.motion()[0]) > 0
        return hand_over(
            self._console,
            self.table(recording, headline(self._run, recording.elapsed, ending)),
            self._summary(recording, ending, factor, parameters, missing),
            self._directory,
            self._drawing.draw(recording, parameters, self._run.setting, self._directory, deadline)
            if drawn
            else iter(()),
            lambda: self._drawing.problem if drawn else "nothing was recorded",
            missing,
            lambda: self._drawing.unwritten,
        )

    def _parameters(self, recording: IdentRecording) -> tuple[Quantity, ...]:
        return parameter_quantities(recording.latest, recording.last_truth())

    def _summary(
        self,
        recording: IdentRecording,
        ending: Ending,
        factor: float | None,
        parameters: tuple[Quantity, ...],
        missing: list[str],
    ) -> dict[str, Any]:
        sample, status, verification = recording.latest, recording.status, recording.verification
        more: dict[str, Any] = {}
        if sample is not None:
            more |= confidence_entries(sample)
        if status is not None:
            achieved, predicted = status.information
            more["information"] = {"achieved": achieved, "predicted": predicted}
            more["arena"] = status.arena
            more["guarded"] = status.guarded
            more["refused"] = status.refused
        return summary(
            self._run,
            ending,
            recording.elapsed,
            factor,
            parameters,
            physical_quantities(sample, self._model, recording.last_truth()),
            friction_quantities(sample),
            verification_entry(verification_state(sample, verification), verification),
            more,
            missing,
        )
