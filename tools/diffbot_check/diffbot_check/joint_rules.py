# SPDX-License-Identifier: Apache-2.0
"""Joint states beside the robot's file: names, fields, units, signs, and who sends them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from arc_odometry.joint_names import likely, listed, meant, side_of
from arc_odometry.number_range import Array
from diffbot_check.check_finding import CheckFinding, Part, Severity
from diffbot_check.observation import CheckedRobot, JointValues, TopicStream
from diffbot_description.spoken import spoken
from diffbot_description.spoken_commands import spoken as spoken_line
from diffbot_node.endpoints import EndpointRole, named
from diffbot_node.source_watch import SourceWatch
from diffbot_node.topic_types import JOINT_STATE
from diffbot_recordings.bag_topics import find_wheels
from diffbot_recordings.samples import RecordingError

Sides = tuple[tuple[str, ...], tuple[str, ...]]

# Turn of a wheel from which its motion says anything, rad.
TURNED = 0.2
# Range of the ratio of reported speeds to those of the angles.
ALIKE = (0.7, 1.4)
# Efforts beyond the limit by this factor are in another unit, as are speeds.
BEYOND = 3.0
DEGREES = math.degrees(1.0)
UNITS = {"newton_metre": "N m", "ampere": "A", "percent": "%"}
# Turn by the angle as a fraction of that by the speed, below which the angle stands still.
STILL = 0.002


def sides_of(subject: CheckedRobot) -> Sides | None:
    """Return the wheels' joints, (left, right), of the file or by their names; None: unknown."""
    if subject.robot is not None:
        return subject.robot.joints.left, subject.robot.joints.right
    stream = subject.stream(subject.topics.joint_states)
    try:
        return find_wheels(names_in(stream), None, None) if stream else None
    except RecordingError:
        return None


def file_of(subject: CheckedRobot) -> str:
    """Return the name of the robot's file."""
    return "robot file" if subject.robot is None else subject.robot.path.name


def several(names: Sequence[str]) -> str:
    """Return names, MOST_NAMES at most, for a sentence."""
    return ", ".join(listed(names)) or "no joint"


def names_in(stream: TopicStream) -> list[str]:
    """Return all names in the messages, in the order of their first appearance."""
    distinct = dict.fromkeys(values.names for values in stream.values)
    return [*dict.fromkeys(name for names in distinct for name in names)]


def usable(stream: TopicStream, names: Sequence[str]) -> list[int]:
    """Return the indices of the messages that hold all of these joints once."""
    distinct = {values.names for values in stream.values}
    fits = {each for each in distinct if all(each.count(name) == 1 for name in names)}
    return [index for index, values in enumerate(stream.values) if values.names in fits]


def columns(stream: TopicStream, places: Sequence[int], field: str, names: Sequence[str]) -> Array:
    """Return a field of these joints in these messages, shape (n, joints); NaN: not there."""
    values: list[JointValues] = [stream.values[place] for place in places]
    return np.array([each.column(field, names) for each in values]).reshape(-1, len(names))


def joint_states(subject: CheckedRobot) -> Iterator[CheckFinding]:
    """Yield findings about the joint states."""
    stream = subject.stream(subject.topics.joint_states)
    if stream is None or stream.type != JOINT_STATE:
        return
    sides = sides_of(subject)
    if sides is None:
        yield CheckFinding(
            Severity.WARNING,
            Part.WHEELS,
            f"which joints are the wheels? {stream.topic} has {several(names_in(stream))}",
            "their names do not say it, and no robot file was given",
            spoken_line("check", "robot:=FILE"),
        )
        return
    names = (*sides[0], *sides[1])
    places = usable(stream, names)
    if not places:
        yield _wrong_names(subject, stream, sides)
        return
    for side, joints in zip(("left", "right"), sides, strict=True):
        for name in joints:
            if side_of(name) not in ("", side):
                yield CheckFinding(
                    Severity.FAULT,
                    Part.WHEELS,
                    f"joints.{side} of {file_of(subject)} is '{name}'",
                    "with swapped wheels the robot turns the wrong way, faster and faster",
                    f"joints: {{left: {sides[1][0]}, right: {sides[0][0]}}}   ({file_of(subject)})",
                )
    yield from _fields(stream, places, names)
    yield from _units(subject, stream, places, names)
    two_sources = list(_sources(subject, stream, places, names))
    yield from two_sources
    if not two_sources:
        yield from _motion(subject, stream, places, sides)


