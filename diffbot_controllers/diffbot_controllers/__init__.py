"""Control laws of differential-drive robots that command wheel torque."""

from diffbot_controllers.approach import Approach, PolarError
from diffbot_controllers.approach_settings import ApproachGains
from diffbot_controllers.backstep_record import BackstepRecord
from diffbot_controllers.backstepping_published import PublishedBackstepping
from diffbot_controllers.backstepping_standard import StandardBackstepping
from diffbot_controllers.dynamics import BodyDynamics
from diffbot_controllers.linearizing import LinearizingController, LinearizingRecord
from diffbot_controllers.motion import Reference, State, Torque, Velocity
from diffbot_controllers.nonsmooth import NonsmoothGains
from diffbot_controllers.pi_gains import PUBLISHED, PiDesign, PiGains
from diffbot_controllers.polar_pose import PolarPoseController, PolarPoseRecord
from diffbot_controllers.tracker import TrackerGains
from diffbot_controllers.tuning import (
    approach_gains,
    servo_limits,
    tuned_backstepping,
    tuned_polar_pose,
)
from diffbot_controllers.velocity_servo import ServoLimits, VelocityServo

__all__ = [
    "PUBLISHED",
    "Approach",
    "ApproachGains",
    "BackstepRecord",
    "BodyDynamics",
    "LinearizingController",
    "LinearizingRecord",
    "NonsmoothGains",
    "PiDesign",
    "PiGains",
    "PolarError",
    "PolarPoseController",
    "PolarPoseRecord",
    "PublishedBackstepping",
    "Reference",
    "ServoLimits",
    "StandardBackstepping",
    "State",
    "Torque",
    "TrackerGains",
    "Velocity",
    "VelocityServo",
    "approach_gains",
    "servo_limits",
    "tuned_backstepping",
    "tuned_polar_pose",
]
