"""The executables of this package.

A node's module is loaded when it is called, with SIGINT set to end the process: Ctrl-C while it
still loads leaves no traceback.
"""

from __future__ import annotations

import signal


def trajectory_publisher() -> int:
    """Run the trajectory_publisher node; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diffbot_node import run_node
    from pose2d_trajectories.trajectory_node import TrajectoryNode

    return run_node(TrajectoryNode)


def velocity_steps() -> int:
    """Run the velocity_steps node; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diffbot_node import run_node
    from pose2d_trajectories.velocity_steps_node import VelocityStepsNode

    return run_node(VelocityStepsNode)


def pose_step() -> int:
    """Run the pose_step command; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from pose2d_trajectories.pose_nodes import main

    return main()


def pose2d_to_pose_stamped() -> int:
    """Run the pose2d_to_pose_stamped node; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diffbot_node import run_node
    from pose2d_trajectories.pose_nodes import PoseStampedNode

    return run_node(PoseStampedNode)
