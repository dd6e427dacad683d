"""Control laws: motion in, torques out; no ROS."""
