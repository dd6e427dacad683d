"""The end of a driving run: the final table, summary.json, pictures and animation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from diffbot_bringup.drive_report.adaptation_results import adaptation_keys, changes_of
from diffbot_bringup.drive_report.drive_drawing import DriveDrawing
from diffbot_bringup.drive_report.drive_recording import DriveRecording
from diffbot_bringup.drive_report.drive_results import controller_keys, drive_keys, drive_results
from diffbot_bringup.drive_report.drive_table import results_table
from diffbot_bringup.report.handover import hand_over, headline
from diffbot_bringup.report.run_end import Ending
from diffbot_bringup.report.summary import RunDescription, run_summary


class DriveWriter:
    """Shows and saves what a run found.

    Args:
        run: what is run.
        node: name of the controller's node.
        directory: where the files go; exists.
        console: where the table goes.
        drawing: makes the pictures.
    """

    def __init__(
        self,
        run: RunDescription,
        node: str,
        directory: Path,
        console: Console,
        drawing: DriveDrawing,
    ) -> None:
        self._run = run
        self._node = node
        self._directory = directory
        self._console = console
        self._drawing = drawing

    def write(
        self,
        recording: DriveRecording,
        gains: Mapping[str, Any],
        ending: Ending,
        factor: float | None,
        deadline: float,
    ) -> bool:
        """Print the final table, write the files and print their paths; whether all were written.

        Args:
            recording: the run.
            gains: of the law.
            ending: how it ended.
            factor: robot time over wall time; None where unknown.
            deadline: time.monotonic() after which no further picture is begun, s.
        """
        run, missing = recording.run(), recording.missing()
        results = drive_results(run, recording)
        lived = recording.adaptation_run()
        changes = changes_of(run, lived, results.metrics.window)
        keys = drive_keys(results, controller_keys(self._node, recording, gains))
        names = recording.fields.commanded.parameters
        content = run_summary(
            self._run,
            ending,
            recording.elapsed,
            factor,
            {**keys, "adaptation": adaptation_keys(lived, changes, names)},
            _counts(recording),
            missing,
        )
        drawn = len(run) > 1
        title = headline(self._run, recording.elapsed, ending)
        return hand_over(
            self._console,
            results_table(results, recording, title) if len(run) else Text(title),
            content,
            self._directory,
            self._drawing.draw(run, recording, self._run, self._directory, deadline)
            if drawn
            else iter(()),
            lambda: self._drawing.problem if drawn else "nothing was recorded",
            missing,
            lambda: self._drawing.unwritten,
        )


def _told_poses(recording: DriveRecording) -> int:
    """True poses that belong to a sample; a simulator goes on until it is left alone."""
    truth, status = recording.truth, recording.status
    if not len(status):
        return 0
    return int(np.isin(truth.stamps, status.stamps).sum()) * truth.every


def _counts(recording: DriveRecording) -> dict[str, int]:
    """How much the figures rest on."""
    return {
        "samples": recording.status.taken,
        "samples_true": _told_poses(recording),
        "kept_one_in": recording.status.every,
        "refused": recording.state.refused if recording.state else 0,
    }
