"""Control laws of differential-drive robots that command wheel torque.

The names below are loaded from their modules when they are first used: the executables of this
package set their signals before NumPy loads, and Ctrl-C then leaves no traceback.
"""

from importlib import import_module
from typing import Any

_NAMES = {
    "laws.approach": ("Approach", "ApproachGains", "BackstepRecord", "PolarError"),
    "laws.backstepping_published": ("NonsmoothGains", "PublishedBackstepping"),
    "laws.backstepping_standard": ("StandardBackstepping", "TrackerGains"),
    "laws.feedback_linearization": (
        "PUBLISHED",
        "LinearizingController",
        "LinearizingRecord",
        "PiDesign",
        "PiGains",
        "ServoLimits",
        "VelocityServo",
    ),
    "laws.motion": ("BodyDynamics", "Reference", "State", "Torque", "Velocity"),
    "laws.polar_pose": ("PolarPoseController", "PolarPoseRecord"),
    "tuning": ("approach_gains", "servo_limits", "tuned_backstepping", "tuned_polar_pose"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
