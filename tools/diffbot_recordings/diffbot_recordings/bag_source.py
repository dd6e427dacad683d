# SPDX-License-Identifier: Apache-2.0
"""Read topics of rosbag2 recordings as samples in the robot's time.

Messages are logged in wall time, and stamped in the robot's, which in a simulation runs at another
pace. A message without a stamp gets the newest stamp before it plus the time since, at that pace.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

import numpy as np

from diffbot_recordings.bag import Bag, BagTopic
from diffbot_recordings.bag_motor import (
    INTERFACES,
    motor_columns,
    motor_topics,
    voltage_and_current,
)
from diffbot_recordings.bag_topics import (
    ROLES,
    Feed,
    Sides,
    candidates,
    choose,
    find_wheels,
    is_of_world,
    joined,
    joint_channels,
    joints,
    listed,
    stamp_of,
    torques,
    twist,
    twist_of_world,
)
from diffbot_recordings.options import (
    AUTO,
    MOTOR,
    TORQUE,
    VELOCITY,
    Options,
    geometry_of,
    needed_geometry,
    robot_of,
)
from diffbot_recordings.samples import (
    BATCH,
    MOTOR_CHANNELS,
    SET_BACK,
    TORQUE_COMMANDS,
    WHEELS,
    Batch,
    Recording,
    RecordingError,
    names_of_runs,
)
from diffbot_recordings.table_columns import Column

# Messages searched for joints' names, and for a torque other than 0.
NAMES, TORQUES = 200, 20000
# Messages after which a topic has no stamps; a simulation sends 0 until its time runs.
PATIENCE = 5000

# Logged time over which a clock's pace is measured, s.
SPAN = 0.5
# Stamped messages after which the pace is known.
FIRST = 20
# Largest deviation of a pace in real time from 1.
REAL_TIME = 0.1
# Difference of stamp and logged time from which a clock was set, s.
JUMP = 1.0


def open_bags(paths: Sequence[Path], options: Options) -> Recording:
    """Open recordings of one robot; the first one determines the kind of robot.

    Raises:
        RecordingError: They cannot be read, or it is not clear what to read.
    """
    if options.where or (options.columns and options.kind not in (AUTO, MOTOR)):
        raise RecordingError(
            "--where, and --columns except for motors, are for tables; topics of a rosbag2 "
            f"recording are chosen by {', '.join(role.option for role in ROLES.values())}"
        )
    bag = Bag(paths[0])
    try:
        return _opened(bag, paths, options)
    except RecordingError as error:
        if bag.path.name in str(error):
            raise
        # What is missing may be behind the damage or limit of these warnings.
        why = f" ({'; '.join(bag.warnings)})" if bag.warnings else ""
        raise RecordingError(f"{bag.path}: {error}{why}") from None


def _opened(bag: Bag, paths: Sequence[Path], options: Options) -> Recording:
    columns = motor_columns(bag, options) if _may_be_motor(bag, options) else None
    torque_joints = None
    if columns is None:
        if options.kind == MOTOR:
            raise _no_motor(bag)
        torque_joints = _torque_joints(bag, options)
    bags = [bag, *(Bag(path) for path in paths[1:])]
    if columns is not None:
        result = _motor(bags, columns, options)
    elif torque_joints is not None:
        result = _torque(bags, torque_joints, options)
    else:
        result = _velocity(bags, options)
    inside = [
        f"{bag.path}: read" for bag, path in zip(bags, paths, strict=True) if bag.path != path
    ]
    runs = names_of_runs(paths) if len(paths) > 1 else None
    return replace(result, notes=[*inside, *result.notes], runs=runs)


def _note(kind: str, options: Options) -> str:
    return f"kind of robot: {kind}" + ("" if options.kind == AUTO else " (as chosen)")


@dataclass(frozen=True)
class _Joints:
    """Content of joint states: fields that are not empty, and whether any effort is not 0."""

    topic: BagTopic
    wheels: Sides
    fields: frozenset[str]
    torque: bool


def _torque_joints(bag: Bag, options: Options) -> _Joints | None:
    there = {
        name: bool(options.topics[name] or candidates(bag.topics, role))
        for name, role in ROLES.items()
    }
    if options.kind == VELOCITY:
        return None
    by_velocity = there["cmd_vel"] and (there["odom"] or there["joint_states"])
    chosen = options.topics["cmd_vel"] or options.topics["odom"]
    if options.kind == AUTO and by_velocity and (chosen or _commanded_velocities(bag, options)):
        return None
    idle = False
    if there["joint_states"] or options.kind == TORQUE:
        try:
            joints = _joints(bag, options)
        except RecordingError:
            if options.kind == TORQUE or not by_velocity:
                raise
            return None
        idle = "effort" in joints.fields and not joints.torque
        if options.kind == TORQUE or joints.torque or (there["commands"] and not by_velocity):
            return joints
    if by_velocity:
        return None
    hint = "; the efforts of its joint states are all zero or no number" if idle else ""
    if any(topic.type == INTERFACES for topic in bag.topics.values()):
        hint += f"; of {INTERFACES} only voltages and currents are read: record joint states, too"
    raise RecordingError(
        f"{bag.path}: nothing to identify. A torque robot needs joint states of both wheels, with "
        "efforts or with torque commands; a velocity robot needs velocity commands and odometry. "
        f"The recording has: {listed(bag.topics.values())}{hint}"
    )


def _commanded_velocities(bag: Bag, options: Options) -> bool:
    """Whether robot file or recorded run say that the robot, with efforts or not, takes cmd_vel."""
    robot = robot_of(options)
    return (robot is not None and robot.takes_velocity) or any(
        topic.type == "diffbot_msgs/msg/VelocityTrackingStatus"
        or topic.name.endswith("/velocity_ident/status")
        for topic in bag.topics.values()
    )


def _joints(bag: Bag, options: Options) -> _Joints:
    topic = choose(bag.topics, ROLES["joint_states"], options.topics["joint_states"])
    with closing(bag.peek(topic)) as messages:
        first = list(islice(messages, NAMES))
        names = list(dict.fromkeys(name for message in first for name in message.name))
        wheels = find_wheels(names, options.left_joint, options.right_joint, robot_of(options))
        fields = frozenset(
            field
            for field in ("position", "velocity", "effort")
            if any(wheels[0][0] in m.name and len(getattr(m, field)) for m in first)
        )
        torque = "effort" in fields
        if torque:
            read = joints(wheels, ("effort",), robot_of(options))
            values = (read(message) for message in chain(first, islice(messages, TORQUES)))
            torque = any(v is not None and np.any(np.nan_to_num(v)) for v in values)
    return _Joints(topic, wheels, fields, torque)


def _torque(bags: Sequence[Bag], result: _Joints, options: Options) -> Recording:
    geometry = needed_geometry(options, "to turn angles into motion")
    if "position" not in result.fields:
        raise RecordingError(
            f"{result.topic.name} holds no positions of {' and '.join(joined(result.wheels))}: the "
            "wheels' angles are needed"
        )
    own = options.effort_source == "joint_states"
    if options.effort_source == AUTO:
        own = result.torque
    if own and not result.torque:
        raise RecordingError(
            f"{result.topic.name} holds no effort but zeros or no numbers; use --effort-source "
            "commands"
        )
    fields = tuple(
        field
        for field in ("position", "velocity", "effort")
        if field in result.fields and (own or field != "effort")
    )
    read = joints(result.wheels, fields, robot_of(options))
    sources: list[BagSource] = []
    for bag in bags:
        states = choose(bag.topics, ROLES["joint_states"], result.topic.name)
        feeds = [Feed(states, joint_channels(fields), read)]
        if not own:
            commands = choose(bag.topics, ROLES["commands"], options.topics["commands"])
            feeds.append(Feed(commands, TORQUE_COMMANDS, torques(result.wheels, robot_of(options))))
        sources.append(BagSource(bag, feeds))
    efforts = "joint states" if own else "the commands"
    wheels = f"wheels: {', '.join(joined(result.wheels))}; torques: of {efforts}"
    return Recording(
        TORQUE,
        sources,
        channels=tuple(name for feed in feeds for name in feed.channels),
        geometry=geometry,
        samples=_samples(sources),
        notes=[_note(TORQUE, options), wheels],
        wheels=joined(result.wheels),
        optional=WHEELS,
    )


def _may_be_motor(bag: Bag, options: Options) -> bool:
    """Whether to look for motors: not if it suits a velocity or torque robot."""
    if options.columns or options.kind == MOTOR:
        return True
    reported = [topic for role, topic in options.topics.items() if role != "joint_states"]
    if options.kind != AUTO or any(reported) or not voltage_and_current(bag, options):
        return False
    if candidates(bag.topics, ROLES["cmd_vel"]):
        return False
    scale = (options.torque_constant, options.mass, options.load, options.robot)
    if options.effort_unit == "ampere" and scale == (None,) * 4:
        return True
    try:
        return not _joints(bag, options).torque
    except RecordingError:
        return True


def _no_motor(bag: Bag) -> RecordingError:
    return RecordingError(
        f"{bag.path}: voltage, current and speed of both motors are not all found by name; name "
        f"them by --columns CHANNEL=TOPIC.FIELD,… of {', '.join(MOTOR_CHANNELS)}, such as "
        f"left_voltage=/motor_voltages.data[0]. The recording has: {listed(bag.topics.values())}"
    )


def _motor(bags: Sequence[Bag], columns: Mapping[str, Column], options: Options) -> Recording:
    feeds = [motor_topics(bag, columns) for bag in bags]
    sources = [BagSource(bag, own) for bag, own in zip(bags, feeds, strict=True)]
    fields = [f"  {', '.join(f'{c} = {columns[c]}' for c in feed.channels)}" for feed in feeds[-1]]
    return Recording(
        MOTOR,
        sources,
        MOTOR_CHANNELS,
        samples=_samples(sources),
        notes=[*fields, _note(MOTOR, options)],
        apart=any(len(own) > 1 for own in feeds),
    )


def _velocity(bags: Sequence[Bag], options: Options) -> Recording:
    sources: list[BagSource] = []
    of_wheels = False
    notes = [_note(VELOCITY, options)]
    for bag in bags:
        commands = choose(bag.topics, ROLES["cmd_vel"], options.topics["cmd_vel"])
        driven = Feed(commands, ("command_v", "command_w"), twist)
        if _has_odometry(bag, options):
            odometry = choose(bag.topics, ROLES["odom"], options.topics["odom"])
            with closing(bag.peek(odometry)) as messages:
                of_world = is_of_world(islice(messages, TORQUES))
            if of_world:
                notes.append(
                    f"{bag.path.name}: the twist of {odometry.name} is in the frame of its pose "
                    "(linear.y is not 0), not in the robot's: the velocity forward is computed "
                    "with the heading of each pose"
                )
            measured = Feed(odometry, ("v", "w"), twist_of_world if of_world else twist)
        else:
            result = _joints(bag, options)
            needed_geometry(options, "to turn wheel speeds into motion")
            read = joints(result.wheels, ("velocity",), robot_of(options))
            measured = Feed(result.topic, joint_channels(("velocity",)), read)
            of_wheels = True
        sources.append(BagSource(bag, (measured, driven)))
    return Recording(
        VELOCITY,
        sources,
        channels=("command_v", "command_w", "v", "w", *(WHEELS if of_wheels else ())),
        geometry=geometry_of(options),
        samples=_samples(sources),
        from_wheels=("v", "w") if of_wheels else (),
        notes=notes,
    )


def _samples(sources: Sequence[BagSource]) -> int:
    return sum(source.leading.count for source in sources)


def _has_odometry(bag: Bag, options: Options) -> bool:
    if options.topics["odom"] is not None:
        return True
    if options.topics["joint_states"] is not None:
        return False
    odometry, states = (candidates(bag.topics, ROLES[role]) for role in ("odom", "joint_states"))
    return bool(odometry) or not states


class BagSource:
    """Reads topics; see samples.Source. When the clock is set back, all blocks end together.

    Args:
        bag: Recording; it can be read only once.
        feeds: Topics to read. The stamps of the first one define the robot's time.
    """

    def __init__(self, bag: Bag, feeds: Sequence[Feed]) -> None:
        self._bag = bag
        self._feeds = {feed.topic.name: feed for feed in feeds}
        self.leading = feeds[0].topic
        self._clock = RobotClock()
        # Stamps of other topics minus the robot's time when they were logged, s.
        self._apart: dict[str, array[float]] = {name: array("d") for name in self._feeds}
        self.warnings = bag.warnings
        self.done = 0
        self.total = sum(feed.topic.count for feed in feeds)
        self.name = f"{bag.path.name} ({', '.join(self._feeds)})"

    def batches(self) -> Iterator[Batch]:
        """See samples.Source."""
        stamped = self._has_stamps()
        decoders = {name: self._bag.decoder(feed.topic) for name, feed in self._feeds.items()}
        rows: dict[str, list[tuple[float, ...]]] = {name: [] for name in self._feeds}
        for name, logged, data in self._bag.messages(self._feeds):
            self.done += 1
            self.total = max(self.total, self.done)
            message = decoders[name](data)
            values = None if message is None else self._feeds[name].read(message)
            if values is None:
                continue
            time = self._time(name, 1e-9 * logged, stamp_of(message), stamped)
            if time is None:
                continue
            kept = rows[name]
            if len(kept) == BATCH or (kept and time < kept[-1][0] - SET_BACK):
                yield from self._flush(rows)
                kept = rows[name]
            kept.append((time, *values))
        yield from self._flush(rows)
        self._check_clocks()

    def _check_clocks(self) -> None:
        for name, apart in self._apart.items():
            late = float(np.median(apart)) if len(apart) > FIRST else 0.0
            if abs(late) > JUMP:
                side = "before" if late < 0.0 else "after"
                raise RecordingError(
                    f"{self._bag.path.name}: {name} and {self.leading.name} have two clocks: at "
                    f"the same time, {name} is stamped {abs(late):.10g} s {side} "
                    f"{self.leading.name}; at most {JUMP:g} s is possible: set the clocks of both "
                    "computers by NTP, or stamp both topics by the same clock"
                )

    def _has_stamps(self) -> bool:
        with closing(self._bag.peek(self.leading)) as messages:
            return any(stamp_of(m) is not None for m in islice(messages, PATIENCE))

    def _time(self, name: str, logged: float, stamp: float | None, stamped: bool) -> float | None:
        """Return the robot's time of a message, s; None while it is not known."""
        if name == self.leading.name and stamp is not None:
            self._clock.stamped(logged, stamp)
        if stamp is not None:
            if name != self.leading.name and self._clock.running:
                self._apart[name].append(stamp - self._clock.time(logged))
            return stamp
        if self._clock.running:
            return self._clock.time(logged)
        return None if stamped or self._clock.begun else logged

    def _flush(self, rows: dict[str, list[tuple[float, ...]]]) -> Iterator[Batch]:
        for name, kept in rows.items():
            if kept:
                table = np.array(kept)
                channels = self._feeds[name].channels
                yield Batch(table[:, 0], dict(zip(channels, table[:, 1:].T, strict=True)))
                rows[name] = []


class RobotClock:
    """Estimates the robot's time of any message from the stamps of one topic."""

    def __init__(self) -> None:
        self._logged = self._stamp = 0.0
        self._pace = 1.0
        self._count = 0
        self._anchor: tuple[float, float] | None = None
        self._first = (0.0, 0.0)

    @property
    def begun(self) -> bool:
        """Whether there was a stamp, after which wall time no longer serves as the robot's time."""
        return self._count > 0

    @property
    def running(self) -> bool:
        """Whether the pace is known."""
        return self._count >= FIRST

    def stamped(self, logged: float, stamp: float) -> None:
        """Update the clock by a message with a stamp, logged at `logged`; both in s."""
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
        """Return the robot's time at a logged time, s; the clock must be running."""
        # Pace since the first stamp: a simulator may run in real time for a while.
        passed = max(self._logged - self._first[0], 1e-9)
        if abs((self._stamp - self._first[1]) / passed - 1.0) > REAL_TIME:
            # The simulator waits for commands: they respond to the newest stamp.
            return self._stamp
        return self._stamp + max(0.0, logged - self._logged) * self._pace
