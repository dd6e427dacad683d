# SPDX-License-Identifier: Apache-2.0
"""Control laws: motion in, torques out; no ROS."""
