"""Control laws of differential-drive robots that command wheel torque.

The names below are loaded from their modules when they are first used: the executables of this
package set their signals before NumPy loads, and Ctrl-C then leaves no traceback.
"""

from importlib import import_module
from typing import Any

_NAMES = {
    "approach": (
        "Approach",
        "PolarError",
    ),
    "approach_settings": ("ApproachGains",),
    "backstep_record": ("BackstepRecord",),
    "backstepping_published": ("PublishedBackstepping",),
    "backstepping_standard": ("StandardBackstepping",),
    "dynamics": ("BodyDynamics",),
    "linearizing": (
        "LinearizingController",
        "LinearizingRecord",
    ),
    "motion": (
        "Reference",
        "State",
        "Torque",
        "Velocity",
    ),
    "nonsmooth": ("NonsmoothGains",),
    "pi_gains": (
        "PUBLISHED",
        "PiDesign",
        "PiGains",
    ),
    "polar_pose": (
        "PolarPoseController",
        "PolarPoseRecord",
    ),
    "tracker": ("TrackerGains",),
    "tuning": (
        "approach_gains",
        "servo_limits",
        "tuned_backstepping",
        "tuned_polar_pose",
    ),
    "velocity_servo": (
        "ServoLimits",
        "VelocityServo",
    ),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
