"""Parameters that every node has that commands wheel torque."""

from diffbot_node.command_parameters import COMMAND_PARAMETERS
from diffbot_node.parameters import Parameter

EFFORT_PARAMETERS = (
    Parameter("robot", "twil", "name of a robot of the suite, or the path of a robot's YAML"),
    Parameter(
        "torque_limit",
        0.0,
        "largest wheel torque commanded, N m; 0 takes what the robot's wheels carry (traction)",
        minimum=0.0,
    ),
    Parameter(
        "wheel_watch",
        True,
        "stop when the wheels contradict the torque: a stuck encoder, flipped or swapped torque",
    ),
    *COMMAND_PARAMETERS,
)
