"""Gazebo (Ionic or newer) through its stock systems and ros_gz_bridge, in lock-step.

Start reading at gz_simulator_node.py.
"""
