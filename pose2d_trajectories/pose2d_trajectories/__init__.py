# SPDX-License-Identifier: Apache-2.0
"""Reference trajectories for wheeled robots in the plane: pose, velocity and acceleration."""

from typing import TYPE_CHECKING

from diffbot_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from pose2d_trajectories.reference import Reference as Reference
    from pose2d_trajectories.reference import Trajectory as Trajectory
    from pose2d_trajectories.shapes import OPTIONS as OPTIONS
    from pose2d_trajectories.shapes import TRAJECTORIES as TRAJECTORIES
    from pose2d_trajectories.shapes import make_trajectory as make_trajectory
    from pose2d_trajectories.shapes import options_of as options_of
    from pose2d_trajectories.timing import TrajectoryLimits as TrajectoryLimits

__getattr__, __all__ = lazy_names(__name__, __file__)
