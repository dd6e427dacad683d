# SPDX-License-Identifier: Apache-2.0
"""What a robot publishes of its motion: every source gives the same motion, or says why not."""

import math

import pytest

rclpy = pytest.importorskip("rclpy")
pytest.importorskip("tf2_msgs")

from geometry_msgs.msg import TransformStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402

from arc_odometry import Arc, Pose, Velocity  # noqa: E402
from arc_odometry.odometry_messages import quaternion  # noqa: E402
from diffbot_description import load_robot  # noqa: E402
from diffbot_node.odometry_sources import (  # noqa: E402
    APART,
    OdometryTopic,
    SourceArrivals,
    TransformTopic,
    WheelAngles,
)
from diffbot_node.robot_messages import seconds, to_stamp  # noqa: E402

ROBOT = load_robot("twil")
LEFT, RIGHT = ROBOT.joints.first
PERIOD = 0.02
TWIST = Velocity(0.4, -0.9)
START = Pose(0.3, -0.2, 2.9)


def motion(count=40, period=PERIOD):
    """Stamps and poses of a robot that drives along a circle, whose heading passes pi."""
    arc, pose, result = Arc(TWIST.v * period, TWIST.omega * period), START, []
    for k in range(count):
        result.append((5.0 + k * period, pose))
        pose = arc.end(pose)
    return result


def odometry(stamp, pose, twist=TWIST, frame="odom", child="base_link"):
    message = Odometry(child_frame_id=child)
    message.header.stamp, message.header.frame_id = to_stamp(stamp), frame
    message.pose.pose.position.x, message.pose.pose.position.y = pose.x, pose.y
    message.pose.pose.orientation = quaternion(pose.theta)
    message.twist.twist.linear.x, message.twist.twist.angular.z = twist
    return message


def transform(stamp, pose, parent="odom", child="base_footprint"):
    result = TransformStamped(child_frame_id=child)
    result.header.stamp, result.header.frame_id = to_stamp(stamp), parent
    result.transform.translation.x, result.transform.translation.y = pose.x, pose.y
    result.transform.rotation = quaternion(pose.theta)
    return result


def joint_state(stamp, angles, names=(LEFT, RIGHT)):
    message = JointState(name=["arm", *names], position=[0.0, *map(float, angles)])
    message.header.stamp = to_stamp(stamp)
    return message


def wheel_angles(period=PERIOD):
    """Joint states of the same motion."""
    left, right = ROBOT.geometry.wheel_velocity(*TWIST)
    return [
        joint_state(stamp, (left * k * period, right * k * period))
        for k, (stamp, _) in enumerate(motion(period=period))
    ]


def samples(source, messages):
    """What a source reads from messages that concern the robot."""
    return [
        source.read(seconds(source.stamp(message)), message)
        for message in messages
        if source.concerns(message)
    ]


@pytest.mark.parametrize(
    ("source", "messages"),
    [
        (OdometryTopic(), [odometry(*each) for each in motion()]),
        (OdometryTopic(by_poses=True), [odometry(*each, twist=(9.0, 9.0)) for each in motion()]),
        # A message says itself that its twist is not in the robot's frame.
        (OdometryTopic(), [odometry(*each, twist=(9.0, 9.0), child="odom") for each in motion()]),
        (WheelAngles(ROBOT), wheel_angles()),
        (TransformTopic(), [TFMessage(transforms=[transform(*each)]) for each in motion()]),
    ],
    ids=["twist", "poses", "world", "joint_states", "tf"],
)
def test_each_source_gives_the_same_velocity(source, messages):
    result = samples(source, messages)
    assert len(result) == 40
    for sample in result[1:]:
        # Stamps are rounded to ns, of 20 ms.
        assert sample.velocity == pytest.approx(TWIST, rel=1e-6)
    turned = math.remainder(result[-1].pose.theta - result[0].pose.theta, math.tau)
    assert turned == pytest.approx(39 * PERIOD * TWIST.omega, abs=1e-9)


@pytest.mark.parametrize("rate", [60.0, 200.0, 1000.0])
def test_differences_are_taken_over_times_that_are_not_short(rate):
    messages = [TFMessage(transforms=[transform(*each)]) for each in motion(int(rate), 1.0 / rate)]
    stamps = [sample.stamp for sample in samples(TransformTopic(), messages)]
    steps = [after - before for before, after in zip(stamps, stamps[1:], strict=False)]
    assert min(steps) >= APART - 1e-6 and max(steps) < APART + 1.1 / rate


