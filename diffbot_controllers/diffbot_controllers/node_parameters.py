"""Parameters that the controllers' nodes have in common."""

from diffbot_controllers.adaptation_parameters import ADAPTATION_PARAMETERS
from diffbot_node import Parameter

REFERENCE_PARAMETERS = (
    Parameter(
        "duration",
        0.0,
        "robot time after which the node ends, s; 0: never, or with the reference",
        minimum=0.0,
    ),
    Parameter(
        "wait_for_reference",
        False,
        "lock-step: answer each state of the robot only with the reference for its stamp; else "
        "take the newest reference, advanced to the stamp",
    ),
    Parameter(
        "leave_with_reference",
        False,
        "end when nobody is left who publishes references that more have to follow: with status "
        "0 where the last one stands, else 1",
    ),
    Parameter(
        "reference_timeout",
        0.06,
        "age of the newest stamped reference, by its stamp and since it came, after which zero is "
        "commanded, s",
        above=0.0,
        maximum=10.0,
    ),
    Parameter("listeners", 0, "subscribers of ~/status to wait for before starting", minimum=0),
)
"""Of nodes that follow references, whatever they command."""

CONTROLLER_PARAMETERS = (
    Parameter(
        "parameters",
        "robot",
        "K5..K8: 'robot' (closed form of its description), the path of a dynamic_parameters.yaml, "
        "'topic' (valid ones on dynamic_parameters, which are awaited), or 'adaptive' (the nominal "
        "ones, which follow those on dynamic_parameters)",
    ),
    Parameter("start", "0,0,0", "pose at the first joint state, x,y,theta in m, m, rad"),
    *REFERENCE_PARAMETERS,
    Parameter(
        "velocity_source",
        "position",
        "velocities from differences of the wheels' angles, or as the joint states report them",
        choices=("position", "velocity"),
    ),
    Parameter(
        "path_noise",
        1e-6,
        "variance of a wheel's path per path driven, m^2/m; 1e-6 is 1 mm after 1 m",
        minimum=0.0,
    ),
    Parameter("odom_frame", "odom", "frame of the pose; parent in tf"),
    Parameter("base_frame", "base_link", "frame at the middle of the axle; child in tf"),
    Parameter(
        "odom_rate",
        50.0,
        "most messages on ~/odom and /tf per s of robot time, Hz; 0: one per joint state",
        minimum=0.0,
    ),
    Parameter("publish_tf", True, "whether odom_frame -> base_frame is sent on /tf"),
    Parameter(
        "wait_for_estimates",
        False,
        "lock-step with live parameters: answer each joint state only with the estimates that "
        "count at its stamp",
    ),
    Parameter(
        "estimate_delay",
        0.1,
        "robot time from the stamp of an estimate to its use, s",
        minimum=0.0,
        maximum=10.0,
    ),
    Parameter(
        "estimate_period",
        0.2,
        "robot time between the estimates that wait_for_estimates waits for, s; the estimator's "
        "own parameter `period`",
        above=0.0,
        maximum=10.0,
    ),
    *ADAPTATION_PARAMETERS,
)
"""Of nodes that command torque."""
