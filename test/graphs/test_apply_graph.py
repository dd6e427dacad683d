# SPDX-License-Identifier: Apache-2.0
"""`diffbot apply` and stand-ins of controllers with the parameters of ros2_controllers."""

import io
import math
from contextlib import ExitStack

import pytest
import yaml

rclpy = pytest.importorskip("rclpy")

from nav_msgs.msg import Odometry  # noqa: E402
from rcl_interfaces.msg import (  # noqa: E402
    FloatingPointRange,
    ParameterDescriptor,
    SetParametersResult,
)
from stand_in_robot import StandIn  # noqa: E402

from diffbot_bringup import cli  # noqa: E402
from diffbot_check import apply_command  # noqa: E402
from diffbot_check.parameter_graph import ParameterGraph  # noqa: E402

BASE, PID = "diffbot_base_controller", "left_wheel_pid"
TRACK, LEFT = "wheel_separation_multiplier", "left_wheel_radius_multiplier"
P = "gains.left_wheel_joint.p"
# As diff_drive_controller 4.42 declares them.
OWN = {
    "left_wheel_names": ["left_wheel_joint"],
    "wheel_radius": 0.1,
    "wheel_separation": 0.4,
    LEFT: 1.0,
    TRACK: 1.0,
    "linear.x.max_velocity": math.nan,
}
FILE = {BASE: {LEFT: 0.99, TRACK: 1.02, "linear.x.max_velocity": 0.7}}


def controller(values, read_only=(), faulty=""):
    """Makes a node with these parameters; `faulty`: why it refuses what it is given."""

    def make(robot):
        for name, value in values.items():
            about = ParameterDescriptor(read_only=name in read_only)
            if name == P:
                about.floating_point_range = [FloatingPointRange(from_value=0.0, to_value=10.0)]
            robot.node.declare_parameter(name, value, about)
        if faulty:
            robot.node.add_on_set_parameters_callback(
                lambda _: SetParametersResult(successful=False, reason=faulty)
            )

    return make


@pytest.fixture
def robot(domain):
    """Starts nodes, and joint states of wheels that stand."""
    with ExitStack() as stack:

        def start(joints=lambda robot: robot.joint_states(), **nodes):
            stack.enter_context(StandIn(joints))
            return {
                name: stack.enter_context(StandIn(make, name)).node for name, make in nodes.items()
            }

        yield start


@pytest.fixture
def apply(tmp_path, capsys, monkeypatch):
    """Applies a file's values; returns the exit status and what was said."""
    path = tmp_path / "ros2_control.yaml"
    monkeypatch.setattr(apply_command, "PATIENCE", 4.0)

    def run(*words, file=FILE, answers=()):
        content = {name: {"ros__parameters": values} for name, values in file.items()}
        path.write_text(yaml.safe_dump(content))
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{each}\n" for each in answers)))
        named = [] if "--back" in words else [str(path)]
        status = cli.main(["apply", *named, *words])
        said = capsys.readouterr()
        return status, said.out + said.err

    return run


def values(node, *names):
    return [node.get_parameter(name).value for name in names]


def kept(tmp_path):
    return sorted(tmp_path.glob("ros2_control_before_*.yaml"))


@pytest.mark.full_speed
def test_values_are_shown_set_read_back_and_taken_back(robot, apply, tmp_path):
    node = robot(**{BASE: controller(OWN)})[BASE]
    status, said = apply(answers=["yes"])
    assert status == 0, said
    assert f"{TRACK}: 1.0 -> 1.02" in said and "3 set, and read back" in said
    assert "configure_controller" in said
    assert values(node, LEFT, TRACK, "linear.x.max_velocity") == [0.99, 1.02, 0.7]
    (before,) = kept(tmp_path)
    status, said = apply("--back", "--yes", str(before))
    assert status == 0, said
    assert values(node, LEFT, TRACK) == [1.0, 1.0]
    assert math.isnan(*values(node, "linear.x.max_velocity"))


@pytest.mark.full_speed
@pytest.mark.parametrize("answers", [[], ["y"]])
def test_without_agreement_nothing_is_set(robot, apply, tmp_path, answers):
    node = robot(**{BASE: controller(OWN)})[BASE]
    status, said = apply(answers=answers)
    assert status == 1 and "Nothing was set" in said
    assert values(node, TRACK) == [1.0] and not kept(tmp_path)


