# SPDX-License-Identifier: Apache-2.0
"""Reference trajectories for wheeled robots in the plane: pose, velocity and acceleration."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pose2d_trajectories.reference import Reference, Trajectory
    from pose2d_trajectories.shapes import OPTIONS, TRAJECTORIES, make_trajectory, options_of
    from pose2d_trajectories.timing import TrajectoryLimits

__all__ = [
    "OPTIONS",
    "TRAJECTORIES",
    "TrajectoryLimits",
    "Reference",
    "Trajectory",
    "make_trajectory",
    "options_of",
]

_MODULES = {"TrajectoryLimits": "timing", "Reference": "reference", "Trajectory": "reference"}


def __getattr__(name: str) -> Any:
    # At first use: the executables set their signal handlers before.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'shapes')}"), name)
