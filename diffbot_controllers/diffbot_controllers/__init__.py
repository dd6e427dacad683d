# SPDX-License-Identifier: Apache-2.0
"""Control laws of differential-drive robots that command wheel torque.

The names below are loaded from their modules when they are first used: the executables of this
package set their signals before NumPy loads, and Ctrl-C then leaves no traceback.
"""

from importlib import import_module
from typing import Any

_NAMES = {
    "arc_odometry": ("Velocity",),
    "diffbot_description": ("DynamicParameters", "Torque"),
    "pose2d_trajectories": ("Reference",),
    "diffbot_controllers.laws.polar_approach": ("Approach", "ApproachGains", "PolarError"),
    "diffbot_controllers.laws.backstepping_published": (
        "BackstepRecord",
        "NonsmoothGains",
        "PublishedBackstepping",
    ),
    "diffbot_controllers.laws.backstepping_standard": (
        "ServoLimits",
        "StandardBackstepping",
        "TrackerGains",
        "VelocityServo",
    ),
    "diffbot_controllers.laws.feedback_linearization": (
        "PUBLISHED",
        "LinearizingController",
        "LinearizingRecord",
        "PiDesign",
        "PiGains",
    ),
    "diffbot_controllers.laws.friction": ("KnownWheels",),
    "diffbot_controllers.laws.motion": ("State",),
    "diffbot_controllers.laws.polar_pose": ("PolarPoseController", "PolarPoseRecord"),
    "diffbot_controllers.tuning": (
        "approach_gains",
        "servo_limits",
        "tuned_backstepping",
        "tuned_polar_pose",
    ),
    "diffbot_controllers.velocity_tracking.law": ("TrackerSettings", "VelocityTracker"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
