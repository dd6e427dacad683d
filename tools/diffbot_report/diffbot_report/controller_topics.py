# SPDX-License-Identifier: Apache-2.0
"""From message fields of controllers and simulators to those of a DriveRun."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Commanded:
    """The pair of commands that a controller sends: words, symbols and units for its reports."""

    what: str
    picture: str
    title: str
    names: tuple[str, str]
    units: tuple[str, str]
    error_names: tuple[str, str]
    parameters: tuple[str, str, str, str]
    parameter_units: tuple[str, ...]


TORQUE = Commanded(
    what="torque",
    picture="torques",
    title="Wheel torques",
    names=("left", "right"),
    units=("N m", "N m"),
    error_names=("e₁", "e₂"),
    parameters=("K5", "K6", "K7", "K8"),
    parameter_units=("m", "1/m", "1/(kg m)", "1/(kg m²)"),
)
VELOCITY = Commanded(
    what="command",
    picture="commands",
    title="Velocity commands",
    names=("v", "ω"),
    units=("m/s", "rad/s"),
    error_names=("e_v", "e_ω"),
    parameters=("sigma1", "sigma2", "sigma3", "sigma4"),
    parameter_units=("s", "s", "", ""),
)


@dataclass(frozen=True)
class StatusFields:
    """Names of the fields in a controller's status.

    Attributes:
        reference, odometry: Fields of x, y, theta; empty if there are none.
        wanted, velocity: Fields of [v, omega]; symbol of the former: `velocity_name`.
        gains: Gains of the control law, by their key in the summary.
        extra: Names of further arrays of a row, and their lengths.
    """

    message: str
    reference: tuple[str, ...]
    odometry: tuple[str, ...]
    wanted: str
    velocity: str
    command: str
    gains: dict[str, str]
    velocity_name: str
    commanded: Commanded = TORQUE
    extra: dict[str, int] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """All fields of a row, in the order of the attributes."""
        return (
            *self.reference, *self.odometry, self.wanted, self.velocity, self.command, *self.extra
        )  # fmt: skip


REFERENCE = ("set_point.x", "set_point.y", "set_point.theta")
ODOMETRY = ("process_value.x", "process_value.y", "process_value.theta")
CONTROLLERS = {
    "backstep_controller": StatusFields(
        "BackstepStatus",
        reference=REFERENCE,
        odometry=ODOMETRY,
        wanted="backstep_set_point",
        velocity="backstep_process_value",
        command="command",
        gains={"gamma": "gammas", "lambda": "lambdas"},
        velocity_name="η",
    ),
    "pose_controller": StatusFields(
        "PoseControllerStatus",
        reference=REFERENCE,
        odometry=ODOMETRY,
        wanted="velocity.set_point",
        velocity="velocity.process_value",
        command="velocity.command",
        gains={"kp": "velocity.kp", "ki": "velocity.ki", "weight": "velocity.weight"},
        velocity_name="uᵣ",
    ),
    "linearizing_controller": StatusFields(
        "LinearizingStatus",
        reference=(),
        odometry=(),
        wanted="set_point",
        velocity="process_value",
        command="command",
        gains={"kp": "kp", "ki": "ki", "weight": "weight"},
        velocity_name="uᵣ",
    ),
    "velocity_tracking_controller": StatusFields(
        "VelocityTrackingStatus",
        reference=REFERENCE,
        odometry=ODOMETRY,
        wanted="reference_velocity",
        velocity="velocity",
        command="command",
        gains={"epsilon": "damping", "b": "b", "k_v": "k_v", "k_omega": "k_w"},
        velocity_name="reference",
        commanded=VELOCITY,
        extra={
            "sigma": 4,
            "sigma_variance": 4,
            "limits": 2,
            "dead_band": 2,
            "dead_band_estimate": 2,
            "dead_band_variance": 2,
            "dead_time": 2,
            "dead_time_variance": 2,
        },
    ),
}
# Of diffbot_msgs/AdaptationStatus; the last one has a column per gate.
JUDGEMENT = (
    "state", "refused", "in_use", "offered", "offered_std", "lower", "upper", "follows", "passed"
)  # fmt: skip
# Fields of nav_msgs/Odometry: pose and velocity of a robot in the plane.
TRUTH = (
    "pose.pose.position.x",
    "pose.pose.position.y",
    "pose.pose.orientation.z",
    "pose.pose.orientation.w",
    "twist.twist.linear.x",
    "twist.twist.angular.z",
)
