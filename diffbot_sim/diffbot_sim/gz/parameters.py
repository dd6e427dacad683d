"""Parameters of the simulator node for Gazebo (Ionic or newer)."""

from diffbot_node import Parameter
from diffbot_sim.gz.commands import STEP
from diffbot_sim.not_offered import NOT_OFFERED

PARAMETERS = (
    Parameter("robot", "twil", "name of a robot of the suite, or the path of a robot's YAML"),
    Parameter("period", 0.01, "control period, s; whole ms", minimum=0.001, maximum=0.1),
    Parameter("speed", 0.0, "robot time per wall time; 0: as fast as it goes", minimum=0.0),
    Parameter("seed", 0, "seed of the sensors' and actuators' noise", minimum=0),
    Parameter(
        "encoder_counts", -1, "counts per wheel revolution; 0: exact; -1: the robot's", minimum=-1
    ),
    Parameter(
        "torque_noise", 0.0, "standard deviation of the torque, as a share of it", minimum=0.0
    ),
    Parameter("torque_delay", 0, "control periods between command and torque", minimum=0),
    Parameter("start", "0,0,0", "start pose x,y,theta in the odom frame, m, m, rad"),
    Parameter("gui", False, "open Gazebo's window"),
    *NOT_OFFERED,
    Parameter("start_gazebo", True, "start Gazebo and its bridge; false: they run already"),
    Parameter("leave_when_alone", False, "end when nobody publishes commands any more"),
    Parameter(
        "patience",
        60.0,
        "wall time to wait for Gazebo, and with leave_when_alone for commands, s; then status 1",
        above=0.0,
    ),
)


def steps_per_period(period: float) -> int:
    """How many steps of Gazebo's physics make a control period, s.

    Raises:
        ValueError: not a whole number.
    """
    steps = round(period / STEP)
    if abs(steps * STEP - period) > 1e-9:
        raise ValueError(
            f"parameter 'period' = {period} s: must be a whole number of ms, the step of "
            "Gazebo's world"
        )
    return steps
