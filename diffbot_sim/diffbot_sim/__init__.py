"""Simulated differential-drive robots: engines, actuators, encoders and pacing; no ROS needed."""
