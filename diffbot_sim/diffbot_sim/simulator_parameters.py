"""Parameters that the simulator nodes have in common, and what is made of them."""

from __future__ import annotations

from types import SimpleNamespace

from diffbot_description import Robot
from diffbot_node import Parameter
from diffbot_sim.virtual_robot import Actuator, Encoders

ROBOT = Parameter("robot", "twil", "robot of the suite, or a robot's YAML, URDF or xacro file")
START = Parameter("start", "0,0,0", "start pose x,y,theta in the odom frame, m, m, rad")
LEAVE_WHEN_ALONE = Parameter(
    "leave_when_alone", False, "end when nobody publishes commands any more"
)
SEED = Parameter("seed", 0, "seed of the sensors' and actuators' noise", minimum=0)
SENSORS_AND_MOTORS = (
    SEED,
    Parameter(
        "encoder_counts", -1, "counts per wheel revolution; 0: exact; -1: the robot's", minimum=-1
    ),
    Parameter(
        "torque_noise", 0.0, "standard deviation of the torque, as a share of it", minimum=0.0
    ),
    Parameter("torque_delay", 0, "control periods between command and torque", minimum=0),
)
# Of simulators that are programs of their own: they can do neither, and say so.
UNSUPPORTED = (
    Parameter("paused", False, "must be false: time goes on as soon as all is ready"),
    Parameter("camera", False, "must be false: there is none"),
)


def refuse_unsupported(values: SimpleNamespace) -> None:
    """Raise ValueError when a parameter of UNSUPPORTED is true."""
    for parameter in UNSUPPORTED:
        if getattr(values, parameter.name):
            raise ValueError(
                f"parameter '{parameter.name}' = true: this simulator does not offer it; leave it "
                "out, or use sim:=gazebo"
            )


def make_actuator(robot: Robot, values: SimpleNamespace) -> Actuator:
    """The robot's motors with SENSORS_AND_MOTORS' values."""
    return Actuator(robot.limits.torque, values.torque_delay, values.torque_noise, values.seed)


def make_encoders(robot: Robot, values: SimpleNamespace) -> Encoders:
    """The robot's encoders with SENSORS_AND_MOTORS' values, and `period`."""
    return Encoders(encoder_counts(robot, values), values.period, values.seed)


def encoder_counts(robot: Robot, values: SimpleNamespace) -> int:
    """Counts per wheel revolution; 0 for exact encoders."""
    return robot.encoder.counts if values.encoder_counts < 0 else values.encoder_counts
