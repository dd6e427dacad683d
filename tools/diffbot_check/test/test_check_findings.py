# SPDX-License-Identifier: Apache-2.0
"""Each beginner's fault gets its finding, and a sound robot is not blamed."""

import math
import re
from dataclasses import replace

import pytest
import seen_robots as made

from diffbot_check.check_finding import RobotTask, Severity
from diffbot_check.judging import judge
from diffbot_check.observation import CheckedRobot, ListedController, TopicNames
from diffbot_description import load_robot
from diffbot_description.command_kind import CommandKind
from diffbot_description.loading import urdf
from diffbot_node.topic_types import ARRAY, JOINT_STATE, ODOMETRY, TWISTS

TWIL = load_robot("twil")
FAULT, WARNING, NOTE = Severity.FAULT, Severity.WARNING, Severity.NOTE
TORQUE, VELOCITY = made.TORQUE_ENDS, made.VELOCITY_ENDS
STATES = made.publishes(made.STATES, JOINT_STATE)


def joints(**fault):
    return made.torque_robot(states=made.wheel_states(**fault))


def of_wheels(sign_v=1.0, sign_omega=1.0):
    """Odometry that agrees with the swinging wheels of twil, or contradicts them."""
    radius, track = TWIL.wheels.radius, TWIL.wheels.separation

    def rates(t):
        step = 1e-4
        before, after = made.swing(t - step), made.swing(t + step)
        return [(b - a) / (2 * step) for a, b in zip(before, after, strict=True)]

    return made.odometry(
        lambda t: sign_v * radius * sum(rates(t)) / 2.0,
        lambda t: sign_omega * radius * (rates(t)[1] - rates(t)[0]) / track,
    )


def beside_odometry(**signs):
    states = made.wheel_states(turn=made.swing)
    return made.seen((*TORQUE, VELOCITY[0]), states, made.gyro(), of_wheels(**signs))


def controller(kind, state):
    return made.torque_robot(controllers=[ListedController("c", f"package/{kind}", state)])


def two_sources():
    """A second driver, whose wheels stand elsewhere, in turns with the first."""
    states = made.wheel_states(turn=made.swing)
    other = made.wheel_states(turn=lambda t: (3.0, 3.0), stamp=lambda t: t + 0.004)
    merged = made.wheel_states(rate=0.1)
    rows = sorted(
        (*zip(states.arrivals, states.stamps, states.values, strict=True),
         *((a + 0.004, s, v) for a, s, v in zip(
             other.arrivals, other.stamps, other.values, strict=True))),
        key=lambda row: row[0],
    )  # fmt: skip
    merged.arrivals, merged.stamps, merged.values = map(list, zip(*rows, strict=True))
    merged.origins = [None] * len(rows)
    return made.torque_robot((*TORQUE, made.publishes(made.STATES, JOINT_STATE, "/b")), merged)


def changed_urdf(old, new):
    text = urdf(TWIL)
    assert re.search(old, text)
    return made.torque_robot(description=re.sub(old, new, text))


