"""Geometry of differential-drive robots: wheel and body velocities, torques and samples."""

from arc_odometry.geometry import WheelGeometry
from arc_odometry.joints import JointReader, JointSample

__all__ = ["JointReader", "JointSample", "WheelGeometry"]
