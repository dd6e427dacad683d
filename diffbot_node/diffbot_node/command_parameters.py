"""Parameters that every node has that commands a robot."""

from diffbot_node.parameters import Parameter

COMMAND_PARAMETERS = (
    Parameter(
        "input_timeout",
        0.07,
        "age of the newest state of the robot (joint state or odometry) after which zero is "
        "commanded, and longest time between two of them, s of the node's clock and of the stamps",
        above=0.0,
        maximum=1.0,
    ),
    Parameter(
        "patience",
        0.0,
        "wall time without good states of the robot after which the node ends with status 1, s; "
        "0: never",
        minimum=0.0,
    ),
    Parameter(
        "enabled",
        True,
        "whether it may command from the start; false: not before ~/enable is called with true",
    ),
    Parameter(
        "emergency_stop_timeout",
        0.0,
        "wall time within which something has to come on emergency_stop, else it counts as "
        "pressed, s; 0: only what comes counts",
        minimum=0.0,
    ),
)