FAULTS = {
    "no driver": (lambda: made.seen(()), FAULT, "no node of any robot is seen in domain 0"),
    "another computer": (
        lambda: made.seen((), machine=made.with_machine(beyond="closed")),
        FAULT,
        "nodes on other computers are not seen",
    ),
    "other names": (
        lambda: joints(names=("wheel_left_joint", "wheel_right_joint")),
        FAULT,
        "'left_wheel_joint' may be 'wheel_left_joint', 'right_wheel_joint' may be "
        "'wheel_right_joint'",
    ),
    "one other name": (
        lambda: joints(names=("left_wheel_joint", "wheel_r")),
        FAULT,
        "'right_wheel_joint' may be 'wheel_r'",
    ),
    "names unlike": (
        lambda: joints(names=("a", "b")), FAULT,
        "has a, b, and the file needs left_wheel"),
    "a joint twice": (
        lambda: joints(names=("left_wheel_joint", "left_wheel_joint", "right_wheel_joint")),
        FAULT,
        "no message holds all of",
    ),
    "no joint states": (
        lambda: made.seen(TORQUE[1:], made.gyro()), FAULT,
        "no node publishes /joint_sta"),
    "in a namespace": (
        lambda: made.seen(
            (made.publishes("/one/joint_states", JOINT_STATE), *TORQUE[1:]), made.gyro()
        ),
        FAULT,
        "there is /one/joint_states of /driver",
    ),
    "another type": (
        lambda: made.seen((made.publishes(made.STATES, ARRAY), *TORQUE[1:]), made.gyro()),
        FAULT,
        f"/driver publishes it as {ARRAY}",
    ),
    "silent driver": (lambda: made.seen(TORQUE, made.gyro()), FAULT, "no message came in 5 s"),
    "no effort": (
        lambda: joints(fields=("position", "velocity")), FAULT,
        "no effort of left_wheel_joint"),
    "no speed": (
        lambda: joints(fields=("position", "effort")), FAULT,
        "no velocity of left_wheel_joint"),
    "no angle": (
        lambda: joints(fields=("velocity", "effort")), FAULT,
        "no position of left_wheel_joint"),
    "effort NaN": (lambda: joints(effort=math.nan), FAULT, "no effort of left_wheel_joint"),
    "efforts of raw counts": (lambda: joints(effort=350.0), FAULT, "efforts up to 350"),
    "speeds in degrees": (
        lambda: joints(turn=made.swing, speed=math.degrees),
        FAULT,
        "57.3 times what its angle says",
    ),
    "speeds in rpm": (
        lambda: joints(turn=made.swing, speed=lambda w: w * 60.0 / math.tau),
        FAULT,
        "9.55 times what its angle says",
    ),
    "speed of another sign": (
        lambda: joints(turn=made.swing, speed=lambda w: -w),
        FAULT,
        "-1 times what its angle says",
    ),
    "stuck encoder": (
        lambda: joints(turn=lambda t: (made.swing(t)[0], 0.0), speed=lambda w: w or 1.0),
        FAULT,
        "'right_wheel_joint' has a speed, and its angle stands still",
    ),
    "swapped wheels": (
        lambda: beside_odometry(sign_omega=-1.0), FAULT,
        "says turning left, the wheels"),
    "both reversed": (
        lambda: beside_odometry(sign_v=-1.0, sign_omega=-1.0),
        FAULT,
        "says forward, the wheels say the opposite",
    ),
    "slow": (lambda: joints(rate=10.0), FAULT, "10 messages a second"),
    "hardly any": (lambda: joints(rate=0.5), FAULT, "only 2 messages in 5 s"),
    "a pause": (
        lambda: joints(silent=(2.005, 2.405)),
        WARNING,
        "with a pause of 0.41 s",
    ),
    "stamps of 0": (lambda: joints(stamp=lambda t: -1.0), FAULT, "header.stamp is 0 in 100%"),
    "stamps of a batch": (
        lambda: joints(stamp=lambda t: math.floor(10.0 * t) / 10.0), FAULT,
        "repeat in"),
    "stamps step back": (
        lambda: joints(stamp=lambda t: t + 0.05 * (round(100.0 * t) % 7 == 0)),
        FAULT,
        "step back in",
    ),
    "stamps of another unit": (
        lambda: joints(stamp=lambda t: 1e-3 * t), FAULT,
        "advance 0.001 s in a"),
    "late": (lambda: joints(late=0.4), FAULT, "messages arrive 0.400 s after their stamp"),
    "clocks apart": (lambda: joints(clock=made.NOW + 40.0), WARNING, "ahead of this computer's"),
    "two sources": (lambda: two_sources(), FAULT, "two sources tell of the same wheels"),
    "nobody takes torques": (
        lambda: made.torque_robot((STATES, made.takes("/wheels/commands", ARRAY))),
        FAULT,
        "no node takes /effort_controller/commands as std_msgs/msg/Float64MultiArray; there is "
        "/wheels/commands of /driver",
    ),
    "another commander": (
        lambda: made.torque_robot((*TORQUE, made.publishes(made.EFFORTS, ARRAY, "/old"))),
        FAULT,
        "/old commands the robot already",
    ),
    "subscriber of lasting messages": (
        lambda: made.torque_robot((STATES, made.takes(made.EFFORTS, ARRAY, lasting=True))),
        FAULT,
        "demands transient local",
    ),
    "broadcaster not active": (
        lambda: controller("JointStateBroadcaster", "inactive"),
        FAULT,
        "controller 'c' (package/JointStateBroadcaster) is inactive",
    ),
    "effort controller not active": (
        lambda: controller("JointGroupEffortController", "unconfigured"),
        FAULT,
        "is unconfigured",
    ),
    "left is right in the URDF": (
        lambda: changed_urdf("left_wheel_joint|right_wheel_joint", lambda m: {
            "left_wheel_joint": "right_wheel_joint", "right_wheel_joint": "left_wheel_joint",
        }[m[0]]),
        FAULT,
        "is the file's left wheel, and on the right in /robot_description",
    ),
    "another track": (
        lambda: made.torque_robot(
            description=urdf(replace(TWIL, wheels=replace(TWIL.wheels, separation=0.4)))
        ),
        WARNING,
        "the track is 0.4 m in /robot_description, and 0.2722 m in the file",
    ),
    "another robot's URDF": (
        lambda: changed_urdf("left_wheel_joint", "wheel_left"),
        WARNING,
        "has no joint left_wheel_joint; 'left_wheel_joint' may be 'wheel_left'",
    ),
    "frame with two parents": (
        lambda: made.torque_robot(transforms=frozenset({("odom", "base"), ("map", "base")})),
        WARNING,
        "base has 2 parents: map, odom",
    ),
    "busy computer": (
        lambda: made.torque_robot(machine=made.with_machine(load=9.0)),
        WARNING,
        "9.0 processes want to run on 4 processors",
    ),
    "no odometry": (lambda: made.seen(VELOCITY[1:]), FAULT, "no node publishes /odom"),
    "teleoperation runs": (
        lambda: made.velocity_robot(
            (*VELOCITY, made.publishes(made.CMD_VEL, TWISTS[0], "/teleop"))
        ),
        FAULT,
        "/teleop commands the robot already",
    ),
    "two types of twist": (
        lambda: made.velocity_robot((*VELOCITY, made.takes(made.CMD_VEL, TWISTS[1], "/mux"))),
        WARNING,
        "is taken as Twist and as TwistStamped",
    ),
    "no timeout": (
        lambda: made.velocity_robot(timeouts={"/driver cmd_vel_timeout": 0.0}),
        WARNING,
        "/driver cmd_vel_timeout = 0 s",
    ),
    "timeout not known": (
        lambda: made.velocity_robot(timeouts={}), NOTE,
        "stops when commands end is not"),
    "no frame": (
        lambda: made.velocity_robot(odom=made.odometry(child="")), WARNING,
        "child_frame_id ''"),
    "slow odometry": (
        lambda: made.velocity_robot(odom=made.odometry(rate=5.0)), FAULT,
        "5 messages a sec"),
    "odometry elsewhere": (
        lambda: made.seen((made.publishes("/diff/odom", ODOMETRY), VELOCITY[1])),
        FAULT,
        "there is /diff/odom of /driver",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_named(fault):
    seen, severity, words = FAULTS[fault]
    report = judge(CheckedRobot(seen(), TWIL))
    named = [each for each in report.findings if words in f"{each.what}; {each.why}"]
    assert [each.severity for each in named] == [severity], [each.what for each in report.findings]
    assert named[0].why and (named[0].line or severity is NOTE)
    worst = [each for each in report.findings if each.severity is FAULT]
    assert report.is_ready == (not worst)
    # One fault has one cause, and no more than its consequences.
    assert len(worst) <= 2


GOOD = {
    "at rest": made.torque_robot,
    "turned by hand": lambda: joints(turn=made.swing),
    "at 20 Hz": lambda: joints(rate=20.0),
    "at 1000 Hz": lambda: joints(rate=1000.0),
    "with more joints": lambda: joints(names=(*made.NAMES, "arm"), turn=lambda t: (0.0, 0.0)),
    "own clock": lambda: joints(clock=300.0),
    "wrapping encoders": lambda: joints(turn=lambda t: (2.0 * t, 2.0 * t)),
    "odometry beside": lambda: beside_odometry(),
    "its own URDF": lambda: made.torque_robot(description=urdf(TWIL)),
    "controllers": lambda: controller("JointGroupEffortController", "active"),
    "efforts": lambda: joints(effort=0.3),
    "takes velocities": made.velocity_robot,
    "takes stamped velocities": lambda: made.velocity_robot(
        (VELOCITY[0], made.takes(made.CMD_VEL, TWISTS[1]))
    ),
    "best effort": lambda: made.torque_robot(
        (made.publishes(made.STATES, JOINT_STATE, reliable=False), *TORQUE[1:])
    ),
    "a second publisher of an arm": lambda: made.torque_robot(
        (*TORQUE, made.publishes(made.STATES, JOINT_STATE, "/arm"))
    ),
    "simulated": lambda: made.torque_robot(
        (*TORQUE, made.publishes("/clock", "rosgraph_msgs/msg/Clock", "/sim")),
        made.wheel_states(clock=0.0, stamp=lambda t: 0.5 * t + 0.01),
    ),
}


@pytest.mark.parametrize("robot", GOOD)
def test_a_sound_robot_is_not_blamed(robot):
    report = judge(CheckedRobot(GOOD[robot](), TWIL))
    assert [each.what for each in report.findings if each.severity > NOTE] == []
    assert report.is_ready


def test_the_kind_follows_from_what_is_there_or_the_choice():
    assert judge(CheckedRobot(made.torque_robot())).kind is CommandKind.EFFORT
    assert judge(CheckedRobot(made.velocity_robot())).kind is CommandKind.VELOCITY
    chosen = judge(CheckedRobot(made.torque_robot(), chosen=CommandKind.VELOCITY))
    assert chosen.kind is CommandKind.VELOCITY and not chosen.is_ready


def test_calibration_needs_a_sensor_and_the_other_tasks_do_not():
    report = judge(CheckedRobot(made.seen(TORQUE[:2], made.wheel_states()), TWIL))
    lacking = {state.task: state.lacks for state in report.tasks}
    assert report.is_ready and lacking.pop(RobotTask.CALIBRATE)
    assert not any(lacking.values())


def test_without_a_robot_file_the_wheels_are_those_that_are_called_so():
    report = judge(CheckedRobot(joints(names=("wheel_l_joint", "wheel_r_joint"))))
    assert report.is_ready
    unknown = judge(CheckedRobot(joints(names=("a", "b"))))
    assert any("which joints are the wheels" in each.what for each in unknown.findings)


def test_swapped_names_in_the_file_are_seen_at_rest():
    swapped = replace(TWIL.joints, left=TWIL.joints.right, right=TWIL.joints.left)
    report = judge(CheckedRobot(made.torque_robot(), replace(TWIL, joints=swapped)))
    assert any("joints.left of twil.yaml is 'right_wheel_joint'" in e.what for e in report.findings)
    assert not report.is_ready


def test_a_sign_of_the_file_is_compared_with_the_axle():
    reversed_ = replace(TWIL, joints=replace(TWIL.joints, signs=(1, -1)))
    report = judge(CheckedRobot(made.torque_robot(description=urdf(TWIL)), reversed_))
    wrong = [each for each in report.findings if "its sign in the file is -1" in each.what]
    assert len(wrong) == 1 and "'right_wheel_joint'" in wrong[0].what


def test_names_of_topics_are_relative_to_the_namespace():
    names = TopicNames.of("one", odom="diff/odom", cmd_vel="/cmd_vel")
    assert (names.odom, names.cmd_vel, names.joint_states) == (
        "/one/diff/odom", "/cmd_vel", "/one/joint_states",
    )  # fmt: skip
    assert TopicNames.of() == TopicNames()


@pytest.mark.parametrize(
    ("stated", "seen", "kind", "ready", "words"),
    [
        (None, made.velocity_robot, CommandKind.VELOCITY, True, "does not state that the robot"),
        (CommandKind.VELOCITY, made.velocity_robot, CommandKind.VELOCITY, True, ""),
        (CommandKind.VELOCITY, made.torque_robot, CommandKind.VELOCITY, False, "drive.command"),
        (CommandKind.EFFORT, made.velocity_robot, CommandKind.EFFORT, False, "drive.command"),
        (None, made.torque_robot, CommandKind.EFFORT, True, ""),
    ],
)
def test_the_kind_that_the_file_states_is_compared_with_what_is_there(
    stated, seen, kind, ready, words
):
    robot = replace(TWIL, drive=replace(TWIL.drive, command=stated))
    report = judge(CheckedRobot(seen(), robot))
    said = [each.what for each in report.findings if "does not state" in each.what]
    said += [each.what for each in report.findings if "states drive.command" in each.what]
    assert (report.kind, report.is_ready, bool(said)) == (kind, ready, bool(words))
    assert words in "".join(said)


@pytest.mark.parametrize(
    ("seen", "line"),
    [
        (
            made.seen((made.publishes("/diff/odom", ODOMETRY), VELOCITY[1])),
            "check robot:=turtlebot2 odom:=/diff/odom",
        ),
        (
            made.velocity_robot((VELOCITY[0], made.takes("/diff/cmd_vel", TWISTS[0]))),
            "check robot:=turtlebot2 cmd_vel:=/diff/cmd_vel",
        ),
    ],
)
def test_the_only_other_topic_is_what_to_type(seen, line):
    report = judge(CheckedRobot(seen, load_robot("turtlebot2"), given="turtlebot2"))
    assert any(line in each.line for each in report.findings)


def test_the_namespace_of_the_only_other_robot_is_what_to_type():
    ends = (made.publishes("/one/joint_states", JOINT_STATE), *TORQUE[1:])
    report = judge(CheckedRobot(made.seen(ends), TWIL, given="twil"))
    assert any("check robot:=twil --namespace one" in each.line for each in report.findings)
