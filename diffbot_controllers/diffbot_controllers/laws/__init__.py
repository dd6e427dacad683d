# SPDX-License-Identifier: Apache-2.0
"""Control laws that compute wheel torques from the robot's motion; independent of ROS."""
