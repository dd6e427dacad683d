"""The executables of this package.

A node's module is loaded when it is called, with SIGINT set to end the process: Ctrl-C while it
still loads leaves no traceback.
"""

from __future__ import annotations

import signal
from importlib import import_module


def _run(module: str, node: str) -> int:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    node_class = getattr(import_module(f"diffbot_controllers.{module}"), node)
    from diffbot_node import run_node

    return run_node(node_class)


def linearizing_controller() -> int:
    """Run the linearizing_controller node; returns the exit status."""
    return _run("nodes.linearizing_node", "LinearizingNode")


def pose_controller() -> int:
    """Run the pose_controller node; returns the exit status."""
    return _run("nodes.pose_node", "PoseNode")


def backstep_controller() -> int:
    """Run the backstep_controller node; returns the exit status."""
    return _run("nodes.backstep_node", "BackstepNode")


def velocity_tracking_controller() -> int:
    """Run the velocity_tracking_controller node; returns the exit status."""
    return _run("velocity_tracking.velocity_tracking_node", "VelocityTrackingNode")