def _wrong_names(subject: CheckedRobot, stream: TopicStream, sides: Sides) -> CheckFinding:
    there, names = names_in(stream), (*sides[0], *sides[1])
    missing = [name for name in names if name not in there]
    if not missing:
        return CheckFinding(
            Severity.FAULT,
            Part.WHEELS,
            f"{stream.topic}: no message holds all of {several(names)} once",
            "the wheels of one message are one sample: they must be read at the same time",
            "one joint_state_broadcaster or driver for all wheels",
        )
    corrected = [
        ", ".join(name if name in there else likely(name, there) or "NAME" for name in side)
        for side in sides
    ]
    return CheckFinding(
        Severity.FAULT,
        Part.WHEELS,
        f"{stream.topic} has {several(there)}, and the file needs {several(names)}"
        f"{meant(missing, there)}",
        "without the wheels' joints no message can be used",
        f"joints: {{left: {corrected[0]}, right: {corrected[1]}}}   ({file_of(subject)})",
    )


def _fields(
    stream: TopicStream, places: Sequence[int], names: Sequence[str]
) -> Iterator[CheckFinding]:
    for field, part, interface in (
        ("position", Part.WHEELS, "position"),
        ("velocity", Part.SPEEDS, "velocity"),
        ("effort", Part.EFFORTS, "effort"),
    ):
        values = columns(stream, places, field, names)
        bad = np.array([not np.isfinite(column).all() for column in values.T])
        if not bad.any():
            continue
        joints = [name for name, wrong in zip(names, bad, strict=True) if wrong]
        absent = "no" if np.isnan(values[:, bad]).all() else "not always a"
        yield CheckFinding(
            Severity.FAULT,
            part,
            f"{stream.topic}: {absent} {field} of {several(joints)}",
            {
                "position": "the wheels' angles are the measurement",
                "velocity": "identification by torque and most controllers need the speeds",
                "effort": "the torque that acted is what identifies a robot",
            }[field],
            f'<state_interface name="{interface}"/>   (each wheel, in <ros2_control>)',
        )


def _units(
    subject: CheckedRobot, stream: TopicStream, places: Sequence[int], names: Sequence[str]
) -> Iterator[CheckFinding]:
    robot = subject.robot
    if robot is None:
        return
    efforts = np.abs(columns(stream, places, "effort", names))
    largest = float(np.nanmax(efforts, initial=0.0))
    limit = max(robot.drive.effort_of((robot.limits.torque, robot.limits.torque)))
    unit = robot.drive.effort_unit
    if largest > BEYOND * limit:
        yield CheckFinding(
            Severity.FAULT,
            Part.EFFORTS,
            f"{stream.topic}: efforts up to {spoken(largest)}, and limits.torque is "
            f"{spoken(limit)} {UNITS.get(unit, unit)}",
            "they are in another unit, such as amperes, per cent or raw counts",
            f"drive: {{effort_unit: ampere, torque_constant: [K, K]}}   ({file_of(subject)})",
        )
    speeds = np.abs(columns(stream, places, "velocity", names))
    fastest = float(np.nanmax(speeds, initial=0.0))
    if fastest > BEYOND * robot.wheel_speed:
        yield CheckFinding(
            Severity.FAULT,
            Part.SPEEDS,
            f"{stream.topic}: wheel speeds up to {spoken(fastest)} rad/s, and the file's limits "
            f"allow {spoken(robot.wheel_speed)}",
            "they are in another unit, such as rpm, deg/s or counts",
            "in the driver: velocity in rad/s, position in rad",
        )


def _motion(
    subject: CheckedRobot, stream: TopicStream, places: Sequence[int], sides: Sides
) -> Iterator[CheckFinding]:
    """Yield what angles and speeds say of each other, if wheels turn, and odometry of them."""
    names = (*sides[0], *sides[1])
    angles = columns(stream, places, "position", names)
    speeds = columns(stream, places, "velocity", names)
    stamps = np.array(stream.stamps)[places]
    steps = np.diff(stamps)
    if len(places) < 3 or not (steps > 0.0).all() or not np.isfinite(angles).all():
        return
    raw = np.diff(angles, axis=0)
    turns = np.where(np.abs(raw) > math.pi, np.remainder(raw + math.pi, math.tau) - math.pi, raw)
    wrong: dict[tuple[Part, str, str], list[str]] = {}
    for joint, name in enumerate(names):
        integral = 0.5 * (speeds[1:, joint] + speeds[:-1, joint]) * steps
        if np.isfinite(integral).all() and (result := _contradiction(turns[:, joint], integral)):
            part, what, why, line = result
            wrong.setdefault((part, why, line), []).append(f"'{name}' {what}")
    for (part, why, line), joints in wrong.items():
        what = f"{stream.topic}: {', '.join(joints)}"
        yield CheckFinding(Severity.FAULT, part, what, why, line)
    yield from _beside_odometry(subject, turns, stamps, sides)


