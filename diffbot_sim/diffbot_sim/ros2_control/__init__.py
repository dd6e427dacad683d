"""Simulators with ros2_control inside: gz_ros2_control, and gazebo_ros2_control of Humble.

Start reading at ros2_control_simulator_node.py.
"""
