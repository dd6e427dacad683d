# SPDX-License-Identifier: Apache-2.0
"""NaN and infinity in every field of every message that nodes receive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from geometry_msgs.msg import Twist

from diffbot_sim.faults.fault import Fault
from faults.row import Outcome, Promise
from faults.rows.making import EVERYWHERE, afterwards, borne, one_by_one, rows, worst_of
from faults.scene import BACKSTEP, FAULT, IDENT, LINEARIZING, POSE, TRACKING, Scene, Subject
from pose2d_trajectories.pose_message import Pose2D

GROUP = "NaN and inf in inputs"
VALUES = ("nan", "inf", "-inf")
WHEELS = ("[0]", "[1]")
ANGLES = tuple(f"position{wheel}" for wheel in WHEELS)
SPEEDS = tuple(f"velocity{wheel}" for wheel in WHEELS)
TORQUES = tuple(f"effort{wheel}" for wheel in WHEELS)
POSES = ("x", "y", "theta")
REFERENCE = (*POSES, "v", "omega", "dv", "domega")
POSITION = ("pose.pose.position.x", "pose.pose.position.y")
ORIENTATION = tuple(f"pose.pose.orientation.{axis}" for axis in "xyzw")
VELOCITY = ("twist.twist.linear.x", "twist.twist.angular.z")
UNUSED_ODOMETRY = (
    *("pose.pose.position.z", "pose.covariance", "twist.covariance"),
    *("twist.twist.linear.y", "twist.twist.linear.z", "twist.twist.angular.x"),
    "twist.twist.angular.y",
)
UNUSED_TWIST = tuple(f"twist.{part}" for part in ("linear.y", "linear.z", "angular.x", "angular.y"))


def garbage(fields: Iterable[str]) -> Iterator[tuple[str, dict]]:
    """Yield attacks with each value in each field."""
    for field in fields:
        for value in VALUES:
            yield f"{field} {value}", {"kind": "garbage", "fields": (field,), "value": value}


def _used(fields: tuple[str, ...], **settings):
    def run(subject: Subject, engine: str) -> Outcome:
        return one_by_one(subject, engine, subject.states, garbage(fields), **settings)

    return run


def _unused(fields: tuple[str, ...], seconds: float = 0.3):
    def run(subject: Subject, engine: str) -> Outcome:
        topic = subject.references[0] if fields is UNUSED_TWIST else subject.states
        fault = Fault(topic, "garbage", FAULT, seconds, fields=fields, value="nan")
        return borne(subject, engine, seconds, 0.3, fault)

    return run


def _references(fields: tuple[str, ...]):
    def run(subject: Subject, engine: str) -> Outcome:
        # References arrive midway between two states, and the next state is answered.
        return one_by_one(subject, engine, subject.references[0], garbage(fields), late=0.005)

    return run


def _set_points(subject: Subject, engine: str) -> Outcome:
    lone = Subject(subject.name, subject.kind, bounds=subject.bounds)
    cases, number = [], {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
    with Scene(lone, engine) as scene:
        topic, good = f"{subject.name}/command", Pose2D(x=3.0, y=1.0)
        for field in POSES:
            for value in VALUES:
                scene.bus.publish(topic, good)
                scene.advance(scene.bus.time + 0.055)
                at = scene.bus.time
                scene.bus.publish(topic, Pose2D(**{"x": 1.0, field: number[value]}))
                scene.advance(at + 0.055)
                cases.append((f"{field} {value}", scene.zero(at, at + 0.05)))
        scene.bus.publish(topic, good)
        scene.advance(scene.bus.time + 0.2)
        return worst_of([*cases, afterwards(scene)])


def _unstamped(subject: Subject, engine: str) -> Outcome:
    lone = Subject(subject.name, subject.kind, parameters={"stamped": False})
    cases = []
    with Scene(lone, engine) as scene:
        send = _twists(scene)
        for field in ("linear.x", "angular.z"):
            for value in VALUES:
                send(0.05)
                at = scene.bus.time
                wrong = Twist()
                part, axis = field.split(".")
                setattr(getattr(wrong, part), axis, float(value))
                scene.bus.publish("cmd_vel", wrong)
                scene.advance(at + 0.04)
                cases.append((f"{field} {value}", scene.zero(at, at + 0.04)))
        send(0.1)
        return worst_of([*cases, afterwards(scene)])


def _twists(scene: Scene):
    def send(seconds: float) -> None:
        end = scene.bus.time + seconds
        while scene.bus.time < end - 1e-6:
            message = Twist()
            # The command oscillates, so that torque acts on the wheels.
            message.linear.x = 0.2 if round(scene.bus.time / 0.02) % 2 else -0.2
            scene.bus.publish("cmd_vel", message)
            scene.advance(scene.bus.time + 0.01)

    return send


ROWS = (
    *rows(
        GROUP,
        "JointState, each value of angles, speeds, torques",
        Promise.ZERO,
        (IDENT,),
        _used((*ANGLES, *SPEEDS, *TORQUES)),
        EVERYWHERE,
    ),
    *rows(
        GROUP,
        "JointState, each value of angles",
        Promise.ZERO,
        (BACKSTEP, POSE, LINEARIZING),
        _used(ANGLES),
    ),
    *rows(
        GROUP,
        "JointState, each value of speeds, where they are used",
        Promise.ZERO,
        (BACKSTEP,),
        _used(SPEEDS, velocity_source="velocity"),
    ),
    *rows(
        GROUP,
        "JointState, speeds and torques, which are not used",
        Promise.DRIVES_ON,
        (BACKSTEP, POSE, LINEARIZING),
        _unused((*SPEEDS, *TORQUES)),
    ),
    *rows(
        GROUP,
        "PoseReference, each value",
        Promise.ZERO,
        (BACKSTEP, POSE, TRACKING),
        _references(REFERENCE),
    ),
    *rows(GROUP, "Pose2D, each value", Promise.ZERO, (BACKSTEP, POSE), _set_points),
    *rows(
        GROUP,
        "TwistStamped, linear.x and angular.z",
        Promise.ZERO,
        (LINEARIZING,),
        _references(("twist.linear.x", "twist.angular.z")),
    ),
    *rows(
        GROUP,
        "TwistStamped, what is not used",
        Promise.DRIVES_ON,
        (LINEARIZING,),
        _unused(UNUSED_TWIST),
    ),
    *rows(GROUP, "Twist, linear.x and angular.z", Promise.ZERO, (LINEARIZING,), _unstamped),
    *rows(
        GROUP,
        "Odometry, each value of pose and velocity",
        Promise.ZERO,
        (TRACKING,),
        _used((*POSITION, *ORIENTATION, *VELOCITY)),
    ),
    *rows(
        GROUP,
        "Odometry, what is not used",
        Promise.DRIVES_ON,
        (TRACKING,),
        _unused(UNUSED_ODOMETRY),
    ),
)
