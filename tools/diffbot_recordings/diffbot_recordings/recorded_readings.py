# SPDX-License-Identifier: Apache-2.0
"""Read wheels, gyro and poses for a calibration from recordings (bags or tables).

Poses are PoseWithCovarianceStamped, PoseStamped, Odometry or transforms; odometry of a frame `odom`
only if it is named. It stands for the wheels where a recording holds no joint states.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_description import Robot
from diffbot_node.topic_types import IMU, LASER, ODOMETRY, POSES
from diffbot_recordings.bag_topics import (
    NO_TOPIC,
    ROLES,
    Sides,
    TopicRole,
    Transforms,
    candidates,
    choose,
    find_wheels,
    joined,
    joints,
    planar_pose,
    stamp_of,
    without_rosbags,
)
from diffbot_recordings.counter_wraps import continuous
from diffbot_recordings.laser_poses import LASER_ERRORS, LaserPoses, scan_of
from diffbot_recordings.options import NEWTON_METRE
from diffbot_recordings.samples import (
    EFFORTS,
    POSITIONS,
    TABLES,
    RecordingError,
    check_files,
    is_number,
)
from diffbot_recordings.segments import Segment
from diffbot_recordings.sensor_readings import (
    FASTEST,
    Array,
    CalibrationReadings,
    CommonPoseErrors,
    GyroReadings,
    PoseReadings,
    Subject,
    WheelTurns,
    longest_whole,
    odometry_turns,
)
from diffbot_recordings.sensor_turns import DEGREE, CalibrationError, follows
from diffbot_recordings.table import CsvSource
from diffbot_recordings.table_columns import GYRO, GYRO_NAMES, KNOWN, TIME, Column, beyond_wheels
from diffbot_recordings.table_rows import RowFilter
from diffbot_recordings.wheel_sources import WheelSources

if TYPE_CHECKING:
    from diffbot_recordings.bag import Bag, BagTopic

GYROS = TopicRole("--imu", (IMU,), "gyro")
POSE_TYPES = (*POSES, ODOMETRY)
POSE = TopicRole("--pose", (*POSE_TYPES, LASER), "poses of a pose source, or scans of a laser")
TF_TOPICS = "/tf", "tf"
AXES = ("x", "y", "z")
SEARCHED = 200
# Between joined recordings, s; longer than a gap of the wheels.
TIME_BETWEEN = 2.0
# Share of turns that the wheels explain for the right gyro axis.
OTHER_AXIS_FRACTION = 0.7

ODOMETRY_POSE = ("odom_x", "odom_y", "odom_yaw")
TABLE_CHANNELS: Mapping[str, tuple[str, ...]] = {
    TIME: KNOWN[TIME],
    "left_position": (*KNOWN["left_position"], "left_wheel_angle", "left"),
    "right_position": (*KNOWN["right_position"], "right_wheel_angle", "right"),
    "gyro_x": ("gyro_x", "angular_velocity.x", "angular_velocity_x"),
    "gyro_y": ("gyro_y", "angular_velocity.y", "angular_velocity_y"),
    GYRO: (*GYRO_NAMES, "yaw_rate"),
    "odom_x": ("odom_x", "odom.pose.pose.position.x"),
    "odom_y": ("odom_y", "odom.pose.pose.position.y"),
    "odom_yaw": ("odom_yaw", "odom_theta"),
    "pose_x": ("pose_x", "x", "map_x"),
    "pose_y": ("pose_y", "y", "map_y"),
    "pose_yaw": ("pose_yaw", "yaw", "theta", "heading"),
}
# One axis of a gyro suffices; of the others, all channels are needed.
SENSORS: Mapping[str, tuple[str, ...]] = {
    "wheels": POSITIONS,
    "odometry": ODOMETRY_POSE,
    "gyro": ("gyro_x", "gyro_y", GYRO),
    "poses": ("pose_x", "pose_y", "pose_yaw"),
}


@dataclass(frozen=True)
class ReadingOptions:
    """What to read; None: find it, or there is none.

    Attributes:
        imu, pose: Topics; NO_TOPIC: use none.
        gyro_axis: Axis that points up: "z", "-z", "x" and so on.
        odom: Topic of the odometry that is calibrated instead of the wheels.
        tf: Frames (fixed, of the robot) whose transform is the pose source.
        columns: Columns of tables, by the channels of TABLE_CHANNELS; empty: find them by name.
    """

    joint_states: str | None = None
    left: str | None = None
    right: str | None = None
    imu: str | None = None
    gyro_axis: str = "z"
    pose: str | None = None
    tf: tuple[str, str] | None = None
    odom: str | None = None
    columns: Mapping[str, Column] = field(default_factory=dict)
    rows: RowFilter = RowFilter()
    robot: Robot | None = None


@dataclass(frozen=True)
class RecordedReadings(CalibrationReadings):
    """Readings from recordings, with notes and warnings for the user."""

    notes: list[str] = field(default_factory=list)


@dataclass
class _Rows:
    """Rows [stamp, values...] of each sensor in one recording, in recorded order."""

    wheels: list[tuple[float, ...]] = field(default_factory=list)
    odometry: list[tuple[float, ...]] = field(default_factory=list)
    gyro: list[tuple[float, ...]] = field(default_factory=list)
    poses: list[tuple[float, ...]] = field(default_factory=list)
    pose_errors: CommonPoseErrors = CommonPoseErrors()
    notes: list[str] = field(default_factory=list)


def read_readings(
    paths: Sequence[Path], options: ReadingOptions, geometry: WheelGeometry
) -> RecordedReadings:
    """Read recordings of one robot, all with the same sensors, and join them one after another.

    `geometry` is to check the gyro's axis against the turns of the wheels.

    Raises:
        RecordingError: A file cannot be read, or holds no wheels.
        CalibrationError: The gyro's axis is not the one that points up.
        ReadingsError: Values cannot be used.
    """
    parts = []
    check_files(paths)
    for path in paths:
        table = path.suffix.lower() in TABLES
        rows = _table_rows(path, options, geometry) if table else _bag_rows(path, options)
        parts.append(_readings(path, rows, options, geometry))
    return parts[0] if len(parts) == 1 else _joined(parts)


# Tables.


def _table_rows(path: Path, options: ReadingOptions, geometry: WheelGeometry) -> _Rows:
    groups = (
        *(SENSORS["wheels"], SENSORS["odometry"]),
        *zip(SENSORS["gyro"], strict=True),
        SENSORS["poses"],
    )

    def find(names: Sequence[str]) -> Sides:
        return find_wheels(names, options.left, options.right, options.robot)

    source = CsvSource(
        path, options.columns, options.rows, TABLE_CHANNELS, groups, options.robot, find
    )
    missing = [name for name in POSITIONS if name not in source.channels]
    if missing and not {*ODOMETRY_POSE} <= {*source.channels}:
        raise RecordingError(
            f"{path}: no column holds {' and '.join(missing)} (angles of the wheels, rad), nor "
            f"do columns hold {', '.join(ODOMETRY_POSE)} (odometry, m, m, rad); name "
            f"them with --columns CHANNEL=COLUMN,…; {source.unknown}"
        )
    source.check_units(source.channels, NEWTON_METRE)
    source.fastest = beyond_wheels(options.robot, geometry)
    rows = _Rows()
    for batch in source.batches():
        for name, channels in SENSORS.items():
            if batch.channels.keys() & {*channels}:
                absent = np.full(len(batch.times), math.nan)
                values = (batch.channels.get(channel, absent) for channel in channels)
                getattr(rows, name).extend(np.column_stack((batch.times, *values)).tolist())
    rows.notes += [*source.understood, *source.warnings]
    return rows


# Bags.


def _bag_rows(path: Path, options: ReadingOptions) -> _Rows:
    try:
        from diffbot_recordings.bag import Bag
    except ModuleNotFoundError as error:
        raise without_rosbags(error) from None
    if options.columns:
        raise RecordingError("--columns is for tables; topics are chosen by --imu, --pose, --tf")
    bag = Bag(path)
    rows = _Rows()
    laser: LaserPoses | None = None
    feeds: dict[str, tuple[Callable[[Any], Iterable[tuple[float, ...]]], list[Any]]] = {}
    odometry = _odometry_topic(bag, options)
    if odometry is not None:
        feeds[odometry.name] = _stamped(planar_pose), rows.odometry
        listed = [f"odometry {odometry.name}"]
    else:
        states = choose(bag.topics, ROLES["joint_states"], options.joint_states)
        wheels = _wheels(bag, states, options)
        feeds[states.name] = _stamped(joints(wheels, ("position",), options.robot)), rows.wheels
        listed = [f"wheels {', '.join(joined(wheels))} of {states.name}"]
    imu = _imu_topic(bag, options)
    if imu is not None:
        feeds[imu.name] = _stamped(_rates), rows.gyro
        listed.append(f"gyro {imu.name}")
    if options.tf is not None:
        topic = next((bag.topics[n] for n in TF_TOPICS if n in bag.topics), None)
        if topic is None:
            raise RecordingError(f"--tf: {path} holds no /tf; record it, or name --pose TOPIC")
        feeds[topic.name] = Transforms(*options.tf).read, rows.poses
        listed.append(f"poses {options.tf[0]} -> {options.tf[1]} of {topic.name}")
    elif (pose := _pose_topic(bag, options)) is not None:
        if pose.name in feeds:
            raise RecordingError(
                f"--pose {pose.name}: this odometry is calibrated; name another pose source, or "
                "with --odom another odometry"
            )
        if pose.type == LASER:
            laser, rows.pose_errors = LaserPoses(), LASER_ERRORS
            feeds[pose.name] = _scanned(laser), rows.poses
        else:
            feeds[pose.name] = _stamped(planar_pose), rows.poses
        listed.append(f"poses {pose.name} ({pose.type})")
    decoders = {name: bag.decoder(bag.topics[name]) for name in feeds}
    for name, _, data in bag.messages(feeds):
        message = decoders[name](data)
        if message is not None:
            read, kept = feeds[name]
            kept.extend(read(message))
    if options.tf is not None and not rows.poses:
        raise RecordingError(
            f"--tf {' '.join(options.tf)}: /tf of {path} never holds the transform between these "
            "frames, direct or via one frame; check with ros2 run tf2_tools view_frames"
        )
    if laser is not None and laser.sentence():
        if refusal := laser.refusal():
            raise RecordingError(f"{path}: {refusal}")
        listed.append(laser.sentence())
    rows.notes += [f"{path.name}: {', '.join(listed)}", *bag.warnings]
    return rows


def _wheels(bag: Bag, states: BagTopic, options: ReadingOptions) -> Sides:
    with closing(bag.peek(states)) as messages:
        names = list(dict.fromkeys(n for m in islice(messages, SEARCHED) for n in m.name))
    if not names:
        raise RecordingError(
            f"{states.name} names no joint, or holds no message: record it while the robot drives"
        )
    try:
        return find_wheels(names, options.left, options.right, options.robot)
    except RecordingError as error:
        text = str(error).replace("--left-joint", "--left").replace("--right-joint", "--right")
        raise RecordingError(text) from None


def _imu_topic(bag: Bag, options: ReadingOptions) -> BagTopic | None:
    if options.imu == NO_TOPIC or (options.imu is None and not candidates(bag.topics, GYROS)):
        return None
    return choose(bag.topics, GYROS, options.imu)


def _odometry_topic(bag: Bag, options: ReadingOptions) -> BagTopic | None:
    if options.odom is not None:
        return choose(bag.topics, ROLES["odom"], options.odom)
    if options.joint_states is not None or candidates(bag.topics, ROLES["joint_states"]):
        return None
    own = [
        topic
        for topic in candidates(bag.topics, ROLES["odom"])
        if topic.name != options.pose and _is_odometry(bag, topic)
    ]
    if len(own) > 1:
        raise RecordingError(
            "which topic holds the odometry to calibrate? Choose with --odom TOPIC among: "
            + ", ".join(topic.name for topic in own)
        )
    return own[0] if own else None


def _is_odometry(bag: Bag, topic: BagTopic) -> bool:
    """Whether a topic's poses are in a frame odom, so that wheels caused them, or it is empty."""
    with closing(bag.peek(topic)) as messages:
        first = next(messages, None)
    return first is None or first.header.frame_id.strip("/").endswith("odom")


