# SPDX-License-Identifier: Apache-2.0
"""States and commands of a simulated run as a bag, which `diffbot identify` and ROS tools read.

Messages are timed by the robot's time, and hold what a simulated robot publishes; covariances are
left at 0, not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from arc_odometry.number_range import Array
from arc_odometry.odometry_checks import OdometrySample
from diffbot_description import Robot
from diffbot_description.files import RECORDING
from diffbot_description.robot import Pair
from diffbot_node.topic_types import JOINT_STATE, ODOMETRY, TWIST, TWIST_STAMPED
from diffbot_report.display import say
from diffbot_report.sample_buffer import NANOSECONDS

if TYPE_CHECKING:
    from diffbot_study.run_report import RunReport

NONE = "none"
VERSION: Literal[9] = 9  # of the format; ROS 2 Humble and newer read it
Timed = tuple[int, Any]  # stamp, ns, and message


def write_bag(
    folder: Path, storage: str, topics: Sequence[tuple[str, str, Iterator[Timed]]], store: Any
) -> None:
    """Write messages of topics (name, type, messages) to a new folder, of mcap or sqlite3.

    Raises OSError: the folder cannot be made.
    """
    from rosbags.rosbag2 import StoragePlugin, Writer

    plugin = {"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}[storage]
    timed: list[tuple[int, int, Any, bytes]] = []
    with Writer(folder, version=VERSION, storage_plugin=plugin) as writer:
        for number, (name, kind, messages) in enumerate(topics):
            connection = writer.add_connection(name, kind, typestore=store)
            for stamp, message in messages:
                timed.append((stamp, number, connection, store.serialize_cdr(message, kind)))
        for stamp, _, connection, data in sorted(timed, key=lambda each: each[:2]):
            writer.write(connection, stamp, data)


class _Messages:
    """Makes messages of the types that ROS has."""

    def __init__(self) -> None:
        from rosbags.typesys import Stores, get_typestore

        self.store = get_typestore(Stores.LATEST)

    def __call__(self, kind: str, *fields: Any) -> Any:
        return self.store.types[kind](*fields)

    def header(self, stamp: int, frame: str) -> Any:
        time = self("builtin_interfaces/msg/Time", *divmod(stamp, NANOSECONDS))
        return self("std_msgs/msg/Header", time, frame)

    def twist(self, v: float, omega: float) -> Any:
        kind = "geometry_msgs/msg/Vector3"
        return self(TWIST, self(kind, v, 0.0, 0.0), self(kind, 0.0, 0.0, omega))

    def odometry(self, stamp: int, row: Sequence[float]) -> Any:
        x, y, theta, v, omega = row
        place = self("geometry_msgs/msg/Point", x, y, 0.0)
        half = 0.5 * theta
        turn = self("geometry_msgs/msg/Quaternion", 0.0, 0.0, np.sin(half), np.cos(half))
        pose = self("geometry_msgs/msg/Pose", place, turn)
        unknown = np.zeros(36)
        return self(
            ODOMETRY,
            self.header(stamp, "odom"),
            "base_link",
            self("geometry_msgs/msg/PoseWithCovariance", pose, unknown),
            self("geometry_msgs/msg/TwistWithCovariance", self.twist(v, omega), unknown),
        )


def record_joints(report: RunReport, robot: Robot, rows: Array) -> None:
    """Record joint states, rows of torque_run.COLUMNS, if the run is to be recorded."""
    if report.record == NONE:
        return
    make, joints = _Messages(), robot.joints

    def states() -> Iterator[Timed]:
        for row in rows:
            stamp = round(float(row[0]) * NANOSECONDS)
            left, right, *efforts = row[1:].tolist()
            angles = np.array(joints.published((left, right)))
            shares = np.array(joints.shared(robot.drive.effort_of((efforts[0], efforts[1]))))
            header, names = make.header(stamp, ""), list(joints.names)
            yield stamp, make(JOINT_STATE, header, names, angles, np.empty(0), shares)

    folder = report.folder / RECORDING
    write_bag(folder, report.record, [("/joint_states", JOINT_STATE, states())], make.store)
    say(report.console, str(folder))


class VelocityRows:
    """Odometry and commands of a robot that takes velocities."""

    def __init__(self) -> None:
        self._rows: list[tuple[float, ...]] = []

    def add(self, sample: OdometrySample, command: Pair) -> None:
        """Add a state, and the command that answers it, m/s and rad/s."""
        self._rows.append((sample.stamp, *sample.pose, *sample.velocity, *command))

    def write(self, report: RunReport) -> None:
        """Record them, if the run is to be recorded."""
        if report.record == NONE:
            return
        make = _Messages()
        rows = [(round(row[0] * NANOSECONDS), row[1:]) for row in self._rows]
        odometry = ((stamp, make.odometry(stamp, row[:5])) for stamp, row in rows)
        commands = (
            (stamp, make(TWIST_STAMPED, make.header(stamp, "base_link"), make.twist(*row[5:])))
            for stamp, row in rows
        )
        topics = [("/odom", ODOMETRY, odometry), ("/cmd_vel", TWIST_STAMPED, commands)]
        folder = report.folder / RECORDING
        write_bag(folder, report.record, topics, make.store)
        say(report.console, str(folder))
