# SPDX-License-Identifier: Apache-2.0
"""The executables of this package; see diffbot_node/executables.py."""

from __future__ import annotations

from diffbot_node.executables import Executable

trajectory_publisher = Executable("pose2d_trajectories.trajectory_node", "TrajectoryNode")
velocity_steps = Executable("pose2d_trajectories.trajectory_node", "VelocityStepsNode")
pose2d_to_pose_stamped = Executable("pose2d_trajectories.pose_nodes", "PoseStampedNode")
pose_step = Executable("pose2d_trajectories.pose_nodes", "main")
# The node of pose_step, for a process of several nodes: its set point is a parameter.
pose_step_node = Executable("pose2d_trajectories.pose_nodes", "PoseStepNode")
