# SPDX-License-Identifier: Apache-2.0
"""The draft of a robot file from what was seen of a robot. Knows no ROS."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from arc_odometry.joint_names import side_of, words_of
from diffbot_check.observation import JointValues, Observation, TopicNames
from diffbot_description.command_kind import CommandKind
from diffbot_description.described_robot import described_from, write_robot_file
from diffbot_description.files import write_atomically
from diffbot_description.robot import FieldSpec, Robot
from diffbot_description.robot_parsing import present
from diffbot_description.terminal_text import printable
from diffbot_node.endpoints import EndpointRole
from diffbot_node.topic_types import TWISTS

FILE, URDF = "robot.yaml", "robot_description.urdf"
# What no topic shows, and the motion of a robot that takes velocities depends on.
UNSEEN = (
    "wheels.radius",
    "wheels.separation",
    "body.shape.front",
    "body.shape.rear",
    "body.shape.width",
    "limits.linear_velocity",
    "limits.angular_velocity",
)


@dataclass(frozen=True)
class RobotDraft:
    """A robot file that was written.

    Attributes:
        file: Its path; None if nothing could be written.
        seen: What was seen of the robot, and what was made of it, one sentence each.
        missing: Fields that must be typed into the file, each with its meaning.
    """

    file: Path | None
    seen: tuple[str, ...]
    missing: tuple[str, ...]


def write_draft(seen: Observation, topics: TopicNames, folder: Path) -> RobotDraft:
    """Write the file of a robot, as far as it can be seen; return what is in it and what is not.

    From /robot_description, if there is one that can be described; otherwise from the topics, for a
    robot that takes velocities.
    """
    kind, said = _kind(seen, topics)
    sentences = [said]
    if seen.description:
        try:
            return _described(seen.description, kind, folder, sentences)
        except ValueError as error:
            sentences.append(f"/robot_description cannot be used: {error}")
    else:
        sentences.append("no node publishes /robot_description")
        if kind is None and not seen.streams and not seen.transforms:
            sentences.append(
                "nothing is seen of a robot: start its driver, in this ROS_DOMAIN_ID, and name its "
                "topics (odom:=, cmd_vel:=)"
            )
            return RobotDraft(None, tuple(sentences), ())
    if kind is CommandKind.EFFORT:
        sentences.append(
            "a robot that takes torques needs its masses: make its file from a URDF, with describe"
        )
        return RobotDraft(None, tuple(sentences), ())
    return _from_topics(seen, topics, folder, sentences)


def _kind(seen: Observation, topics: TopicNames) -> tuple[CommandKind | None, str]:
    """Return what the robot takes by who subscribes, and a sentence."""
    velocity = [
        each
        for each in seen.partners(topics.cmd_vel, EndpointRole.SUBSCRIBES)
        if each.type in TWISTS
    ]
    effort = seen.partners(topics.efforts, EndpointRole.SUBSCRIBES)
    for kind, topic, partners in (
        (CommandKind.VELOCITY, topics.cmd_vel, velocity),
        (CommandKind.EFFORT, topics.efforts, effort),
    ):
        if partners and not (velocity and effort):
            names = ", ".join(printable(each.node) for each in partners)
            return kind, f"it takes {kind.value}: {names} subscribes to {topic}"
    both = f"both {topics.cmd_vel} and {topics.efforts} have subscribers"
    neither = f"no node subscribes to {topics.cmd_vel} or {topics.efforts}"
    return None, f"what it takes is not known: {both if velocity else neither}"


def _described(
    text: str, kind: CommandKind | None, folder: Path, sentences: list[str]
) -> RobotDraft:
    """Write the file of a robot with a URDF. Raises ValueError if it cannot be described."""
    source = write_atomically(folder / URDF, text)
    described = described_from(source)
    if described.robot.drive.command is None and kind is not None:
        described = described_from(source, command=kind)
    file = folder / FILE
    write_robot_file(described, file, "from /robot_description")
    sentences.append(f"made from /robot_description, which is in {source}")
    sentences += described.description.result
    for title, entries in described.description.notes:
        sentences += [f"{title}: {entry}" for entry in entries]
    return RobotDraft(file, tuple(sentences), ())


def _from_topics(
    seen: Observation, topics: TopicNames, folder: Path, sentences: list[str]
) -> RobotDraft:
    joints, said = _joints(seen, topics)
    sentences.append(said)
    sentences += _motion(seen, topics)
    content = content_of(CommandKind.VELOCITY, dict.fromkeys(UNSEEN))
    if joints:
        content["joints"] = {"left": joints[0], "right": joints[1]}
    lines = [
        "# A robot that takes velocities, made from its topics. Numbers that are missing must be",
        "# typed in; x points forward from the wheels' axle, y to the left.",
        *_lines(content, Robot, 0),
    ]
    file = write_atomically(folder / FILE, "\n".join(lines) + "\n")
    missing = tuple(f"{name}: {meaning_of(name)}" for name in UNSEEN)
    return RobotDraft(file, tuple(sentences), missing)


def content_of(kind: CommandKind, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a robot file with values by field, such as "wheels.radius"."""
    content: dict[str, Any] = {"name": "my_robot", "drive": {"command": kind.value}}
    for name, value in values.items():
        *sections, key = name.split(".")
        place = content
        for section in sections:
            place = place.setdefault(section, {})
        place[key] = value
    return content


