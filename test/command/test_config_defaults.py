# SPDX-License-Identifier: Apache-2.0
"""Files of settings hold no value that is a node's default anyway."""

from pathlib import Path

import pytest
import yaml

pytest.importorskip("rclpy")

from diffbot_calibration.calibrate_node import CalibrateParameters
from diffbot_controllers.nodes.backstep_node import BackstepParameters
from diffbot_controllers.nodes.linearizing_node import LinearizingParameters
from diffbot_controllers.nodes.pose_node import PoseParameters
from diffbot_controllers.velocity_tracking.velocity_tracking_node import TrackingParameters
from diffbot_ident.estimator_node import EstimatorParameters
from diffbot_ident.ident_node import IdentParameters
from diffbot_node.effort_watchdog_node import WatchdogParameters
from diffbot_node.parameters import table
from diffbot_recordings.recorder_node import RecorderParameters
from diffbot_report.drive_report_node import DriveReportParameters
from diffbot_report.ident_report_node import IdentReportParameters
from diffbot_sim.gz.gz_simulator_node import GzParameters
from diffbot_sim.gz.ros2_control_simulator_node import Ros2ControlParameters
from diffbot_sim.simulator_node import EngineParameters
from diffbot_sim.velocity_simulator_node import VelocitySimulatorParameters
from pose2d_trajectories.pose_nodes import PoseStepParameters
from pose2d_trajectories.trajectory_node import TrajectoryParameters, VelocityStepsParameters

ROOT = Path(__file__).resolve().parents[2]
PARAMETERS = {
    "ident": IdentParameters,
    "backstep_controller": BackstepParameters,
    "linearizing_controller": LinearizingParameters,
    "pose_controller": PoseParameters,
    "velocity_tracking_controller": TrackingParameters,
    "trajectory_publisher": TrajectoryParameters,
    "velocity_steps": VelocityStepsParameters,
    "simulator": EngineParameters,
    "velocity_simulator": VelocitySimulatorParameters,
}
NODES = {
    **{name: (kind,) for name, kind in PARAMETERS.items()},
    "simulator": (EngineParameters, GzParameters, Ros2ControlParameters),
    "ident_report": (IdentReportParameters,),
    "drive_report": (DriveReportParameters,),
    "calibrate_node": (CalibrateParameters,),
    "recorder": (RecorderParameters,),
    "pose_step": (PoseStepParameters,),
    "effort_watchdog": (WatchdogParameters,),
    "dynamics_estimator": (EstimatorParameters,),
}


def settings_of(path):
    """What a file gives to all nodes that know it."""
    content = yaml.safe_load(path.read_text().replace("$(var", "(var"))
    return content.get("/**", {}).get("ros__parameters") if isinstance(content, dict) else None


FILES = [path for path in sorted((ROOT / "config").glob("*.yaml")) if settings_of(path)]


def test_the_files_are_those_that_launch_files_read():
    texts = "".join(path.read_text() for path in (ROOT / "launch").glob("*.launch.xml"))
    assert FILES and all(f"config/{path.name}" in texts for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_value_is_the_default_of_all_nodes_that_know_it(path):
    for name, value in settings_of(path).items():
        # A field's default is the attribute of the class.
        defaults = [getattr(table, name) for table in PARAMETERS.values() if hasattr(table, name)]
        assert defaults, f"no node has {name}"
        assert any(default != value for default in defaults), f"{name} = {value} is the default"


def nodes_of(path):
    """The nodes that a file has parameters for, and these."""
    content = yaml.safe_load(path.read_text().replace("$(var", "(var"))
    return {
        name.removeprefix("/**/"): values["ros__parameters"]
        for name, values in (content if isinstance(content, dict) else {}).items()
        if name.startswith("/**/")
    }


BY_NODE = [path for path in sorted((ROOT / "config").glob("*.yaml")) if nodes_of(path)]


@pytest.mark.parametrize("path", BY_NODE, ids=lambda path: path.name)
def test_nodes_have_the_parameters_that_are_given_to_them(path):
    for node, values in nodes_of(path).items():
        if node == "nobody":
            continue
        known = set().union(*({each.name for each in table(kind)} for kind in NODES[node]))
        assert set(values) - {"use_sim_time"} <= known, node
