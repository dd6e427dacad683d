# SPDX-License-Identifier: Apache-2.0
"""Writes rosbag2 recordings of simulated robots: for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.interfaces import Connection
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from arc_odometry import JointSample

STORAGES = {"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}
JOINTS = ("left_wheel_joint", "right_wheel_joint")
# Wall time at which recordings begin, ns since 1970.
LOGGED = 10**18
_STORE = get_typestore(Stores.ROS2_HUMBLE)
for _text, _name in (
    ("string[] interface_names\nfloat64[] values", "InterfaceValue"),
    (
        "std_msgs/Header header\nstring[] joint_names\nInterfaceValue[] interface_values",
        "DynamicJointState",
    ),
):
    _STORE.register(get_types_from_msg(_text, f"control_msgs/msg/{_name}"))


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
        self._write(
            topic,
            "sensor_msgs/msg/JointState",
            sample.stamp,
            self._header(sample.stamp),
            list(names),
            *(np.array(field, dtype=float) for field in fields),
        )

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
        self._write(topic, kind, stamp, self._header(stamp), [*values], parts)

    def twist(self, topic: str, stamp: float, velocity: tuple[float, float]) -> None:
        """Write a Twist of (v, omega), m/s and rad/s, logged at this time (s)."""
        self._write(topic, "geometry_msgs/msg/Twist", stamp, *self._twist(velocity))

    def odometry(self, topic: str, stamp: float, velocity: tuple[float, float]) -> None:
        """Write an Odometry of (v, omega), m/s and rad/s; its pose stays 0."""
        types = _STORE.types
        point = types["geometry_msgs/msg/Point"](0.0, 0.0, 0.0)
        pose = types["geometry_msgs/msg/Pose"](
            point, types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
        )
        twist = types["geometry_msgs/msg/Twist"](*self._twist(velocity))
        self._write(
            topic,
            "nav_msgs/msg/Odometry",
            stamp,
            self._header(stamp),
            "base_link",
            types["geometry_msgs/msg/PoseWithCovariance"](pose, np.zeros(36)),
            types["geometry_msgs/msg/TwistWithCovariance"](twist, np.zeros(36)),
        )

    def imu(self, topic: str, stamp: float, rates: Sequence[float]) -> None:
        """Write an Imu of angular velocities [x, y, z], rad/s, in the frame imu_link."""
        types, none = _STORE.types, np.zeros(9)
        vector = types["geometry_msgs/msg/Vector3"]
        self._write(
            topic,
            "sensor_msgs/msg/Imu",
            stamp,
            self._header(stamp, "imu_link"),
            self._upright(0.0),
            none,
            vector(*(float(rate) for rate in rates)),
            none,
            vector(0.0, 0.0, 9.81),
            none,
        )

    def pose(self, topic: str, stamp: float, pose: Sequence[float]) -> None:
        """Write a PoseWithCovarianceStamped of [x m, y m, yaw rad] in the frame map."""
        types = _STORE.types
        point = types["geometry_msgs/msg/Point"](float(pose[0]), float(pose[1]), 0.0)
        upright = types["geometry_msgs/msg/Pose"](point, self._upright(float(pose[2])))
        covered = types["geometry_msgs/msg/PoseWithCovariance"](upright, np.zeros(36))
        header = self._header(stamp, "map")
        self._write(topic, "geometry_msgs/msg/PoseWithCovarianceStamped", stamp, header, covered)

    def transform(self, stamp: float, frames: tuple[str, str], pose: Sequence[float]) -> None:
        """Write a TFMessage on /tf of [x m, y m, yaw rad] of the second frame in the first."""
        types = _STORE.types
        moved = types["geometry_msgs/msg/Transform"](
            types["geometry_msgs/msg/Vector3"](float(pose[0]), float(pose[1]), 0.0),
            self._upright(float(pose[2])),
        )
        stamped = types["geometry_msgs/msg/TransformStamped"](
            self._header(stamp, frames[0]), frames[1], moved
        )
        self._write("/tf", "tf2_msgs/msg/TFMessage", stamp, [stamped])

    @staticmethod
    def _upright(yaw: float) -> Any:
        half = 0.5 * yaw
        quaternion = _STORE.types["geometry_msgs/msg/Quaternion"]
        return quaternion(0.0, 0.0, float(np.sin(half)), float(np.cos(half)))

    @staticmethod
    def _twist(velocity: tuple[float, float]) -> tuple[Any, Any]:
        vector = _STORE.types["geometry_msgs/msg/Vector3"]
        return vector(velocity[0], 0.0, 0.0), vector(0.0, 0.0, velocity[1])

    @staticmethod
    def _header(stamp: float, frame: str = "odom") -> Any:
        nanoseconds = round(1e9 * stamp)
        time = _STORE.types["builtin_interfaces/msg/Time"](
            nanoseconds // 10**9, nanoseconds % 10**9
        )
        return _STORE.types["std_msgs/msg/Header"](time, frame)

    def _write(self, topic: str, kind: str, stamp: float, *fields: Any) -> None:
        if topic not in self._connections:
            self._connections[topic] = self._writer.add_connection(topic, kind, typestore=_STORE)
        data = _STORE.serialize_cdr(_STORE.types[kind](*fields), kind)
        self._writer.write(self._connections[topic], LOGGED + round(1e9 * stamp), data)
        self.count += 1


def write_run(
    folder: Path,
    samples: Iterable[JointSample],
    storage: str = "mcap",
    *,
    effort: bool = True,
    commands: bool = False,
    begin: float = 1.0,
) -> int:
    """Write joint samples as a torque robot's recording; return the number of messages.

    Args:
        folder: Folder to create.
        samples: One sample per control period.
        storage: "mcap" or "sqlite3".
        effort: Whether the joint states contain efforts.
        commands: Whether to write the torques as commands, too, 1 ms after the state they answer.
        begin: Time added to all stamps, s.
    """
    with RecordedBag(folder, storage) as bag:
        before = None
        for sample in samples:
            moved = JointSample(
                sample.stamp + begin, sample.position, sample.velocity, sample.effort
            )
            if commands and before is not None:
                bag.torques("/effort_controller/commands", before + 1e-3, sample.effort)
            bag.joint_state("/joint_states", moved, effort=effort)
            before = moved.stamp
        return bag.count
