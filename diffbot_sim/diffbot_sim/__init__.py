# SPDX-License-Identifier: Apache-2.0
"""Simulated differential-drive robots: engines, actuators, encoders and pacing; no ROS needed."""
