# SPDX-License-Identifier: Apache-2.0
"""Simulators of a ROS 2 install: sim:=gz, gz_ros2_control and gazebo_ros.

Start reading at gz_simulator_node.py and ros2_control_simulator_node.py.
"""
