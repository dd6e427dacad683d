# SPDX-License-Identifier: Apache-2.0
"""Writes rosbag2 recordings of simulated robots: for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.interfaces import Connection
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from arc_odometry import JointSample
from diffbot_recordings.bag import with_control_types
from diffbot_recordings.laser_poses import Scan

STORAGES = {"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}
JOINTS = ("left_wheel_joint", "right_wheel_joint")
BEGIN = 1.0  # time added to all stamps of a run, s
# Wall time at which recordings begin, ns since 1970.
LOGGED = 10**18
_STORE = with_control_types(get_typestore(Stores.ROS2_HUMBLE))


class RecordedBag:
    """A recording that is being written; use as a context manager.

    Args:
        folder: Folder to create.
        storage: "mcap" or "sqlite3".
    """

    def __init__(self, folder: Path, storage: str = "mcap") -> None:
        self._writer = Writer(folder, version=9, storage_plugin=STORAGES[storage])
        self._connections: dict[str, Connection] = {}
        self.count = 0

    def __enter__(self) -> RecordedBag:
        self._writer.open()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._writer.close()

    def joint_state(
        self, topic: str, sample: JointSample, names: Sequence[str] = JOINTS, effort: bool = True
    ) -> None:
        """Write a JointState of both wheels; without efforts, as many drivers send it."""
        fields = (sample.position, sample.velocity, sample.effort if effort else ())
        numbers = (np.array(field, dtype=float) for field in fields)
        kind = "sensor_msgs/msg/JointState"
        self._write(topic, kind, sample.stamp, _header(sample.stamp), list(names), *numbers)

    def scan(self, topic: str, scan: Scan) -> None:
        """Write a LaserScan."""
        kind = "sensor_msgs/msg/LaserScan"
        count = len(scan.ranges)
        last = scan.angle_min + (count - 1) * scan.angle_increment
        numbers = (
            *(scan.angle_min, last, scan.angle_increment, scan.time_increment, 0.1),
            *(scan.range_min, scan.range_max),
        )
        ranges = (scan.ranges.astype(np.float32), np.zeros(0, dtype=np.float32))
        header = _header(scan.stamp, "laser")
        self._write(topic, kind, scan.stamp, header, *numbers, *ranges)

    def torques(self, topic: str, stamp: float, torque: tuple[float, float]) -> None:
        """Write a Float64MultiArray of [left, right], N m, logged at this time (s)."""
        layout = _STORE.types["std_msgs/msg/MultiArrayLayout"]([], 0)
        self._write(topic, "std_msgs/msg/Float64MultiArray", stamp, layout, np.array(torque))

    def number(self, topic: str, stamp: float, value: float) -> None:
        """Write a Float64, logged at this time (s)."""
        self._write(topic, "std_msgs/msg/Float64", stamp, float(value))

    def interfaces(
        self, topic: str, stamp: float, values: Mapping[str, Mapping[str, float]]
    ) -> None:
        """Write a DynamicJointState of interfaces by joint, as ros2_control publishes it."""
        value = _STORE.types["control_msgs/msg/InterfaceValue"]
        parts = [value([*own], np.array([*own.values()])) for own in values.values()]
        kind = "control_msgs/msg/DynamicJointState"
        self._write(topic, kind, stamp, _header(stamp), [*values], parts)

    def twist(self, topic: str, stamp: float, velocity: tuple[float, float]) -> None:
        """Write a Twist of (v, omega), m/s and rad/s, logged at this time (s)."""
        self._write(topic, "geometry_msgs/msg/Twist", stamp, *_twist(velocity))

    def stamped_twist(
        self, topic: str, logged: float, velocity: tuple[float, float], stamp: float
    ) -> None:
        """Write a TwistStamped of (v, omega), m/s and rad/s, logged at this time (s)."""
        twist = _geometry("Twist", *_twist(velocity))
        self._write(topic, "geometry_msgs/msg/TwistStamped", logged, _header(stamp), twist)

    def odometry(
        self,
        topic: str,
        stamp: float,
        velocity: tuple[float, float],
        theta: float = 0.0,
        of_world: bool = False,
        place: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """Write an Odometry of (v, omega), m/s and rad/s, at a place, m, with heading (rad).

        `of_world`: the twist is in the frame of the pose.
        """
        pose = _geometry("PoseWithCovariance", _pose((*place, theta)), np.zeros(36))
        linear, angular = _twist(velocity)
        if of_world:
            x, y = velocity[0] * np.cos(theta), velocity[0] * np.sin(theta)
            linear = _geometry("Vector3", float(x), float(y), 0.0)
        twist = _geometry("Twist", linear, angular)
        moving = _geometry("TwistWithCovariance", twist, np.zeros(36))
        header = _header(stamp)
        self._write(topic, "nav_msgs/msg/Odometry", stamp, header, "base_link", pose, moving)

    def imu(self, topic: str, stamp: float, rates: Sequence[float]) -> None:
        """Write an Imu of angular velocities [x, y, z], rad/s, in the frame imu_link."""
        none = np.zeros(9)
        turning = _geometry("Vector3", *map(float, rates))
        falling = _geometry("Vector3", 0.0, 0.0, 9.81)
        fields = (_upright(0.0), none, turning, none, falling, none)
        self._write(topic, "sensor_msgs/msg/Imu", stamp, _header(stamp, "imu_link"), *fields)

    def pose(self, topic: str, stamp: float, pose: Sequence[float]) -> None:
        """Write a PoseWithCovarianceStamped of [x m, y m, yaw rad] in the frame map."""
        kind = "geometry_msgs/msg/PoseWithCovarianceStamped"
        covered = _geometry("PoseWithCovariance", _pose(pose), np.zeros(36))
        self._write(topic, kind, stamp, _header(stamp, "map"), covered)

    def transform(self, stamp: float, frames: tuple[str, str], pose: Sequence[float]) -> None:
        """Write a TFMessage on /tf of [x m, y m, yaw rad] of the second frame in the first."""
        place = _geometry("Vector3", float(pose[0]), float(pose[1]), 0.0)
        moved = _geometry("Transform", place, _upright(float(pose[2])))
        stamped = _geometry("TransformStamped", _header(stamp, frames[0]), frames[1], moved)
        self._write("/tf", "tf2_msgs/msg/TFMessage", stamp, [stamped])

    def _write(self, topic: str, kind: str, stamp: float, *fields: Any) -> None:
        if topic not in self._connections:
            self._connections[topic] = self._writer.add_connection(topic, kind, typestore=_STORE)
        data = _STORE.serialize_cdr(_STORE.types[kind](*fields), kind)
        self._writer.write(self._connections[topic], LOGGED + round(1e9 * stamp), data)
        self.count += 1


def _geometry(name: str, *fields: Any) -> Any:
    return _STORE.types[f"geometry_msgs/msg/{name}"](*fields)


def _upright(yaw: float) -> Any:
    half = 0.5 * yaw
    return _geometry("Quaternion", 0.0, 0.0, float(np.sin(half)), float(np.cos(half)))


def _pose(pose: Sequence[float]) -> Any:
    x, y, yaw = map(float, pose)
    return _geometry("Pose", _geometry("Point", x, y, 0.0), _upright(yaw))


def _twist(velocity: tuple[float, float]) -> tuple[Any, Any]:
    v, omega = velocity
    return _geometry("Vector3", v, 0.0, 0.0), _geometry("Vector3", 0.0, 0.0, omega)


def _header(stamp: float, frame: str = "odom") -> Any:
    seconds, nanoseconds = divmod(round(1e9 * stamp), 10**9)
    time = _STORE.types["builtin_interfaces/msg/Time"](seconds, nanoseconds)
    return _STORE.types["std_msgs/msg/Header"](time, frame)


def write_run(
    folder: Path,
    samples: Iterable[JointSample],
    storage: str = "mcap",
    *,
    effort: bool = True,
    commands: bool = False,
) -> int:
    """Write joint samples as a torque robot's recording; return the number of messages.

    Args:
        folder: Folder to create.
        samples: One sample per control period.
        storage: "mcap" or "sqlite3".
        effort: Whether the joint states contain efforts.
        commands: Whether to write the torques as commands, too, 1 ms after the state they answer.
    """
    with RecordedBag(folder, storage) as bag:
        before = None
        for sample in samples:
            moved = JointSample(
                sample.stamp + BEGIN, sample.position, sample.velocity, sample.effort
            )
            if commands and before is not None:
                bag.torques("/effort_controller/commands", before + 1e-3, sample.effort)
            bag.joint_state("/joint_states", moved, effort=effort)
            before = moved.stamp
        return bag.count
