"""Parameters that the simulator nodes have in common."""

from __future__ import annotations

from types import SimpleNamespace

from diffbot_description import Robot
from diffbot_node import Parameter
from diffbot_sim.actuators import Actuator
from diffbot_sim.encoders import Encoders

ROBOT = Parameter("robot", "twil", "name of a robot of the suite, or the path of a robot's YAML")
START = Parameter("start", "0,0,0", "start pose x,y,theta in the odom frame, m, m, rad")
LEAVE_WHEN_ALONE = Parameter(
    "leave_when_alone", False, "end when nobody publishes commands any more"
)
PAYLOAD = (
    Parameter(
        "payload",
        "none",
        "load put on the robot at payload_time: mass,x,z,yaw_inertia in kg, m, m, kg m^2; or a "
        "share such as 50%, by which it makes equivalent mass and yaw inertia larger; none: none",
    ),
    Parameter("payload_time", -1.0, "robot time of that, s; below 0: never"),
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


def make_actuator(robot: Robot, values: SimpleNamespace) -> Actuator:
    """The robot's motors with SENSORS_AND_MOTORS' values."""
    return Actuator(robot.limits.torque, values.torque_delay, values.torque_noise, values.seed)


def make_encoders(robot: Robot, values: SimpleNamespace) -> Encoders:
    """The robot's encoders with SENSORS_AND_MOTORS' values, and `period`."""
    counts = robot.encoder.counts if values.encoder_counts < 0 else values.encoder_counts
    return Encoders(counts, values.period, values.seed)
