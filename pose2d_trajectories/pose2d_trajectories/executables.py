"""The executables of this package.

A node's module is loaded when it is called, with SIGINT set to end the process: Ctrl-C while it
still loads leaves no traceback.
"""

from __future__ import annotations

import signal
from importlib import import_module


def _run(module: str, node: str) -> int:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    node_class = getattr(import_module(f"pose2d_trajectories.{module}"), node)
    from diffbot_node import run_node

    return run_node(node_class)


def trajectory_publisher() -> int:
    """Run the trajectory_publisher node; returns the exit status."""
    return _run("trajectory_node", "TrajectoryNode")


def velocity_steps() -> int:
    """Run the velocity_steps node; returns the exit status."""
    return _run("trajectory_node", "VelocityStepsNode")


def pose2d_to_pose_stamped() -> int:
    """Run the pose2d_to_pose_stamped node; returns the exit status."""
    return _run("pose_nodes", "PoseStampedNode")


def pose_step() -> int:
    """Run the pose_step command; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from pose2d_trajectories.pose_nodes import main

    return main()
