# SPDX-License-Identifier: Apache-2.0
"""The simulator node, with who drives it in one process or in real time."""

import math
import time

import pytest
import yaml

rclpy = pytest.importorskip("rclpy")

from nav_msgs.msg import Odometry  # noqa: E402
from one_process import Together  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

from diffbot_description.loading import share_directory  # noqa: E402
from diffbot_msgs.msg import DynamicParameters  # noqa: E402
from diffbot_msgs.srv import SetPayload  # noqa: E402
from diffbot_node.intra_process import Node  # noqa: E402
from diffbot_sim.simulator_node import SimulatorNode  # noqa: E402


class Driver(Together):
    """A simulator node, and somebody who drives it, in lock-step or in real time."""

    def __init__(self, *parameters, composed=True):
        words = ["--ros-args", "-p", "engine:=ideal", "-p", "encoder_counts:=0"]
        for parameter in parameters:
            words += ["-p", parameter]
        super().__init__(words, composed)
        self.simulator = self.add(SimulatorNode())
        self.node = self.add(Node("driver"))
        self.states, self.truths, self.poses = [], [], []
        latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.node.create_subscription(JointState, "joint_states", self.states.append, 10)
        self.node.create_subscription(
            DynamicParameters, "ground_truth/dynamic_parameters", self.truths.append, latched
        )
        self.node.create_subscription(Odometry, "ground_truth", self.poses.append, 10)
        self.commands = self.node.create_publisher(
            Float64MultiArray, "effort_controller/commands", 10
        )
        self.payload = self.node.create_client(SetPayload, "simulator/set_payload")
        self.spin(lambda: self.commands.get_subscription_count() and self.states and self.truths)

    def step(self, *torque):
        """Answer the newest state in lock-step and return the next one."""
        now = self.states[-1].header.stamp
        self.commands.publish(Float64MultiArray(data=torque))
        self.spin(lambda: self.states[-1].header.stamp != now)
        return self.states[-1]

    def set_payload(self, **fields):
        future = self.payload.call_async(SetPayload.Request(**fields))
        self.spin(future.done)
        return future.result()


@pytest.fixture
def make(domain):
    made = []

    def driver(*parameters, composed=True):
        made.append(Driver(*parameters, composed=composed))
        return made[-1]

    yield driver
    for each in made:
        each.close()


def test_lock_step_advances_one_period_per_command(make):
    driver = make()
    for count in range(1, 6):
        state = driver.step(0.4, 0.4)
        assert state.header.stamp.nanosec == count * 10_000_000
        assert list(state.effort) == [0.4, 0.4]
        # Constant torque from rest: the model gives v = 2 K7 tau t while omega = 0.
        speed = 2.0 * driver.truths[-1].k7 * 0.4 * 0.01 * count
        assert state.velocity[0] * 0.075 == pytest.approx(speed, rel=1e-9)
    # Unanswered it is said again, and nothing moves.
    count = len(driver.states)
    driver.spin(lambda: len(driver.states) >= count + 3)
    assert set(map(repr, driver.states[count:])) == {repr(state)}


@pytest.mark.parametrize("engine", ["ideal", "mujoco"])
def test_a_robot_with_two_wheels_on_each_side_moves_by_the_sum_of_their_torques(
    make, engine, tmp_path
):
    data = yaml.safe_load((share_directory() / "config" / "twil.yaml").read_text("utf-8"))
    names = ["front_left", "rear_left", "front_right", "rear_right"]
    data["joints"] = {"left": names[:2], "right": names[2:]}
    path = tmp_path / "robot.yaml"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    driver = make(f"robot:={path}", f"engine:={engine}")
    for count in range(1, 6):
        state = driver.step(0.1, 0.3, 0.2, 0.2)
        assert list(state.name) == names
        assert list(state.effort) == pytest.approx([0.2] * 4)
        speed = 2.0 * driver.truths[-1].k7 * 0.4 * 0.01 * count
        assert [s * 0.075 for s in state.velocity] == pytest.approx([speed] * 4, rel=0.02)
    moved = driver.states[-1].position
    assert moved[0] == moved[1] > 0.0 and moved[2] == moved[3] > 0.0
    # A command that is not one torque per joint leaves the last good one on.
    assert list(driver.step(0.0, 0.0).effort) == pytest.approx([0.2] * 4)


@pytest.mark.parametrize("engine", ["ideal", "mujoco"])
def test_joints_of_negative_sign_are_published_and_obeyed_so(make, engine, tmp_path):
    data = yaml.safe_load((share_directory() / "config" / "twil.yaml").read_text("utf-8"))
    data["joints"]["signs"] = [1, -1]
    path = tmp_path / "robot.yaml"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    driver = make(f"robot:={path}", f"engine:={engine}")
    for count in range(1, 6):
        state = driver.step(0.2, -0.2)
        assert list(state.effort) == pytest.approx([0.2, -0.2])
        speed = 2.0 * driver.truths[-1].k7 * 0.2 * 0.01 * count
        forward = [state.velocity[0] * 0.075, -state.velocity[1] * 0.075]
        assert forward == pytest.approx([speed] * 2, rel=0.02)
    moved = driver.states[-1].position
    assert moved[0] == pytest.approx(-moved[1]) and moved[0] > 0.0


