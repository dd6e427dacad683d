# SPDX-License-Identifier: Apache-2.0
"""The dynamics_estimator node: what it says of a robot that somebody else drives."""

import math
import time

import pytest

rclpy = pytest.importorskip("rclpy")

from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.qos import QoSProfile  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from diffbot_description import load_robot  # noqa: E402
from diffbot_ident.estimator_node import PARTING, EstimatorNode  # noqa: E402
from diffbot_msgs.msg import DynamicParameters  # noqa: E402
from diffbot_node import seconds, to_stamp  # noqa: E402

TWIL = load_robot("twil")


class Peer:
    """A robot's driver, and a listener."""

    def __init__(self, **parameters):
        words = [w for k, v in parameters.items() for w in ("-p", f"{k}:={v}")]
        rclpy.init(args=["--ros-args", *words])
        self.peer = rclpy.create_node("peer", use_global_arguments=False)
        self.node = EstimatorNode()
        self.executor = SingleThreadedExecutor()
        for node in (self.peer, self.node):
            self.executor.add_node(node)
        self.result = []
        self.states = self.peer.create_publisher(JointState, "joint_states", 10)
        self.listener = self.peer.create_subscription(
            DynamicParameters,
            "ident/dynamic_parameters",
            self.result.append,
            QoSProfile(depth=1000),
        )
        self.until(self.states.get_subscription_count)

    def until(self, condition, timeout=10.0):
        end = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < end
            self.executor.spin_once(timeout_sec=0.01)

    def send(self, stamp, angles, efforts, names=("left_wheel_joint", "right_wheel_joint")):
        message = JointState(name=list(names), position=angles, effort=efforts)
        message.header.stamp = to_stamp(stamp)
        self.states.publish(message)
        for _ in range(3):
            self.executor.spin_once(timeout_sec=0.0)


@pytest.fixture
def make():
    peers = []

    def create(**parameters):
        peers.append(Peer(**parameters))
        return peers[-1]

    yield create
    for peer in peers:
        peer.node.destroy_node()
        peer.peer.destroy_node()
    rclpy.try_shutdown()


def test_the_parameters_of_a_driven_robot_are_told_at_their_period(make):
    peer = make(period=0.5, memory=100.0)
    assert not peer.peer.count_publishers("ident/dynamic_parameters")
    peer.send(0.0, (0.0, 0.0), (0.0, 0.0))
    peer.until(lambda: peer.peer.count_publishers("ident/dynamic_parameters"))
    # The wheels of twil on a test stand, without the body's weight on them: K7 = K8 = 100,
    # no centrifugal force; exact integrals of a torque that is held over each period.
    radius, b, gain, period = TWIL.wheels.radius, 0.5 * TWIL.wheels.separation, 2.0, 0.01
    v = omega = x = turn = 0.0
    for k in range(1, 601):
        left = 0.3 * (1.0 if k // 20 % 2 else -1.0)
        right = 0.3 * (1.0 if k // 35 % 2 else -1.0)
        dv, dw = gain * (left + right) * period, -6.0 * gain * (left - right) * period
        x, turn = x + (v + 0.5 * dv) * period, turn + (omega + 0.5 * dw) * period
        v, omega = v + dv, omega + dw
        angles = ((x - b * turn) / radius, (x + b * turn) / radius)
        peer.send(k * period, angles, (left, right))
    peer.until(lambda: peer.result and seconds(peer.result[-1].header.stamp) >= 6.0 - 1e-6)
    stamps = [seconds(message.header.stamp) for message in peer.result]
    assert stamps == pytest.approx([0.5 * k for k in range(13)][-len(stamps) :])
    last = peer.result[-1]
    assert (last.k7, last.k8) == (pytest.approx(gain, rel=0.02), pytest.approx(-12.0, rel=0.02))
    assert 0.0 < last.covariance_diagonal[2] < (0.05 * gain) ** 2
    assert last.samples >= 400


def test_joint_states_that_cannot_be_used_are_refused_and_it_goes_on(make, capfd):
    peer = make(period=0.1)
    peer.send(0.0, (0.0, 0.0), (0.0, 0.0))
    peer.send(0.01, (math.nan, 0.0), (0.0, 0.0))
    peer.send(0.02, (0.0,), (0.0,), names=("other_joint",))
    peer.send(0.03, (0.0,), (0.0,), names=("left_wheel_joint",))
    for k in range(4, 30):
        peer.send(0.01 * k, (0.0, 0.0), (0.0, 0.0))
    peer.until(lambda: len(peer.result) >= 2)
    assert peer.node.exit_code is None
    assert peer.result[-1].state == DynamicParameters.UNESTIMATED
    assert "joint state refused" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("turn", "effort", "says"),
    [(2.0, 0.0, "left wheel jumps"), (0.0, 1e9, "effort of joint 'left_wheel_joint' = 1000000000")],
)
def test_what_a_driven_robot_cannot_do_is_refused_teaches_nothing_and_it_goes_on(
    make, capfd, turn, effort, says
):
    peer = make(period=0.1)

    def swing(k, turn=0.0, effort=0.0):
        left, right = (3.0 * math.sin(0.02 * k), 4.0 * math.sin(0.025 * k))
        peer.send(0.01 * k, (left + turn, right), (effort, 0.0))

    for k in range(301):
        swing(k)
    peer.until(lambda: peer.result and seconds(peer.result[-1].header.stamp) >= 3.0 - 1e-6)
    before = peer.result[-1]
    assert before.samples > 100 and "refused" not in capfd.readouterr().err
    swing(301, turn, effort)
    for k in range(302, 321):
        swing(k, turn)
    peer.until(lambda: seconds(peer.result[-1].header.stamp) >= 3.2 - 1e-6)
    after = peer.result[-1]
    assert peer.node.exit_code is None
    assert f"joint state refused: {says}" in capfd.readouterr().err.replace("angle of the ", "")
    assert after.samples <= before.samples + 20
    # The same motion: what was known of it is not thrown over.
    assert (after.k7, after.k8) == (
        pytest.approx(before.k7, rel=0.1),
        pytest.approx(before.k8, rel=0.1),
    )


def test_it_leaves_when_nobody_publishes_joint_states_any_more(make):
    peer = make(leave_when_alone=True)
    peer.send(0.0, (0.0, 0.0), (0.0, 0.0))
    peer.until(lambda: peer.node._robot.met)
    assert peer.node.exit_code is None
    peer.peer.destroy_publisher(peer.states)
    peer.until(lambda: peer.node.exit_code == 0)


@pytest.mark.parametrize("leaves", [True, False])
def test_it_leaves_with_those_who_used_the_estimates(make, leaves):
    """A real robot's driver goes on after the run."""
    peer = make(leave_when_alone=leaves)
    for number in range(25):
        peer.send(0.01 * number, (0.0, 0.0), (0.0, 0.0))
    peer.until(lambda: peer.result)
    begin = time.monotonic()
    peer.until(lambda: time.monotonic() > begin + 2.0 * PARTING)
    assert peer.node.exit_code is None
    peer.peer.destroy_subscription(peer.listener)
    if leaves:
        peer.until(lambda: peer.node.exit_code == 0)
    else:
        begin = time.monotonic()
        peer.until(lambda: time.monotonic() > begin + 2.0 * PARTING)
        assert peer.node.exit_code is None
