# SPDX-License-Identifier: Apache-2.0
"""Gazebo 11 as a physics engine: its installation, world, and server as a child process.

`plugin/diffbot_gazebo.cc` runs inside the server and applies the wheel torques at every step.
"""