def _pose_topic(bag: Bag, options: ReadingOptions) -> BagTopic | None:
    if options.pose == NO_TOPIC:
        return None
    if options.pose is not None:
        return choose(bag.topics, POSE, options.pose)
    independent = [
        topic
        for topic in candidates(bag.topics, POSE)
        if not (topic.type == ODOMETRY and _is_odometry(bag, topic))
    ]
    # A localisation sees more than the scans alone do.
    independent = [each for each in independent if each.type != LASER] or independent
    if len(independent) > 1:
        raise RecordingError(
            "which topic holds the poses of a pose source? Choose with --pose TOPIC among: "
            + ", ".join(f"{t.name} ({t.type})" for t in independent)
        )
    return independent[0] if independent else None


def _stamped(
    read: Callable[[Any], Sequence[float] | None],
) -> Callable[[Any], Iterable[tuple[float, ...]]]:
    def rows(message: Any) -> Iterable[tuple[float, ...]]:
        values, stamp = read(message), stamp_of(message)
        return () if values is None or stamp is None else ((stamp, *values),)

    return rows


def _scanned(laser: LaserPoses) -> Callable[[Any], Iterable[tuple[float, ...]]]:
    def rows(message: Any) -> Iterable[tuple[float, ...]]:
        scan = scan_of(message)
        return laser.rows[-1:] if scan is not None and laser.add(scan) else ()

    return rows