def test_ground_truth_is_the_true_pose(make):
    driver = make("start:=1.0,-2.0,pi/6")
    driver.step(0.0, 0.0)
    driver.spin(lambda: driver.poses)
    pose = driver.poses[-1].pose.pose
    assert (pose.position.x, pose.position.y) == pytest.approx((1.0, -2.0))
    assert 2.0 * math.atan2(pose.orientation.z, pose.orientation.w) == pytest.approx(math.pi / 6.0)
    assert driver.poses[-1].header.frame_id == "odom"
    assert driver.poses[-1].child_frame_id == "base_link"


def test_payload_changes_the_truth_and_comes_off_again(make):
    driver = make()
    before = driver.truths[-1]
    assert driver.set_payload(mass=2.5, x=0.1, z=0.05, yaw_inertia=0.02).success
    driver.spin(lambda: len(driver.truths) == 2)
    loaded = driver.truths[-1]
    # 1 / (r K7) is the equivalent mass; a load at rest on the robot adds its own mass to it.
    assert 1.0 / loaded.k7 - 1.0 / before.k7 == pytest.approx(0.075 * 2.5)
    assert driver.set_payload(mass=0.0).success
    driver.spin(lambda: len(driver.truths) == 3)
    assert driver.truths[-1].k7 == before.k7


def test_a_payload_that_cannot_be_is_refused_with_the_reason(make):
    driver = make()
    answer = driver.set_payload(mass=-1.0)
    assert not answer.success and "mass = -1 kg" in answer.message
    assert len(driver.truths) == 1


@pytest.mark.parametrize("bad", [[math.nan, 0.0], [0.0], [0.1, 0.2, 0.3], [math.inf, 0.0], []])
def test_bad_commands_leave_the_last_torque_on_as_ros2_control_does(make, bad):
    driver = make()
    driver.step(0.3, -0.3)
    assert list(driver.step(*bad).effort) == [0.3, -0.3]


def test_commands_beyond_the_limit_are_clipped_and_reported_so(make):
    assert list(make().step(99.0, -99.0).effort) == [5.0, -5.0]


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ("speed:=-1.0", "'speed' = -1.0: must be finite and >= 0"),
        ("start:=1,0", "start = '1,0': must be 3 numbers; give x,y,theta"),
        ("start:=0,0,.nan", "start = '0,0,.nan': theta = '.nan' must be a finite number in rad"),
    ],
)
def test_wrong_parameters_are_named(domain, parameter, message):
    rclpy.init(args=["--ros-args", "-p", parameter])
    try:
        with pytest.raises(ValueError, match=message):
            SimulatorNode()
    finally:
        rclpy.shutdown()


def test_in_a_process_of_its_own_time_goes_on_without_commands(make):
    driver = make("speed:=5.0", composed=False)
    driver.spin(lambda: len(driver.states) > 20)
    stamps = [state.header.stamp.nanosec for state in driver.states]
    assert stamps == sorted(stamps) and len(set(stamps)) == len(stamps)


@pytest.mark.wall_time
def test_in_one_process_the_speed_is_kept_if_it_is_given(make):
    """It catches up a late start: 20 ms of 200."""
    driver = make("speed:=4.0")
    driver.step(0.1, 0.1)
    begun = time.monotonic()
    for _ in range(80):
        driver.step(0.1, 0.1)
    assert time.monotonic() - begun >= 0.9 * 80 * 0.01 / 4.0


def test_it_leaves_with_who_commands(make):
    driver = make("leave_when_alone:=true")
    driver.step(0.1, 0.1)
    assert driver.simulator.exit_code is None
    driver.node.destroy_publisher(driver.commands)
    driver.spin(lambda: driver.simulator.exit_code is not None)
    assert driver.simulator.exit_code == 0


def test_a_second_publisher_of_its_states_ends_it(make):
    driver = make()
    driver.step(0.1, 0.1)
    rival = rclpy.create_node("rival")
    rival.create_publisher(JointState, "joint_states", 10)
    begun = time.monotonic()
    driver.spin(lambda: driver.simulator.exit_code is not None)
    assert driver.simulator.exit_code == 1 and time.monotonic() - begun < 1.0
    stamp = driver.simulator.stamp
    driver.commands.publish(Float64MultiArray(data=[0.1, 0.1]))
    driver.room.deliver(0.1)
    assert driver.simulator.stamp == stamp
    rival.destroy_node()
