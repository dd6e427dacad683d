# SPDX-License-Identifier: Apache-2.0
"""The robot's file beside /robot_description, and the frames."""

from __future__ import annotations

from collections.abc import Iterator

from arc_odometry.joint_names import meant
from diffbot_check.check_finding import CheckFinding, Part, Severity
from diffbot_check.joint_rules import file_of, several
from diffbot_check.observation import CheckedRobot
from diffbot_description.robot import Robot
from diffbot_description.spoken_commands import spoken
from diffbot_description.urdf_tree import ROLLING_TYPES, UrdfTree

# Relative difference of the track from which it matters, and least y component of an axle.
UNEQUAL, AXLE = 0.02, 0.5


def description(subject: CheckedRobot) -> Iterator[CheckFinding]:
    """Yield differences of the robot's file and /robot_description."""
    robot, text = subject.robot, subject.seen.description
    if robot is None:
        yield CheckFinding(
            Severity.NOTE,
            Part.DESCRIPTION,
            "no robot file was given: names, limits and signs are not compared",
            "the file tells the tasks which joints are the wheels and what they may do",
            f"{spoken('check', 'robot:=FILE')}   (describe makes one from a URDF)",
        )
        return
    if not text:
        return
    try:
        tree = UrdfTree(text)
    except ValueError as error:
        yield CheckFinding(
            Severity.NOTE, Part.DESCRIPTION, f"/robot_description: {error}", "it is not compared"
        )
        return
    yield from _joints(subject, robot, tree)


def _joints(subject: CheckedRobot, robot: Robot, tree: UrdfTree) -> Iterator[CheckFinding]:
    names = robot.joints.names
    rolling = [name for name, joint in tree.joints.items() if joint.type in ROLLING_TYPES]
    if missing := [name for name in names if name not in tree.joints]:
        yield CheckFinding(
            Severity.WARNING,
            Part.DESCRIPTION,
            f"/robot_description has no joint {several(missing)}{meant(missing, rolling)}",
            f"it describes another robot, or the file's names are wrong; it has {several(rolling)}",
            spoken("describe", "MY.urdf", "--output", "my_robot.yaml"),
        )
        return
    left, right = (
        float(tree.links[tree.joints[name].child].translation[1]) for name in robot.joints.first
    )
    if left < right:
        yield CheckFinding(
            Severity.FAULT,
            Part.WHEELS,
            f"'{robot.joints.first[0]}' is the file's left wheel, and on the right in "
            "/robot_description",
            "with swapped wheels the robot turns the wrong way, faster and faster",
            f"joints: {{left: {robot.joints.first[1]}, right: {robot.joints.first[0]}}}   "
            f"({file_of(subject)})",
        )
        return
    for name, sign in zip(names, robot.joints.directions, strict=True):
        axle = float(tree.axis(tree.joints[name])[1])
        if abs(axle) > AXLE and axle * sign < 0.0:
            yield CheckFinding(
                Severity.FAULT,
                Part.WHEELS,
                f"'{name}' rolls {'back' if axle < 0.0 else 'for'}ward with a positive angle in "
                f"/robot_description, and its sign in the file is {sign}",
                "a reversed wheel turns the robot on the spot, faster and faster",
                f"joints.signs   ({file_of(subject)}: {-sign} for this joint)",
            )
    track, own = left - right, robot.wheels.separation
    if abs(track - own) > UNEQUAL * own and len(names) == 2:
        yield CheckFinding(
            Severity.WARNING,
            Part.DESCRIPTION,
            f"the track is {track:.4g} m in /robot_description, and {own:.4g} m in the file",
            "turns are wrong in this proportion",
            f"{spoken('launch', 'calibrate', 'sim:=none')}   (measures it)",
        )


def frames(subject: CheckedRobot) -> Iterator[CheckFinding]:
    """Yield what is wrong with the tree of frames."""
    parents: dict[str, set[str]] = {}
    for parent, child in subject.seen.transforms:
        parents.setdefault(child, set()).add(parent)
    for child, above in sorted(parents.items()):
        if len(above) > 1:
            yield CheckFinding(
                Severity.WARNING,
                Part.DESCRIPTION,
                f"tf: {child} has {len(above)} parents: {', '.join(sorted(above))}",
                "its pose jumps between them: two nodes publish its odometry",
                "ros2 run tf2_tools view_frames",
            )
    odometry = subject.stream(subject.topics.odom)
    if odometry is None:
        return
    if not odometry.frame or not odometry.child:
        yield CheckFinding(
            Severity.WARNING,
            Part.ODOMETRY,
            f"{odometry.topic}: frame_id '{odometry.frame}', child_frame_id '{odometry.child}'",
            "poses and goals cannot be related to it",
            "in the driver: header.frame_id = 'odom', child_frame_id = 'base_link'",
        )
