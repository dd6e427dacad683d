# SPDX-License-Identifier: Apache-2.0
"""The executables of this package; see diffbot_node/executables.py."""

from __future__ import annotations

from diffbot_node.executables import Executable

trajectory_publisher = Executable("pose2d_trajectories.trajectory_node", "TrajectoryNode")
velocity_steps = Executable("pose2d_trajectories.trajectory_node", "VelocityStepsNode")
pose2d_to_pose_stamped = Executable("pose2d_trajectories.pose_nodes", "PoseStampedNode")
pose_step = Executable("pose2d_trajectories.pose_nodes", "main")
