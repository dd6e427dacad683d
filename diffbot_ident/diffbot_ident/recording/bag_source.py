"""Topics of a rosbag2 recording as a stream."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np

from diffbot_ident.recording.bag import Bag
from diffbot_ident.recording.bag_topics import (
    ROLES,
    TWISTS,
    Reader,
    Topic,
    candidates,
    choose,
    joint_channels,
    joints,
    pair,
    stamp_of,
    twist,
)
from diffbot_ident.recording.options import (
    AUTO,
    TORQUE,
    VELOCITY,
    Opened,
    Options,
    needed_geometry,
    robot_of,
)
from diffbot_ident.recording.resample import WHEELS, BodyVelocitySource
from diffbot_ident.recording.stream import BLOCK, SET_BACK, Block, Progress, RecordingError

# ---
# The robot's time of messages that carry no stamp.
#
# A recording says when a message was logged, in wall time. Messages with a stamp say their robot
# time, which in a simulation runs at another pace. What has no stamp gets that of the newest
# stamped message before it, plus the time that passed since, at the pace of the robot's clock.

# Logged time over which the pace is measured, s; less is jitter.
SPAN = 0.5
# Stamped messages after which it is first known.
FIRST = 20
# Deviation of the pace from 1 beyond which a simulation does not run in real time.
REAL_TIME = 0.1
# A step of a stamp, beyond the time that passed, with which a clock was set, s.
JUMP = 1.0


class RobotClock:
    """Follows the stamps of one topic."""

    def __init__(self) -> None:
        self._logged = self._stamp = 0.0
        self._pace = 1.0
        self._count = 0
        self._anchor: tuple[float, float] | None = None
        self._first = (0.0, 0.0)

    @property
    def begun(self) -> bool:
        """Whether there was a stamp: from then on wall time is not the robot's time."""
        return self._count > 0

    @property
    def running(self) -> bool:
        """Whether the pace is known."""
        return self._count >= FIRST

    def stamped(self, logged: float, stamp: float) -> None:
        """A message with a stamp was logged; both in s."""
        passed = logged - self._logged
        jumped = stamp < self._stamp or abs(stamp - self._stamp - passed) > JUMP
        self._count += 1
        self._logged, self._stamp = logged, stamp
        if self._anchor is None or jumped:
            self._anchor = self._first = (logged, stamp)
        elif self._count == FIRST or logged - self._anchor[0] > SPAN:
            passed = max(logged - self._anchor[0], 1e-9)
            self._pace = (stamp - self._anchor[1]) / passed
            self._anchor = (logged, stamp)

    def time(self, logged: float) -> float:
        """Robot time of a message that was logged at this time, s; the clock must be running."""
        # Over all, as a simulator now and then runs in real time for a while.
        passed = max(self._logged - self._first[0], 1e-9)
        if abs((self._stamp - self._first[1]) / passed - 1.0) > REAL_TIME:
            # A simulator that waits for answers: what comes now answers the newest stamp.
            return self._stamp
        return self._stamp + max(0.0, logged - self._logged) * self._pace


# Messages without a stamp after which a driver is taken for one that gives none. A simulation says
# 0, which is none, until its time runs.
PATIENCE = 5000


@dataclass(frozen=True)
class Feed:
    """A topic and what is read of it.

    Attributes:
        topic: to read.
        channels: that a message gives.
        read: gives their values, or None for a message that has none.
    """

    topic: Topic
    channels: tuple[str, ...]
    read: Reader


