# SPDX-License-Identifier: Apache-2.0
"""`imu/data` and `pose` of a simulated robot: readings of simulated_sensors.py as messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, TypeVar

from geometry_msgs.msg import PoseWithCovarianceStamped
from rclpy.publisher import Publisher
from sensor_msgs.msg import Imu

from arc_odometry.odometry_messages import quaternion
from diffbot_node import Node, parameter, to_stamp
from diffbot_sim.simulated_sensors import (
    LONGEST_DELAY,
    GyroErrors,
    GyroReading,
    PoseErrors,
    PoseReading,
    SimulatedGyro,
    SimulatedPoses,
    Triple,
)

IMU_TOPIC, POSE_TOPIC = "imu/data", "pose"
DEPTH = 200
IMU_FRAME, POSE_FRAME = "imu_link", "map"
# Indices of the variances of x, y and yaw in a pose's covariance, and of a yaw rate's.
POSE_DIAGONAL, RATE_Z = (0, 7, 35), 8
NOT_MEASURED = -1.0

E = TypeVar("E", GyroErrors, PoseErrors)


@dataclass(frozen=True)
class GyroAndPoseParameters:
    """Parameters of simulators that equip the robot with a gyro and a pose source."""

    imu: bool = parameter(False, "publish a gyro's readings on imu/data")
    imu_rate: float = parameter(100.0, "gyro: readings per second, Hz", minimum=0.1, maximum=1e4)
    imu_noise: float = parameter(
        0.0, "gyro: standard deviation of a reading, rad/s", minimum=0.0, maximum=10.0
    )
    imu_bias: float = parameter(
        0.0, "gyro: bias at the beginning, rad/s", minimum=-10.0, maximum=10.0
    )
    imu_bias_walk: float = parameter(
        0.0, "gyro: random walk of the bias, rad/s per sqrt(s)", minimum=0.0, maximum=10.0
    )
    imu_scale: float = parameter(
        1.0, "gyro: scale, reading per true yaw rate", minimum=-10.0, maximum=10.0
    )
    imu_delay: float = parameter(
        0.0, "gyro: time from a stamp to its reading, s", minimum=0.0, maximum=LONGEST_DELAY
    )
    pose_source: bool = parameter(False, "publish a pose source's readings on pose")
    pose_source_rate: float = parameter(
        20.0, "pose source: readings per second, Hz", minimum=0.1, maximum=1e4
    )
    pose_source_noise: tuple[float, float] = parameter(
        (0.0, 0.0), "pose source: standard deviations of position and heading, m, rad", minimum=0.0
    )
    pose_source_delay: float = parameter(
        0.0, "pose source: time from a stamp to its reading, s", minimum=0.0, maximum=LONGEST_DELAY
    )
    pose_source_mounting: tuple[float, float, float] = parameter(
        (0.0, 0.0, 0.0), "pose source: its sensor's pose on the robot, m, m, rad"
    )
    pose_source_frame: tuple[float, float, float] = parameter(
        (0.0, 0.0, 0.0), "pose source: pose of odom in its frame map, m, m, rad"
    )
    pose_source_outliers: float = parameter(
        0.0, "pose source: share of readings that are outliers", minimum=0.0, maximum=1.0
    )
    pose_source_outlier_size: tuple[float, float] = parameter(
        (0.5, 0.5), "pose source: standard deviations of outliers, m, rad", minimum=0.0
    )
    pose_source_jump_interval: float = parameter(
        0.0, "pose source: mean time between two jumps of its frame, s; 0: never", minimum=0.0
    )
    pose_source_jump_size: tuple[float, float] = parameter(
        (0.05, 0.02), "pose source: standard deviations of a jump, m, rad", minimum=0.0
    )


def _errors(kind: type[E], values: GyroAndPoseParameters, prefix: str, **own: Any) -> E:
    """Return the errors of the parameters; `own`: those with parameters of other names."""
    names = [each.name for each in fields(kind) if each.name not in own]
    return kind(**own, **{name: getattr(values, prefix + name) for name in names})


class SensorTopics:
    """Publishers of the selected sensors; ValueError for a wrong parameter."""

    def __init__(self, node: Node, values: GyroAndPoseParameters, seed: int) -> None:
        self._sensors: list[tuple[Publisher[Any], Any, Callable[[Any], Any]]] = []
        if values.imu:
            gyro = SimulatedGyro(_errors(GyroErrors, values, "imu_"), seed)
            topic = node.create_publisher(Imu, IMU_TOPIC, DEPTH)
            self._sensors.append((topic, gyro, partial(_imu, values)))
        if values.pose_source:
            position, heading = values.pose_source_noise
            own = {"position_noise": position, "heading_noise": heading}
            poses = SimulatedPoses(_errors(PoseErrors, values, "pose_source_", **own), seed)
            topic = node.create_publisher(PoseWithCovarianceStamped, POSE_TOPIC, DEPTH)
            self._sensors.append((topic, poses, partial(_pose, values)))
        self._waiting: list[tuple[Publisher[Any], Any]] = []

    def __bool__(self) -> bool:
        """Whether there is any sensor."""
        return bool(self._sensors)

    def note(self, stamp: float, pose: Triple, velocity: tuple[float, float]) -> None:
        """Take readings at a new state; see MotionHistory.note."""
        for topic, sensor, fill in self._sensors:
            self._waiting += [(topic, fill(r)) for r in sensor.note(stamp, pose, velocity)]

    def publish(self) -> None:
        """Publish the readings since the last call; a repeated state adds none."""
        for topic, message in self._waiting:
            topic.publish(message)
        self._waiting.clear()


def _imu(values: GyroAndPoseParameters, reading: GyroReading) -> Imu:
    message = Imu()
    message.header.frame_id = IMU_FRAME
    message.header.stamp = to_stamp(reading.stamp)
    message.angular_velocity.z = reading.rate
    message.angular_velocity_covariance[RATE_Z] = values.imu_noise**2
    message.orientation_covariance[0] = NOT_MEASURED
    message.linear_acceleration_covariance[0] = NOT_MEASURED
    return message


def _pose(values: GyroAndPoseParameters, reading: PoseReading) -> PoseWithCovarianceStamped:
    message = PoseWithCovarianceStamped()
    message.header.frame_id = POSE_FRAME
    message.header.stamp = to_stamp(reading.stamp)
    pose = message.pose.pose
    pose.position.x, pose.position.y = reading.x, reading.y
    pose.orientation = quaternion(reading.yaw)
    position, heading = values.pose_source_noise
    for place, deviation in zip(POSE_DIAGONAL, (position, position, heading), strict=True):
        message.pose.covariance[place] = deviation**2
    return message
