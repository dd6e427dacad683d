# SPDX-License-Identifier: Apache-2.0
"""`diffbot simulate ident` of a torque robot: run it, and write what the launch would."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from diffbot_description import load_robot
from diffbot_description.suite_version import suite_version
from diffbot_ident.parameter_writer import export_results
from diffbot_report.display import say
from diffbot_report.ident_findings import identification_findings
from diffbot_report.ident_recording import IdentRecording
from diffbot_report.ident_results import identification_table
from diffbot_report.run_end import Ending, Outcome
from diffbot_study.run_arguments import read_arguments
from diffbot_study.run_report import RunReport
from diffbot_study.torque_run import COLUMNS, JOINT_STATES, TorqueRun, TorqueRunArguments


def simulate_torque_ident(words: Sequence[str]) -> int:
    """Run with arguments NAME:=VALUE; return the exit status. Raises ValueError."""
    arguments = read_arguments(TorqueRunArguments, words)
    robot = load_robot(arguments.robot)
    run = TorqueRun(arguments, robot)
    report = RunReport("ident", arguments, robot, "diffbot_report.ident_figures")
    console, model = report.console, robot.model

    def show(recording: IdentRecording) -> None:
        table = identification_table(recording, model, console.width)
        report.show(recording.elapsed, arguments.duration, table)

    outcome = Outcome.COMPLETED
    try:
        run.execute(show)
    except KeyboardInterrupt:
        outcome = Outcome.STOPPED
        run.stop("interrupted")
    finally:
        report.close()
    report.save_table(JOINT_STATES, COLUMNS, run.joint_states)
    course = run.course
    export = export_results(
        report.folder,
        robot,
        course.estimate,
        date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        version=suite_version(),
        seconds=course.excited,
        verification=course.verified,
    )
    for path in export.paths:
        say(console, str(path))
    if export.refusal is not None:
        say(console, export.refusal)
    if course.problem and outcome is Outcome.COMPLETED:
        outcome = Outcome.FAILED
    findings = identification_findings(run.recording, robot, console.width, report.run.setting)
    return report.write(findings, Ending(outcome, course.problem or ""))
