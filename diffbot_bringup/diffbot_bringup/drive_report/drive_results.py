"""What a driving run found, and how summary.json says it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from diffbot_bringup.drive_report.controller_sample import ControllerSample
from diffbot_bringup.drive_report.drive_run import DriveRun
from diffbot_bringup.drive_report.tracking_metrics import DriveMetrics, drive_metrics
from diffbot_bringup.drive_report.velocity_steps import VelocityStep, velocity_steps


@dataclass(frozen=True)
class DriveResults:
    """Results of a run.

    Attributes:
        metrics: tracking and speeds.
        steps: responses to steps of the velocity's set point; empty where poses are followed.
        peak_torque: largest |torque| of a wheel that was commanded, N m.
    """

    metrics: DriveMetrics
    steps: Sequence[VelocityStep]
    peak_torque: float


def drive_results(run: DriveRun, peak_torque: float) -> DriveResults:
    """Judge a run.

    Args:
        run: may be empty.
        peak_torque: N m.
    """
    steps = [] if run.has_pose_reference else velocity_steps(run)
    return DriveResults(drive_metrics(run), steps, peak_torque)


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
        "peak_speed": metrics.peak_speed,
        "peak_yaw_rate": metrics.peak_yaw_rate,
        "controller": dict(controller),
    }


def controller_keys(
    node: str, state: ControllerSample | None, gains: Mapping[str, Any]
) -> dict[str, Any]:
    """What was in control, for summary.json.

    Args:
        node: name of the controller's node.
        state: its last; None when it said nothing.
        gains: of the law.
    """
    if state is None:
        return {"node": node, "law": None, "gains": dict(gains), "parameters": None}
    names = ("K5", "K6", "K7", "K8")
    return {
        "node": node,
        "law": state.law,
        "gains": dict(gains),
        "parameters": {
            **dict(zip(names, state.parameters, strict=True)),
            "source": state.parameters_source,
        },
        "torque_limit": state.torque_limit if math.isfinite(state.torque_limit) else None,
    }
