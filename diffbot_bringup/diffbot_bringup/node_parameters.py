# SPDX-License-Identifier: Apache-2.0
"""Tables of the parameters of the nodes that the launch files start, by the nodes' names."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from diffbot_bringup.usage import suggestion
from diffbot_node.parameter_fields import Parameter, table
from diffbot_node.parameters import OF_ROS

# Executables, and the classes of their parameters.
PARAMETERS = {
    "ident": "diffbot_ident.ident_node:IdentParameters",
    "velocity_ident": "diffbot_ident.velocity_ident_node:VelocityIdentParameters",
    "dynamics_estimator": "diffbot_ident.estimator_node:EstimatorParameters",
    "calibrate_node": "diffbot_calibration.calibrate_node:CalibrateParameters",
    "backstep_controller": "diffbot_controllers.nodes.backstep_node:BackstepParameters",
    "pose_controller": "diffbot_controllers.nodes.pose_node:PoseParameters",
    "linearizing_controller": "diffbot_controllers.nodes.linearizing_node:LinearizingParameters",
    "velocity_tracking_controller": (
        "diffbot_controllers.velocity_tracking.velocity_tracking_node:TrackingParameters"
    ),
    "effort_watchdog": "diffbot_node.effort_watchdog_node:WatchdogParameters",
    "trajectory_publisher": "pose2d_trajectories.trajectory_node:TrajectoryParameters",
    "velocity_steps": "pose2d_trajectories.trajectory_node:VelocityStepsParameters",
    "pose_step": "pose2d_trajectories.pose_nodes:PoseStepParameters",
    "pose2d_to_pose_stamped": "pose2d_trajectories.pose_nodes:PoseStampedParameters",
    "odometry_publisher": "arc_odometry.odometry_node:OdometryParameters",
    "simulator": "diffbot_sim.simulator_node:EngineParameters",
    "velocity_simulator": "diffbot_sim.velocity_simulator_node:VelocitySimulatorParameters",
    "gz_simulator": "diffbot_sim.gz.gz_simulator_node:GzParameters",
    "ros2_control_simulator": "diffbot_sim.gz.external_simulator:Ros2ControlParameters",
    "fault_injector": "diffbot_sim.faults.fault_injector_node:FaultInjectorParameters",
    "ident_report": "diffbot_report.ident_report_node:IdentReportParameters",
    "velocity_ident_report": (
        "diffbot_recordings.velocity_ident_report_node:VelocityIdentReportParameters"
    ),
    "drive_report": "diffbot_report.drive_report_node:DriveReportParameters",
    "recorder": "diffbot_recordings.recorder_node:RecorderParameters",
    "live_view": "diffbot_view.live_view_node:LiveViewParameters",
    "learn": "diffbot_learning.learn_node:LearnParameters",
}
# Executables of the nodes of other names, of which a launch starts one.
EXECUTABLES = {
    "_live_view": ("live_view",),
    "simulator": ("simulator", "gz_simulator", "ros2_control_simulator"),
}


def table_of(executable: str) -> type[Any]:
    """Return the class of an executable's parameters."""
    module, _, name = PARAMETERS[executable].partition(":")
    kind: type[Any] = getattr(import_module(module), name)
    return kind


@cache
def parameters_of(node: str) -> dict[str, Parameter]:
    """Return the parameters of a node, by name."""
    result: dict[str, Parameter] = {}
    for executable in reversed(EXECUTABLES.get(node, (node,))):
        result.update({each.name: each for each in table(table_of(executable))})
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
