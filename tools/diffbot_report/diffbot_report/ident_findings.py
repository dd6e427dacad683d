# SPDX-License-Identifier: Apache-2.0
"""What an identification leaves behind: table, summary.json, pictures and page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from diffbot_description import Robot
from diffbot_report.drawing import Picture
from diffbot_report.friction_effect import FrictionEffect
from diffbot_report.ident_recording import IdentRecording
from diffbot_report.ident_results import confidence_keys, identification_keys, identification_table
from diffbot_report.page import Page
from diffbot_report.quantity import friction_quantities, parameter_quantities, physical_quantities
from diffbot_report.summary import RunDescription, RunFindings


def identification_findings(
    recording: IdentRecording, robot: Robot, width: int, setting: str
) -> RunFindings:
    """Return the findings of a complete run; the table has `width` columns."""
    recording.finish()
    model = robot.model
    missing = recording.missing()
    if not recording.has_last:
        recording.estimate = None  # no result may be based on an estimate that is not the last
    estimate, truth = recording.estimate, recording.true_parameters.last
    parameters = parameter_quantities(estimate, truth)
    more: dict[str, Any] = {} if estimate is None else confidence_keys(estimate)
    if effect := FrictionEffect.of(recording, model):
        more |= effect.keys()
    if state := recording.state:
        achieved, predicted = state.information
        more["information"] = {"achieved": achieved, "predicted": predicted}
        more |= {"arena": state.arena, "guarded": state.guarded, "refused": state.refused}

    def pictures() -> Sequence[Picture]:
        from diffbot_report.ident_figures import ident_pictures  # loaded in the background

        return ident_pictures(recording, parameters, setting)

    def page(run: RunDescription, folder: Path, summary: Mapping[str, Any]) -> Page:
        from diffbot_report.ident_page import ident_page

        return ident_page(recording, parameters, robot, run, folder, summary)

    return RunFindings(
        duration=recording.elapsed,
        table=lambda title: (
            identification_table(recording, robot, width, title)
            if len(recording.motion()[0])
            else Text(title)
        ),
        results=identification_keys(
            parameters,
            physical_quantities(estimate, model, truth),
            friction_quantities(estimate),
            recording.verdict,
            recording.verification,
        ),
        more=more,
        missing=missing,
        pictures=pictures if len(recording.motion()[0]) else None,
        page=page,
    )
