# SPDX-License-Identifier: Apache-2.0
"""Simulators that come with a ROS 2 installation: sim:=gz, gz_ros2_control and gazebo_ros.

Start reading at gz_simulator_node.py and external_simulator.py.
"""