@pytest.mark.full_speed
def test_a_large_change_is_asked_for_by_its_name(robot, apply):
    node = robot(**{BASE: controller(OWN)})[BASE]
    file = {BASE: {TRACK: 1.3}}
    assert apply("--yes", file=file)[0] == 1
    assert apply(file=file, answers=["yes", "yes"])[0] == 1
    assert values(node, TRACK) == [1.0]
    assert apply(file=file, answers=["yes", TRACK])[0] == 0
    assert values(node, TRACK) == [1.3]


@pytest.mark.full_speed
@pytest.mark.parametrize("topic", ["joint_states", "odom", "none"])
def test_nothing_is_set_unless_the_robot_is_seen_to_stand(robot, apply, tmp_path, topic):
    def moving(driver):
        if topic == "joint_states":
            driver.joint_states(change=lambda m, now: m.position.__setitem__(0, now % 1000.0))
        elif topic == "odom":
            driver.joint_states()
            message = Odometry()
            message.twist.twist.angular.z = 0.1
            driver.publishes(Odometry, "odom", twist=message.twist)

    node = robot(moving, **{BASE: controller(OWN)})[BASE]
    status, said = apply("--yes")
    assert status == 1 and "Nothing was set" in said
    assert ("nothing says whether the robot stands" if topic == "none" else topic) in said
    assert values(node, TRACK) == [1.0] and not kept(tmp_path)


@pytest.mark.full_speed
def test_what_a_node_refuses_is_said_and_the_rest_only_set_by_a_person(robot, apply):
    """As of ros2_controllers 6.7.0 lengths are read-only."""
    lengths = ("wheel_radius", "wheel_separation", LEFT, TRACK)
    node = robot(**{BASE: controller(OWN, read_only=lengths)})[BASE]
    status, said = apply("--yes")
    assert status == 1 and "read-only: write it into" in said and "without --yes" in said
    assert math.isnan(*values(node, "linear.x.max_velocity"))
    status, said = apply(answers=["yes"])
    assert status == 1 and ": 1 set, and read back" in said
    assert values(node, TRACK, "linear.x.max_velocity") == [1.0, 0.7]


@pytest.mark.full_speed
def test_a_node_that_refuses_leaves_all_nodes_as_they_were(robot, apply, tmp_path):
    nodes = robot(**{BASE: controller(OWN), PID: controller({P: 1.0}, faulty="out of spite")})
    status, said = apply("--yes", file={**FILE, PID: {P: 1.5}})
    assert status == 1 and "out of spite" in said
    assert values(nodes[BASE], TRACK) == [1.0] and values(nodes[PID], P) == [1.0]
    assert len(kept(tmp_path)) == 1


@pytest.mark.full_speed
def test_a_node_that_forgets_what_it_accepted_is_named(robot, apply, monkeypatch):
    robot(**{BASE: controller(OWN)})
    monkeypatch.setattr(ParameterGraph, "set", lambda *_: None)
    status, said = apply("--yes")
    assert status == 1 and "is 1.0 and not 0.99: but the node has accepted it" in said


@pytest.mark.full_speed
def test_a_value_that_another_changes_meanwhile_is_not_overwritten(robot, apply, monkeypatch):
    node = robot(**{BASE: controller(OWN)})[BASE]

    def answer(*_):
        node.set_parameters([rclpy.parameter.Parameter(TRACK, value=1.1)])
        return "yes"

    monkeypatch.setattr(apply_command, "_answer", answer)
    status, said = apply()
    assert status == 2 and "has changed meanwhile" in said
    assert values(node, LEFT, TRACK) == [1.0, 1.1]


@pytest.mark.full_speed
def test_a_file_for_any_node_finds_the_one_that_has_its_parameters(robot, apply):
    nodes = robot(**{"my_base": controller(OWN), PID: controller({P: 1.0})})
    assert apply("--yes", file={"/**": {TRACK: 1.01}})[0] == 0
    assert values(nodes["my_base"], TRACK) == [1.01]
    status, said = apply("--yes")
    assert status == 2 and f"{BASE}: no such node is running" in said
    status, said = apply("--yes", "--node", f"{BASE}:=my_base")
    assert status == 0, said
    assert values(nodes["my_base"], TRACK) == [1.02]
    status, said = apply("--yes", "--node", "my_base", file={"/**": {P: 2.0, "no": 1.0}})
    assert status == 1 and "another version, or another node?" in said
    status, said = apply("--yes", "--node", PID, file={"/**": {P: 11.0}})
    assert status == 1 and "must be 0 to 10" in said


@pytest.mark.full_speed
def test_without_a_node_and_with_another_file_it_says_so(domain, apply, tmp_path):
    assert "is the robot started?" in apply()[1]
    assert apply("--back", str(tmp_path / "ros2_control.yaml"))[0] == 2
