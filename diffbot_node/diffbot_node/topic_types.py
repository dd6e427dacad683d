# SPDX-License-Identifier: Apache-2.0
"""Names of the types of messages that robots and their sensors speak; knows no ROS."""

JOINT_STATE = "sensor_msgs/msg/JointState"
ARRAY = "std_msgs/msg/Float64MultiArray"
"""Efforts of the wheels."""
ODOMETRY = "nav_msgs/msg/Odometry"
TWISTS = TWIST, TWIST_STAMPED = "geometry_msgs/msg/Twist", "geometry_msgs/msg/TwistStamped"
COMMANDS = frozenset({ARRAY, *TWISTS})
"""Types of the messages by which nodes command a robot."""
IMU = "sensor_msgs/msg/Imu"
LASER = "sensor_msgs/msg/LaserScan"
TRANSFORMS = "tf2_msgs/msg/TFMessage"
POSES = ("geometry_msgs/msg/PoseWithCovarianceStamped", "geometry_msgs/msg/PoseStamped")
