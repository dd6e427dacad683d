"""Reference trajectories for wheeled robots in the plane: pose, velocity and acceleration."""

from pose2d_trajectories.catalogue import OPTIONS, TRAJECTORIES, make_trajectory, options_of
from pose2d_trajectories.limits import Limits
from pose2d_trajectories.reference import Reference, Trajectory

__all__ = [
    "OPTIONS",
    "TRAJECTORIES",
    "Limits",
    "Reference",
    "Trajectory",
    "make_trajectory",
    "options_of",
]
