# SPDX-License-Identifier: Apache-2.0
"""ROS nodes of the controllers for torque-controlled robots."""
