"""The executables of this package.

A node's module is loaded when it is called, with SIGINT set to end the process: Ctrl-C while it
still loads leaves no traceback.
"""

from __future__ import annotations

import signal


def linearizing_controller() -> int:
    """Run the linearizing_controller node; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diffbot_controllers.nodes.linearizing_node import LinearizingNode
    from diffbot_node import run_node

    return run_node(LinearizingNode)


def pose_controller() -> int:
    """Run the pose_controller node; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diffbot_controllers.nodes.pose_node import PoseNode
    from diffbot_node import run_node

    return run_node(PoseNode)


def backstep_controller() -> int:
    """Run the backstep_controller node; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diffbot_controllers.nodes.backstep_node import BackstepNode
    from diffbot_node import run_node

    return run_node(BackstepNode)


def velocity_tracking_controller() -> int:
    """Run the velocity_tracking_controller node; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diffbot_controllers.velocity_tracking.velocity_tracking_node import VelocityTrackingNode
    from diffbot_node import run_node

    return run_node(VelocityTrackingNode)
