# SPDX-License-Identifier: Apache-2.0
"""What a driving run leaves behind: table, summary.json, pictures and page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

from diffbot_description import Robot
from diffbot_report.drawing import Picture
from diffbot_report.drive_recording import DriveRecording
from diffbot_report.drive_results import controller_keys, drive_keys, drive_results, results_table
from diffbot_report.page import Page
from diffbot_report.summary import RunDescription, RunFindings


def drive_findings(
    recording: DriveRecording,
    about: RunDescription,
    node: str,
    gains: Mapping[str, Any],
    robot: Robot,
    animation: bool = True,
) -> RunFindings:
    """Return the findings of a run at its end; `node` is the controller's."""
    results, state = drive_results(recording), recording.state
    # A simulator continues for a while.
    stamps, truth = recording.status.stamps, recording.truth
    law = f", {results.law}" if results.law else ""

    def pictures() -> Sequence[Picture]:
        from diffbot_report.drive_figures import drive_pictures  # loaded in the background

        title = f"{about.name}{law} ({about.setting})"
        return drive_pictures(results, robot, title, animation)

    def page(description: RunDescription, folder: Path, summary: Mapping[str, Any]) -> Page:
        from diffbot_report.drive_page import drive_page

        return drive_page(results, robot, description, folder, summary)

    return RunFindings(
        duration=recording.elapsed,
        table=lambda title: results_table(results, title) if len(results.run) else Text(title),
        results=drive_keys(results, controller_keys(node, results, gains)),
        more={
            "samples": recording.status.taken,
            "samples_true": int(np.isin(truth.stamps, stamps).sum()) * truth.every,
            "kept_one_in": recording.status.every,
            "refused": state.refused if state else 0,
        },
        missing=recording.missing(),
        pictures=pictures if len(results.run) > 1 else None,
        page=page,
    )