def _rates(message: Any) -> tuple[float, float, float]:
    rate = message.angular_velocity
    return float(rate.x), float(rate.y), float(rate.z)


# Both.


def _readings(
    path: Path, rows: _Rows, options: ReadingOptions, geometry: WheelGeometry
) -> RecordedReadings:
    subject = Subject.ODOMETRY if rows.odometry and not rows.wheels else Subject.WHEELS
    if subject is Subject.ODOMETRY:
        turns, lost = odometry_turns(_in_order(rows.odometry), geometry)
        if lost:
            rows.notes.append(
                f"{path.name}: the odometry jumped or was reset: {lost} poses ignored"
            )
    else:
        turns = _wheel_turns(path, rows)
    poses = _in_order(rows.poses)
    gyro = _gyro(turns, rows.gyro, options, geometry)
    if rows.poses and not len(poses):
        raise RecordingError(
            f"{path}: no pose is upright: roll and pitch must be about 0; give the pose of a "
            "frame with z up, such as base_link"
        )
    source = PoseReadings(*poses.T) if len(poses) else None
    return RecordedReadings(turns, gyro, source, subject, rows.pose_errors, rows.notes)


def _wheel_turns(path: Path, rows: _Rows) -> WheelTurns:
    wheels = _in_order(rows.wheels)
    if len(wheels) < 2:
        raise RecordingError(
            f"{path}: no stamped angles of both wheels: joint states must hold `position` of both "
            "wheels and a stamp; add the position state interface"
        )
    angles = []
    for name, values in zip(POSITIONS, wheels[:, 1:3].T, strict=True):
        turned, wraps = continuous(wheels[:, 0], values, one_turn=True)
        if wraps is not None and abs(wraps.size - math.tau) > 1e-6:
            rows.notes.append(f"{path.name}: {wraps.sentence(name, float(wheels[0, 0]))}")
        angles.append(_unwrapped(turned))
    left, right = angles
    kept = _longest(wheels[:, 0], left, right)
    if (lost := len(wheels) - (kept.stop - kept.start)) > 0:
        _check_sources(path, wheels)
        rows.notes.append(f"{path.name}: an encoder was reset: {lost} readings ignored")
    return WheelTurns(wheels[kept, 0], left[kept], right[kept])


