"""Parameters that every node has that commands a robot."""

from diffbot_node.parameters import Parameter

COMMAND_PARAMETERS = (
    Parameter(
        "input_timeout",
        0.08,
        "age of the newest state of the robot (joint state or odometry) after which zero is "
        "commanded, s of the node's clock",
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
)
