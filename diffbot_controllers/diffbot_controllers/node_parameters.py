"""Parameters that all controllers' nodes have."""

from diffbot_node import Parameter

CONTROLLER_PARAMETERS = (
    Parameter(
        "parameters",
        "robot",
        "K5..K8: 'robot' (closed form of its description), 'topic' (valid ones on "
        "dynamic_parameters), or the path of a dynamic_parameters.yaml",
    ),
    Parameter("start", "0,0,0", "pose at the first joint state, x,y,theta in m, m, rad"),
    Parameter(
        "duration",
        0.0,
        "robot time after which the node ends, s; 0: never, or with the reference",
        minimum=0.0,
    ),
    Parameter(
        "wait_for_reference",
        False,
        "lock-step: answer each joint state only with the reference for its stamp; else take the "
        "newest reference, advanced to the stamp",
    ),
    Parameter(
        "leave_with_reference",
        False,
        "end when nobody is left who publishes references that more have to follow: with status "
        "0 where the last one stands, else 1",
    ),
    Parameter(
        "reference_timeout",
        0.08,
        "age of the newest stamped reference after which zero torque is commanded, s",
        above=0.0,
        maximum=10.0,
    ),
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
    Parameter("listeners", 0, "subscribers of ~/status to wait for before starting", minimum=0),
)