def _joints(seen: Observation, topics: TopicNames) -> tuple[tuple[str, str] | None, str]:
    """Return the wheels' joints, left and right, and a sentence."""
    stream = seen.streams.get(topics.joint_states)
    values = stream.values[-1] if stream is not None and stream.values else None
    if not isinstance(values, JointValues):
        return None, f"no joint states on {topics.joint_states}"
    names = [name for name in values.names if "wheel" in words_of(name)] or list(values.names)
    left, right = ([name for name in names if side_of(name) == side] for side in ("left", "right"))
    if len(left) == len(right) == 1:
        return (left[0], right[0]), f"its wheels are {printable(left[0])} and {printable(right[0])}"
    shown = ", ".join(map(printable, values.names))
    return None, f"which of the joints {shown} are its wheels is not known: write joints, if needed"


def _motion(seen: Observation, topics: TopicNames) -> Iterator[str]:
    stream = seen.streams.get(topics.odom)
    if stream is not None and stream.count:
        frame = printable(stream.frame)
        yield f"odometry on {topics.odom}, {stream.rate:.0f} Hz, in frame '{frame}'"
    elif pairs := sorted(seen.transforms):
        shown = ", ".join(" to ".join(map(printable, pair)) for pair in pairs[:5])
        yield f"no odometry on {topics.odom}; transforms: {shown}"
    else:
        yield f"no odometry on {topics.odom}, and no transforms"


def _lines(content: dict[str, Any], section: Any, depth: int) -> Iterator[str]:
    """Yield the lines of a robot file, with the unit and meaning of what is missing."""
    kinds = get_type_hints(section, include_extras=True)
    pad = "  " * depth
    for key, value in content.items():
        if isinstance(value, dict):
            yield f"{pad}{key}:"
            yield from _lines(value, present(kinds[key]), depth + 1)
        elif value is None:
            yield f"{pad}{key}:   # TYPE IT: {_said(kinds[key])}"
        else:  # quoted: a name that was seen is a name, whatever it looks like
            yield f"{pad}{key}: {json.dumps(value)}"


def meaning_of(name: str) -> str:
    """Return meaning and unit of a field of a robot file, such as "wheels.radius"."""
    kind: Any = Robot
    for part in name.split("."):
        kind = present(get_type_hints(kind, include_extras=True)[part])
    return _said(kind)


def _said(kind: Any) -> str:
    parts: Sequence[Any] = get_args(kind) if get_origin(kind) is Annotated else ()
    spec = next(part for part in parts if isinstance(part, FieldSpec))
    return f"{spec.meaning}, {spec.unit}"
