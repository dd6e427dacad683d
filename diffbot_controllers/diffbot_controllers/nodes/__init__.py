"""ROS nodes of the controllers of torque robots."""