def _check_sources(path: Path, wheels: Array) -> None:
    sources = WheelSources(("the left", "the right wheel"))
    period = float(np.median(np.diff(wheels[:, 0])))
    angles = dict(zip(POSITIONS, wheels[:, 1:3].T, strict=True))
    sources.check(Segment(wheels[:, 0], period, angles), EFFORTS)
    if (two := sources.alternating()) is not None:
        raise RecordingError(f"{path}: {two}")


def _gyro(
    wheels: WheelTurns, rows: list[Any], options: ReadingOptions, geometry: WheelGeometry
) -> GyroReadings | None:
    sign = -1.0 if options.gyro_axis.startswith("-") else 1.0
    axis = options.gyro_axis.lstrip("+-")
    if axis not in AXES:
        raise ValueError(f"--gyro-axis {options.gyro_axis}: must be x, y, z, -x, -y or -z")
    column = 1 + AXES.index(axis)
    chosen = _in_order([(row[0], row[column]) for row in rows])
    if not len(chosen):
        return None
    gyro = GyroReadings(chosen[:, 0], sign * chosen[:, 1])
    if not _overlap(wheels, gyro) or follows(wheels, gyro, geometry)[1] >= OTHER_AXIS_FRACTION:
        return gyro
    for i, other in enumerate(AXES):
        table = _in_order([(row[0], row[1 + i]) for row in rows])
        if other == axis or not len(table):
            continue
        slope, explained = follows(wheels, GyroReadings(*table.T), geometry)
        if explained >= OTHER_AXIS_FRACTION:
            name = ("-" if slope < 0.0 else "") + other
            unit = " and it is in degrees" if abs(slope) > 0.5 / DEGREE else ""
            raise CalibrationError(
                f"the gyro's axes are swapped: angular_velocity.{other} follows the wheels' turns "
                f"and {axis} does not{unit}; mount it with z up, correct its driver, or give "
                f"--gyro-axis {name}"
            )
    return gyro