class BagSource:
    """Reads topics; see stream.Source. Their blocks end together, so that none runs ahead.

    Args:
        bag: to read; it is used up.
        feeds: topics; stamps of the first one tell the robot's time, so it should be measured.
    """

    def __init__(self, bag: Bag, feeds: tuple[Feed, ...]) -> None:
        self._bag = bag
        self._feeds = {feed.topic.name: feed for feed in feeds}
        self._leading = feeds[0].topic.name
        self._clock = RobotClock()
        self._done = 0
        self._total = sum(feed.topic.count for feed in feeds)
        self.channels = tuple(name for feed in feeds for name in feed.channels)
        self.name = f"{bag.path.name} ({', '.join(self._feeds)})"

    @property
    def warnings(self) -> list[str]:
        """What was odd so far."""
        return self._bag.warnings

    @property
    def progress(self) -> Progress:
        """Messages read, and all."""
        return Progress(self._done, max(self._total, self._done))

    def blocks(self) -> Iterator[Block]:
        """See stream.Source."""
        stamped = self._has_stamps()
        decoders = {name: self._bag.decoder(feed.topic) for name, feed in self._feeds.items()}
        rows: dict[str, list[tuple[float, ...]]] = {name: [] for name in self._feeds}
        for name, logged, data in self._bag.messages(self._feeds):
            self._done += 1
            message = decoders[name](data)
            values = None if message is None else self._feeds[name].read(message)
            if values is None:
                continue
            time = self._time(name, 1e-9 * logged, stamp_of(message), stamped)
            if time is None:
                continue
            kept = rows[name]
            if len(kept) == BLOCK or (kept and time < kept[-1][0] - SET_BACK):
                yield from self._flush(rows)
                kept = rows[name]
            kept.append((time, *values))
        yield from self._flush(rows)

    def _has_stamps(self) -> bool:
        """Whether the leading topic tells the robot's time; else wall time is all there is."""
        look, leading = Bag(self._bag.path), self._feeds[self._leading].topic
        decode = look.decoder(leading)
        messages = look.messages([leading.name])
        try:
            found = (decode(data) for _, _, data in islice(messages, PATIENCE))
            return any(m is not None and stamp_of(m) is not None for m in found)
        finally:
            messages.close()

    def _time(self, name: str, logged: float, stamp: float | None, stamped: bool) -> float | None:
        """Robot time of a message, s; None while it is not known."""
        if name == self._leading and stamp is not None:
            self._clock.stamped(logged, stamp)
        if stamp is not None:
            return stamp
        if self._clock.running:
            return self._clock.time(logged)
        return None if stamped or self._clock.begun else logged

    def _flush(self, rows: dict[str, list[tuple[float, ...]]]) -> Iterator[Block]:
        for name, kept in rows.items():
            if kept:
                table = np.array(kept)
                channels = self._feeds[name].channels
                yield Block(table[:, 0], dict(zip(channels, table[:, 1:].T, strict=True)))
                rows[name] = []


# ---
# Which joints are the two driven wheels, by their names.

_SIDES = (("left", "right"), ("l", "r"), ("lh", "rh"), ("lhs", "rhs"))


def find_wheels(
    names: Sequence[str],
    left: str | None,
    right: str | None,
    described: Iterable[tuple[str, str]] = (),
) -> tuple[str, str]:
    """Names of the left and the right wheel.

    Args:
        names: of all joints in the recording.
        left: the user's choice; None: find it.
        right: the same.
        described: pairs that are taken where both are there, as of a robot's description.

    Raises:
        RecordingError: a chosen one is not there, or there is no pair, or more than one.
    """
    listed = ", ".join(names) or "none"
    for option, name in (("--left-joint", left), ("--right-joint", right)):
        if name is not None and name not in names:
            raise RecordingError(f"{option} {name}: not among the joints {listed}")
    if left is not None and right is not None:
        if left == right:
            raise RecordingError(f"--left-joint and --right-joint are both {left}: give two")
        return left, right
    for both in described:
        if set(both) <= set(names):
            return both
    pairs = [
        (a, b)
        for a in names
        for b in names
        if _counterparts(a, b) and left in (None, a) and right in (None, b)
    ]
    if len(pairs) > 1:
        # Of several pairs, such as arms and wheels, the one that says so.
        pairs = [pair for pair in pairs if "wheel" in pair[0].lower()] or pairs
    if len(pairs) == 1:
        return pairs[0]
    found = "no pair" if not pairs else "pairs " + ", ".join(f"{a}/{b}" for a, b in pairs)
    raise RecordingError(
        f"which joints are the wheels? {found} of left and right found by name; choose with "
        f"--left-joint NAME --right-joint NAME among: {listed}"
    )


def _counterparts(a: str, b: str) -> bool:
    words_a, words_b = (
        re.split(r"([^a-z]+)", re.sub(r"([a-z])([A-Z])", r"\1_\2", text).lower()) for text in (a, b)
    )
    if len(words_a) != len(words_b):
        return False
    different = [pair for pair in zip(words_a, words_b, strict=True) if pair[0] != pair[1]]
    return len(different) == 1 and different[0] in _SIDES


# ---
# Decides what to read of a rosbag2 recording.

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