def test_a_clock_that_is_set_back_does_not_silence_a_source():
    source = OdometryTopic(by_poses=True)
    messages = [odometry(stamp, START) for stamp in (100.0, 100.1, 3.0, 3.1)]
    assert len(samples(source, messages)) == 4


def test_the_robots_transform_is_found_among_others():
    source = TransformTopic()
    others = [transform(5.0, START, "map", "odom"), transform(5.0, START, "base_link", "laser")]
    assert not source.concerns(TFMessage(transforms=others))
    assert "map to odom, base_link to laser: none is from 'odom' to" in source.unrelated()
    own = transform(5.0, START, "/odom", "base_link")
    assert source.concerns(TFMessage(transforms=[*others, own]))
    assert source.unrelated() == ""
    # Once one frame of the robot is known, another one of it is not mixed in.
    assert not source.concerns(TFMessage(transforms=[transform(6.0, START)]))


def test_frames_may_be_named():
    source = TransformTopic("world", "chassis")
    assert not source.concerns(TFMessage(transforms=[transform(5.0, START)]))
    assert source.concerns(TFMessage(transforms=[transform(5.0, START, "world", "chassis")]))


def test_other_joints_are_told_with_their_names():
    source = WheelAngles(ROBOT)
    assert not source.concerns(joint_state(5.0, (0, 0), ("wheel_1", "wheel_2")))
    assert "wheel_1" in source.unrelated() and LEFT in source.unrelated()


def test_angles_that_jump_or_are_missing_are_refused_and_do_not_count():
    source = WheelAngles(ROBOT)
    samples(source, wheel_angles()[:3])
    with pytest.raises(ValueError, match="jumped"):
        samples(source, [joint_state(5.06, (3.0, 0.0))])
    empty = joint_state(6.1, (0.0, 0.0))
    empty.position = []
    with pytest.raises(ValueError, match="add the position state interface"):
        samples(source, [empty])


def test_a_pose_that_is_not_finite_is_refused_and_does_not_count():
    source = OdometryTopic(by_poses=True)
    messages = [odometry(*each) for each in motion(4)]
    samples(source, messages[:2])
    broken = odometry(5.05, START._replace(x=math.nan))
    with pytest.raises(ValueError, match="must be finite"):
        source.read(5.05, broken)
    assert samples(source, messages[2:])[-1].velocity == pytest.approx(TWIST, rel=1e-6)


# How often and how late they arrive.


def arrivals(stamps, ages):
    result = SourceArrivals(OdometryTopic())
    for stamp, age in zip(stamps, ages, strict=True):
        result.take(odometry(stamp, START), stamp + age)
    return result


def every(period, count=10):
    return [5.0 + k * period for k in range(count)]


@pytest.mark.parametrize(
    ("rate", "age", "timeout"),
    [
        (200.0, 0.0, 0.25),
        (50.0, 0.01, 0.25),
        (10.0, 0.0, 0.25),
        (5.0, 0.0, 0.5),
        (2.5, 0.1, 1.0),
        (50.0, 0.3, 0.47),  # of late odometry
        (50.0, -1e5, 0.25),  # of another clock
    ],
)
def test_the_timeout_follows_rate_and_age(rate, age, timeout):
    result = arrivals(every(1.0 / rate), [age] * 10)
    assert result.timeout() == pytest.approx(timeout)
    assert result.timeout() > 1.0 / rate + max(age, 0.0)


@pytest.mark.parametrize(
    ("stamps", "ages", "says"),
    [
        (every(0.5), [0.0] * 10, "one odometry message arrives every 0.50 s: at most 0.4 s"),
        (every(0.02), [0.7] * 10, "arrives up to 0.70 s after its stamp: at most 0.5 s"),
        (every(0.02), [40.0] * 9 + [40.8], "arrives up to 0.80 s after its stamp"),
        ([0.0] * 10, [5.0] * 10, "the stamps repeat 0.0 s"),
        (every(-0.02), [0.0] * 10, "or go back"),
    ],
)
def test_what_cannot_work_is_refused_by_name(stamps, ages, says):
    with pytest.raises(ValueError, match="odom: ") as refused:
        arrivals(stamps, ages).timeout()
    assert says in str(refused.value)
