# SPDX-License-Identifier: Apache-2.0
"""Tables of the parameters of the nodes that the launch files start, by the nodes' names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

from diffbot_bringup.usage import suggestion
from diffbot_node.parameter_fields import Parameter, table
from diffbot_node.parameters import OF_ROS

# A node's name may stand for several executables, of which a launch starts one.
TABLES: dict[str, tuple[str, ...]] = {
    "_live_view": ("diffbot_view.live_view_node:LiveViewParameters",),
    "backstep_controller": ("diffbot_controllers.nodes.backstep_node:BackstepParameters",),
    "calibrate_node": ("diffbot_calibration.calibrate_node:CalibrateParameters",),
    "drive_report": ("diffbot_report.drive_report_node:DriveReportParameters",),
    "dynamics_estimator": ("diffbot_ident.estimator_node:EstimatorParameters",),
    "effort_watchdog": ("diffbot_node.effort_watchdog_node:WatchdogParameters",),
    "ident": ("diffbot_ident.ident_node:IdentParameters",),
    "ident_report": ("diffbot_report.ident_report_node:IdentReportParameters",),
    "learn": ("diffbot_learning.learn_node:LearnParameters",),
    "linearizing_controller": ("diffbot_controllers.nodes.linearizing_node:LinearizingParameters",),
    "pose_controller": ("diffbot_controllers.nodes.pose_node:PoseParameters",),
    "pose_step": ("pose2d_trajectories.pose_nodes:PoseStepParameters",),
    "recorder": ("diffbot_recordings.recorder_node:RecorderParameters",),
    "simulator": (
        "diffbot_sim.simulator_node:EngineParameters",
        "diffbot_sim.gz.gz_simulator_node:GzParameters",
        "diffbot_sim.gz.external_simulator:Ros2ControlParameters",
    ),
    "trajectory_publisher": ("pose2d_trajectories.trajectory_node:TrajectoryParameters",),
    "velocity_ident": ("diffbot_ident.velocity_ident_node:VelocityIdentParameters",),
    "velocity_ident_report": (
        "diffbot_recordings.velocity_ident_report_node:VelocityIdentReportParameters",
    ),
    "velocity_simulator": ("diffbot_sim.velocity_simulator_node:VelocitySimulatorParameters",),
    "velocity_steps": ("pose2d_trajectories.trajectory_node:VelocityStepsParameters",),
    "velocity_tracking_controller": (
        "diffbot_controllers.velocity_tracking.velocity_tracking_node:TrackingParameters",
    ),
}


@cache
def parameters_of(node: str) -> dict[str, Parameter]:
    """Return the parameters of a node, by name."""
    result: dict[str, Parameter] = {}
    for place in reversed(TABLES[node]):
        module, _, name = place.partition(":")
        rows: Sequence[Any] = table(getattr(import_module(module), name))
        result.update({each.name: each for each in rows})
    return result


def has_parameter(node: str, name: str) -> bool:
    """Whether a node has a parameter of this name."""
    return name in parameters_of(node)


def check_parameter(node: str, name: str, value: Any) -> None:
    """Raise ValueError when a node has no such parameter, or not with this value."""
    known = parameters_of(node)
    if name.startswith(OF_ROS):
        return
    if name not in known:
        raise ValueError(f"{node} has no parameter '{name}'{suggestion(name, known)}")
    try:
        known[name].check(value)
    except ValueError as error:
        raise ValueError(f"{node}: {error}") from None