def _overlap(wheels: WheelTurns, gyro: GyroReadings) -> bool:
    ends = min(wheels.stamps[-1], gyro.stamps[-1]), max(wheels.stamps[0], gyro.stamps[0])
    return len(gyro.stamps) > 20 and ends[0] - ends[1] > 5.0


def _in_order(rows: Sequence[tuple[float, ...]]) -> Array:
    if not rows:
        return np.empty((0, 1))
    table = np.array(rows, dtype=float)
    table = table[is_number(table).all(axis=1)]
    ordered: Array = table[np.unique(table[:, 0], return_index=True)[1]]
    return ordered


def _unwrapped(angle: Array) -> Array:
    wraps = float(np.max(np.abs(angle))) <= 2.0 * math.pi + 1e-6
    turned: Array = np.unwrap(angle) if wraps else angle
    return turned


def _longest(stamps: Array, left: Array, right: Array) -> slice:
    step = np.maximum(np.abs(np.diff(left)), np.abs(np.diff(right)))
    return longest_whole(step > FASTEST * np.maximum(np.diff(stamps), 0.01))


def _joined(parts: Sequence[RecordedReadings]) -> RecordedReadings:
    if len({part.subject for part in parts}) > 1:
        raise RecordingError(
            "some recordings hold wheels, others odometry only: give those of one kind, or name "
            "the odometry with --odom"
        )
    for name in ("gyro", "poses"):
        have = [getattr(part, name) is not None for part in parts]
        if any(have) != all(have):
            raise RecordingError(
                f"not all recordings hold {'a gyro' if name == 'gyro' else 'poses'}: give those "
                "that do, or choose the topic"
            )
    columns: dict[str, list[Array]] = {}
    at = 0.0
    for part in parts:
        sources = [s for s in (part.wheels, part.gyro, part.poses) if s is not None]
        shift = at - min(float(s.stamps[0]) for s in sources)
        at = max(float(s.stamps[-1]) for s in sources) + shift + TIME_BETWEEN
        for source in sources:
            names = list(vars(source))
            table = np.stack([getattr(source, name) for name in names])
            table[0] += shift
            columns.setdefault(type(source).__name__, []).append(table)
    whole = {name: np.concatenate(tables, axis=1) for name, tables in columns.items()}
    gyro, poses = whole.get("GyroReadings"), whole.get("PoseReadings")
    return RecordedReadings(
        WheelTurns(*whole["WheelTurns"]),
        None if gyro is None else GyroReadings(*gyro),
        None if poses is None else PoseReadings(*poses),
        parts[0].subject,
        parts[0].pose_errors,
        [note for part in parts for note in part.notes],
    )
