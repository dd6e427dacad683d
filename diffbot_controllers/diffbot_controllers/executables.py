# SPDX-License-Identifier: Apache-2.0
"""The executables of this package; see diffbot_node/executables.py."""

from __future__ import annotations

from diffbot_node.executables import Executable

linearizing_controller = Executable("diffbot_controllers.nodes.linearizing_node", "LinearizingNode")
pose_controller = Executable("diffbot_controllers.nodes.pose_node", "PoseNode")
backstep_controller = Executable("diffbot_controllers.nodes.backstep_node", "BackstepNode")
velocity_tracking_controller = Executable(
    "diffbot_controllers.velocity_tracking.velocity_tracking_node", "VelocityTrackingNode"
)
