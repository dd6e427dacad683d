"""Parameters that every node has that commands wheel torque."""

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
        "input_timeout",
        0.08,
        "age of the newest joint state after which zero torque is commanded, s of the node's clock",
        above=0.0,
        maximum=1.0,
    ),
    Parameter(
        "patience",
        0.0,
        "wall time without good joint states after which the node ends with status 1, s; 0: never",
        minimum=0.0,
    ),
)
