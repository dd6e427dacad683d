"""Parameters of the simulator node for Gazebo (Ionic or newer)."""

from diffbot_node import Parameter
from diffbot_sim.gz.commands import STEP
from diffbot_sim.not_offered import NOT_OFFERED
from diffbot_sim.simulator_parameters import (
    LEAVE_WHEN_ALONE,
    ROBOT,
    SENSORS_AND_MOTORS,
    START,
)

PARAMETERS = (
    ROBOT,
    Parameter("period", 0.01, "control period, s; whole ms", minimum=0.001, maximum=0.1),
    Parameter("speed", 0.0, "robot time per wall time; 0: as fast as it goes", minimum=0.0),
    *SENSORS_AND_MOTORS,
    START,
    Parameter("gui", False, "open Gazebo's window"),
    *NOT_OFFERED,
    Parameter("start_gazebo", True, "start Gazebo and its bridge; false: they run already"),
    LEAVE_WHEN_ALONE,
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
