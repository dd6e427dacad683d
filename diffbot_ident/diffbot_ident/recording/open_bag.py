"""Decides what to read of a rosbag2 recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np

from diffbot_ident.recording.bag import Bag
from diffbot_ident.recording.bag_part import Topic
from diffbot_ident.recording.bag_source import BagSource, Feed
from diffbot_ident.recording.bag_topics import ROLES, candidates, choose
from diffbot_ident.recording.body_velocity import WHEELS, BodyVelocitySource
from diffbot_ident.recording.message_fields import TWISTS, joint_channels, joints, pair, twist
from diffbot_ident.recording.opened import Opened, needed_geometry, robot_of
from diffbot_ident.recording.options import AUTO, TORQUE, VELOCITY, Options
from diffbot_ident.recording.stream import RecordingError
from diffbot_ident.recording.wheel_joints import find_wheels

# Messages that are looked at for the names of joints, and for a torque that is not zero.
NAMES, TORQUES = 200, 20000
VELOCITY_CHANNELS = ("command_v", "command_w", "v", "w")


@dataclass(frozen=True)
class _Joints:
    """What the joint states of a recording hold."""

    topic: Topic
    wheels: tuple[str, str]
    fields: frozenset[str]
    torque: bool


def open_bags(paths: Sequence[Path], options: Options) -> Opened:
    """Sources of one or more recordings of the same robot, decided by the first one.

    Raises:
        RecordingError: they cannot be read, or it is not clear what to read.
    """
    bag = Bag(paths[0])
    kind, found = _kind(bag, options)
    notes = [f"kind of robot: {kind}" + ("" if options.kind == AUTO else " (as chosen)")]
    bags = [bag, *(Bag(path) for path in paths[1:])]
    if kind == TORQUE:
        return _torque(bags, found, options, notes)
    return _velocity(bags, options, notes)


def _kind(bag: Bag, options: Options) -> tuple[str, _Joints | None]:
    """Kind of the robot, and its joint states where they matter."""
    there = {
        name: bool(options.topics[name] or candidates(bag.topics, role))
        for name, role in ROLES.items()
    }
    if options.kind == VELOCITY:
        return VELOCITY, None
    by_velocity = there["cmd_vel"] and (there["odom"] or there["joint_states"])
    if (
        options.kind == AUTO
        and by_velocity
        and (options.topics["cmd_vel"] or options.topics["odom"])
    ):
        return VELOCITY, None
    idle = False
    if there["joint_states"] or options.kind == TORQUE:
        try:
            found = _joints(bag, options)
        except RecordingError:
            if options.kind == TORQUE or not by_velocity:
                raise
            return VELOCITY, None
        idle = "effort" in found.fields and not found.torque
        if options.kind == TORQUE or found.torque or (there["commands"] and not by_velocity):
            return TORQUE, found
    if by_velocity:
        return VELOCITY, None
    zero = "; the efforts of its joint states are all zero" if idle else ""
    listed = ", ".join(f"{t.name} ({t.type})" for t in bag.topics.values()) or "nothing"
    raise RecordingError(
        f"{bag.path}: nothing to identify. A torque robot needs joint states of both wheels, with "
        "efforts or with torque commands; a velocity robot needs velocity commands and odometry. "
        f"The recording has: {listed}{zero}"
    )


def _joints(bag: Bag, options: Options) -> _Joints:
    topic = choose(bag.topics, ROLES["joint_states"], options.topics["joint_states"])
    decode = bag.decoder(topic)
    look = Bag(bag.path)
    messages = look.messages([topic.name])
    try:
        every = (m for _, _, data in messages if (m := decode(data)) is not None)
        first = list(islice(every, NAMES))
        names = list(dict.fromkeys(name for message in first for name in message.name))
        robot = robot_of(options)
        described = [] if robot is None else [(robot.joints.left, robot.joints.right)]
        wheels = find_wheels(names, options.left_joint, options.right_joint, described)
        fields = frozenset(
            field
            for field in ("position", "velocity", "effort")
            if any(wheels[0] in m.name and len(getattr(m, field)) for m in first)
        )
        torque = "effort" in fields
        if torque:
            read = joints(*wheels, ("effort",))
            values = (read(message) for message in chain(first, islice(every, TORQUES)))
            torque = any(v is not None and np.any(np.nan_to_num(v)) for v in values)
    finally:
        messages.close()
    return _Joints(topic, wheels, fields, torque)


def _torque(bags: list[Bag], found: _Joints, options: Options, notes: list[str]) -> Opened:
    needed_geometry(options, "to turn angles into motion")
    if "position" not in found.fields:
        raise RecordingError(
            f"{found.topic.name} holds no positions of {' and '.join(found.wheels)}: the wheels' "
            "angles are needed"
        )
    own = found.torque if options.effort_source == AUTO else options.effort_source == "joint_states"
    if own and not found.torque:
        raise RecordingError(
            f"{found.topic.name} holds no effort that is not zero; use --effort-source commands"
        )
    fields = tuple(
        field
        for field in ("position", "velocity", "effort")
        if field in found.fields and (own or field != "effort")
    )
    read = joints(*found.wheels, fields)
    sources, samples = [], 0
    for bag in bags:
        states = choose(bag.topics, ROLES["joint_states"], found.topic.name)
        feeds = [Feed(states, joint_channels(fields), read)]
        if not own:
            commands = choose(bag.topics, ROLES["commands"], options.topics["commands"])
            feeds.append(Feed(commands, ("command_left", "command_right"), pair))
        sources.append(BagSource(bag, tuple(feeds)))
        samples += states.count
    efforts = "joint states" if own else "the commands"
    notes.append(f"wheels: {found.wheels[0]}, {found.wheels[1]}; torques: of {efforts}")
    channels = tuple(name for feed in feeds for name in feed.channels)
    return Opened(TORQUE, sources, channels, samples=samples, notes=notes)


def _velocity(bags: list[Bag], options: Options, notes: list[str]) -> Opened:
    sources, samples = [], 0
    chosen, channels, from_wheels = options.topics, VELOCITY_CHANNELS, ()
    for bag in bags:
        commands = choose(bag.topics, ROLES["cmd_vel"], chosen["cmd_vel"])
        driven = Feed(commands, ("command_v", "command_w"), TWISTS[commands.type])
        use_joints = chosen["joint_states"] is not None and chosen["odom"] is None
        odometry = None
        if not use_joints:
            role = ROLES["odom"]
            fallback = bool(candidates(bag.topics, ROLES["joint_states"]))
            odometry = choose(bag.topics, role, chosen["odom"], required=not fallback)
        if odometry is not None:
            source = BagSource(bag, (Feed(odometry, ("v", "w"), twist), driven))
            samples += odometry.count
        else:
            found = _joints(bag, options)
            read = joints(*found.wheels, ("velocity",))
            feed = Feed(found.topic, joint_channels(("velocity",)), read)
            geometry = needed_geometry(options, "to turn wheel speeds into motion")
            source = BodyVelocitySource(BagSource(bag, (feed, driven)), geometry)
            channels, from_wheels = (*VELOCITY_CHANNELS, *WHEELS), ("v", "w")
            samples += found.topic.count
        sources.append(source)
    return Opened(
        VELOCITY, sources, channels, samples=samples, from_wheels=from_wheels, notes=notes
    )
