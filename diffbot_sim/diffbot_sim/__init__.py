# SPDX-License-Identifier: Apache-2.0
"""Simulated differential-drive robots: engines, motors, encoders without ROS; simulator nodes."""
