# SPDX-License-Identifier: Apache-2.0
"""Files of settings hold no value that is a node's default anyway."""

from pathlib import Path

import pytest
import yaml

pytest.importorskip("rclpy")

from diffbot_bringup.xml_launch.document import read
from diffbot_controllers.nodes.backstep_node import BackstepParameters
from diffbot_controllers.nodes.linearizing_node import LinearizingParameters
from diffbot_controllers.nodes.pose_node import PoseParameters
from diffbot_controllers.velocity_tracking.velocity_tracking_node import TrackingParameters
from diffbot_ident.ident_node import IdentParameters
from diffbot_sim.simulator_node import EngineParameters
from diffbot_sim.velocity_simulator_node import VelocitySimulatorParameters
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


def read_by():
    """The nodes that launch files give each file of settings to."""
    found = {}

    def visit(element):
        for param in element.all("param"):
            name = Path(param.attributes.get("from", "")).name
            if name.endswith(".yaml"):  # a variable is a file of the user
                found.setdefault(name, set()).add(element.attributes["exec"])
        for child in element.children:
            visit(child)

    for path in (ROOT / "launch").glob("*.launch.xml"):
        visit(read(path).root)
    return found


READ_BY = read_by()


def settings_of(path):
    content = yaml.safe_load(path.read_text())
    return content.get("/**", {}).get("ros__parameters") if isinstance(content, dict) else None


FILES = [path for path in sorted((ROOT / "config").glob("*.yaml")) if settings_of(path)]


def test_the_files_are_those_that_launch_files_read():
    assert {path.name for path in FILES} == READ_BY.keys()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_value_is_the_default_of_all_nodes_that_read_it(path):
    tables = [PARAMETERS[node] for node in READ_BY[path.name]]
    for name, value in settings_of(path).items():
        # A field's default is the attribute of the class.
        defaults = [getattr(table, name) for table in tables if hasattr(table, name)]
        assert defaults, f"no node has {name}"
        assert any(default != value for default in defaults), f"{name} = {value} is the default"
