"""From the records of the laws to their status messages."""

from __future__ import annotations

from geometry_msgs.msg import Pose2D

from arc_odometry import Pose
from diffbot_controllers.approach import PolarError
from diffbot_controllers.backstep_record import BackstepRecord
from diffbot_controllers.linearizing import LinearizingRecord
from diffbot_controllers.motion import Torque
from diffbot_controllers.polar_pose import PolarPoseRecord
from diffbot_msgs.msg import BackstepStatus, LinearizingStatus, PoseControllerStatus
from diffbot_msgs.msg import PolarError as PolarErrorMessage
from diffbot_node import to_stamp


def fill_backstep_status(
    status: BackstepStatus, stamp: float, record: BackstepRecord, command: Torque
) -> None:
    """Put a record, its stamp in s and the torque commanded in N m into a message."""
    status.header.stamp = to_stamp(stamp)
    _fill_pose(status.set_point, record.set_point)
    _fill_pose(status.process_value, record.process_value)
    _fill_pose(status.process_value_dot, record.process_value_dot)
    _fill_pose(status.error, record.error)
    _fill_polar(status.polar_error, record.polar_error)
    status.time_step = record.time_step
    status.command[:] = command
    status.lambdas, status.gammas = record.lambdas, record.gammas
    status.backstep_set_point[:] = record.backstep_set_point
    status.backstep_set_point_dot[:] = record.backstep_set_point_dot
    status.backstep_process_value[:] = record.backstep_process_value
    status.backstep_error[:] = record.backstep_error
    status.backstep_command[:] = record.backstep_command
    status.linear_dynamics_command[:] = record.linear_dynamics_command
    status.mode = record.mode


def fill_linearizing_status(
    status: LinearizingStatus, stamp: float, dt: float, record: LinearizingRecord, command: Torque
) -> None:
    """Put a record, its stamp and period in s and the torque commanded in N m into a message."""
    status.header.stamp = to_stamp(stamp)
    status.set_point[:] = record.reference
    status.process_value[:] = record.velocity
    status.error[:] = record.error
    status.integral[:] = record.integral
    status.linear_dynamics_command[:] = record.nu
    status.drift[:] = record.drift
    status.unlimited_command[:] = record.unlimited
    status.command[:] = command
    status.time_step = dt
    gains = record.gains
    status.kp, status.ki, status.weight = float(gains.kp), float(gains.ki), float(gains.weight)


def fill_pose_status(
    status: PoseControllerStatus, stamp: float, dt: float, record: PolarPoseRecord, command: Torque
) -> None:
    """Put a record, its stamp and period in s and the torque commanded in N m into a message."""
    fill_linearizing_status(status.velocity, stamp, dt, record.loops, command)
    status.header.stamp = status.velocity.header.stamp
    _fill_pose(status.set_point, record.reference)
    _fill_pose(status.process_value, record.pose)
    _fill_pose(status.offset, record.offset)
    _fill_polar(status.polar_error, record.polar)
    status.direction = record.direction


def _fill_pose(message: Pose2D, pose: Pose) -> None:
    message.x, message.y, message.theta = float(pose.x), float(pose.y), float(pose.theta)


def _fill_polar(message: PolarErrorMessage, error: PolarError) -> None:
    message.range, message.angle = float(error.e), float(error.psi)
    message.orientation = float(error.alpha)