def _contradiction(turns: Array, integral: Array) -> tuple[Part, str, str, str] | None:
    """Return what is wrong with a joint's speeds or angles: part, what, why and line.

    `turns`: differences of its angle, rad; `integral`: its speed times the same times, rad.
    """
    turned, expected = float(np.abs(turns).sum()), float(np.abs(integral).sum())
    if max(turned, expected) < TURNED:
        return None
    if turned < STILL * expected:
        return (
            Part.WHEELS,
            "has a speed, and its angle stands still",
            "its encoder is stuck or not connected",
            "in the driver: position in rad, from the encoder; turn the wheel by hand to try it",
        )
    ratio = float(integral @ turns) / float(turns @ turns)
    if ALIKE[0] < ratio < ALIKE[1]:
        return None
    what = f"has a speed of {spoken(ratio)} times what its angle says"
    if ratio < 0.0:
        why, line = "one of the two has the wrong sign", "in the driver: the same sign for both"
    elif min(abs(ratio / DEGREES - 1.0), abs(ratio * DEGREES - 1.0)) < 0.3:
        why, line = "one of the two is in degrees", "in the driver: rad and rad/s"
    else:
        why, line = "they are in different units", "in the driver: rad and rad/s"
    return Part.SPEEDS, what, why, line


def _beside_odometry(
    subject: CheckedRobot, turns: Array, stamps: Array, sides: Sides
) -> Iterator[CheckFinding]:
    robot, odometry = subject.robot, subject.stream(subject.topics.odom)
    if robot is None or odometry is None or len(odometry.values) < 3 or len(stamps) < 3:
        return
    signed = turns * np.array(robot.joints.directions)
    count = len(sides[0])
    pair = signed[:, :count].mean(axis=1), signed[:, count:].mean(axis=1)
    geometry = robot.geometry
    times = 0.5 * (stamps[1:] + stamps[:-1])
    of_wheels = (
        (geometry.left_radius * pair[0] + geometry.right_radius * pair[1]) / 2.0,
        (geometry.right_radius * pair[1] - geometry.left_radius * pair[0]) / geometry.separation,
    )
    other = np.array(odometry.values)
    for axis, (own, least, what, why) in enumerate(
        (
            (of_wheels[0], TURNED * geometry.left_radius, "forward", "signs of both wheels"),
            (of_wheels[1], TURNED, "turning left", "left and right swapped, or one wheel's sign"),
        )
    ):
        speed = np.interp(times, odometry.stamps[: len(other)], other[:, axis])
        reported = speed * np.diff(stamps)
        size = min(float(np.abs(own).sum()), float(np.abs(reported).sum()))
        if size < least or float(own @ reported) > -0.5 * math.sqrt(
            float(own @ own) * float(reported @ reported)
        ):
            continue
        yield CheckFinding(
            Severity.FAULT,
            Part.WHEELS,
            f"where {subject.topics.odom} says {what}, the wheels say the opposite",
            f"{why}: a controller would drive the robot away from where it should go",
            f"joints: {{left: NAME, right: NAME, signs: [1, 1]}}   ({file_of(subject)}: exchange "
            "the names, or -1)",
        )


def _sources(
    subject: CheckedRobot, stream: TopicStream, places: Sequence[int], names: Sequence[str]
) -> Iterator[CheckFinding]:
    publishers = subject.seen.partners(stream.topic, EndpointRole.PUBLISHES)
    counts = subject.robot.encoder.counts if subject.robot is not None else 0
    watch = SourceWatch(lambda: len(publishers), counts)
    angles = columns(stream, places, "position", names)
    for place, values in zip(places, angles.tolist(), strict=True):
        finding = watch.update(
            stream.stamps[place], tuple(values), stream.arrivals[place], stream.origins[place]
        )
        if finding is not None and finding.significant:
            yield CheckFinding(
                Severity.FAULT,
                Part.WHEELS,
                f"{stream.topic}: {finding.text}"
                + (f" ({named(publishers)})" if publishers else ""),
                "two sources tell of the same wheels: nodes stop as soon as they notice",
                f"ros2 topic info -v {stream.topic}   (stop all but one)",
            )
            return
