"""Files of settings hold no value that is a node's default anyway."""

from pathlib import Path

import pytest
import yaml

pytest.importorskip("rclpy")

from diffbot_bringup.xml_launch.document import read
from diffbot_controllers.nodes import backstep_node, linearizing_node, pose_node
from diffbot_controllers.nodes.controller_node import CONTROLLER_PARAMETERS
from diffbot_controllers.velocity_tracking.velocity_tracking_node import (
    TRACKING_PARAMETERS,
)
from diffbot_ident import ident_node
from diffbot_node import EFFORT_PARAMETERS
from pose2d_trajectories import trajectory_node as velocity_steps_node
from pose2d_trajectories.paced_node import pace_parameters
from pose2d_trajectories.trajectory_node import TRAJECTORY_PARAMETERS

ROOT = Path(__file__).resolve().parents[2]
CONTROLLER = (*EFFORT_PARAMETERS, *CONTROLLER_PARAMETERS)
PARAMETERS = {
    "ident": (*EFFORT_PARAMETERS, *ident_node.PARAMETERS),
    "backstep_controller": (*CONTROLLER, *backstep_node.PARAMETERS),
    "linearizing_controller": (*CONTROLLER, *linearizing_node.PARAMETERS),
    "pose_controller": (
        *CONTROLLER,
        *pose_node.POSE_PARAMETERS,
        *linearizing_node.LOOP_PARAMETERS,
    ),
    "velocity_tracking_controller": TRACKING_PARAMETERS,
    "trajectory_publisher": (*TRAJECTORY_PARAMETERS, *pace_parameters()),
    "velocity_steps": velocity_steps_node.PARAMETERS,
}


def read_by():
    """The nodes that launch files give each file of settings to."""
    found = {}

    def visit(element):
        for param in element.all("param"):
            name = Path(param.attributes.get("from", "")).name
            if name:
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
    tables = [
        {parameter.name: parameter for parameter in PARAMETERS[node]} for node in READ_BY[path.name]
    ]
    for name, value in settings_of(path).items():
        defaults = [table[name].default for table in tables if name in table]
        assert defaults, f"no node has {name}"
        assert any(default != value for default in defaults), f"{name} = {value} is the default"
