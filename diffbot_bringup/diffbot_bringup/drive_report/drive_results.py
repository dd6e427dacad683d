"""What a driving run found, and how summary.json says it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from diffbot_bringup.drive_report.controller_topics import TORQUE, VELOCITY
from diffbot_bringup.drive_report.drive_recording import DriveRecording
from diffbot_bringup.drive_report.drive_run import DriveRun
from diffbot_bringup.drive_report.sigma_results import sigma_keys
from diffbot_bringup.drive_report.tracking_metrics import DriveMetrics, drive_metrics
from diffbot_bringup.drive_report.velocity_steps import VelocityStep, velocity_steps


@dataclass(frozen=True)
class DriveResults:
    """Results of a run.

    Attributes:
        metrics: tracking and speeds.
        steps: responses to steps of the velocity's set point; empty where poses are followed.
        peak_command: largest size of both that was commanded: torques of the wheels, N m, or
            v and omega, m/s and rad/s; None where samples are missing.
        peak_torque: the larger one where they are torques and all are known, N m; else None.
    """

    metrics: DriveMetrics
    steps: Sequence[VelocityStep]
    peak_command: tuple[float, float] | None
    peak_torque: float | None


def drive_results(run: DriveRun, recording: DriveRecording) -> DriveResults:
    """Judge a run, which may be empty; the recording is its own."""
    steps = [] if run.has_pose_reference else velocity_steps(run)
    peaks = tuple(recording.peak_command.tolist()) if run.is_whole() else None
    peak_torque = recording.peak_torque if run.is_whole() else None
    return DriveResults(drive_metrics(run), steps, peaks, peak_torque)


def drive_keys(results: DriveResults, controller: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of summary.json that are a driving run's own; SI units."""
    metrics = results.metrics
    return {
        "tracking": {
            "true": asdict(metrics.true) if metrics.true else None,
            "odometry": asdict(metrics.odometry) if metrics.odometry else None,
            "window": asdict(metrics.window) if metrics.window else None,
        },
        "odometry_drift": asdict(metrics.drift) if metrics.drift else None,
        "steps": [asdict(step) for step in results.steps],
        "peak_torque": results.peak_torque,
        "peak_command": list(results.peak_command) if results.peak_command else [None, None],
        "peak_speed": metrics.peak_speed,
        "peak_yaw_rate": metrics.peak_yaw_rate,
        "controller": dict(controller),
    }


def controller_keys(
    node: str, recording: DriveRecording, gains: Mapping[str, Any]
) -> dict[str, Any]:
    """What was in control, for summary.json.

    Args:
        node: name of the controller's node.
        recording: of the run; the controller may have said nothing.
        gains: of the law.
    """
    state = recording.state
    if state is None:
        return {"node": node, "law": None, "gains": dict(gains), "parameters": None}
    keys = {"node": node, "law": state.law, "gains": dict(gains)}
    source = {"source": state.parameters_source}
    if recording.fields.commanded is VELOCITY:
        keys["parameters"] = {**sigma_keys(recording.run()), **source}
        keys["velocity_limits"] = list(recording.limits)
        return keys
    names = TORQUE.parameters
    keys["parameters"] = {**dict(zip(names, state.parameters, strict=True)), **source}
    keys["torque_limit"] = state.torque_limit if math.isfinite(state.torque_limit) else None
    return keys
