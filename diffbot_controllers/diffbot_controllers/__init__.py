# SPDX-License-Identifier: Apache-2.0
"""Control laws of differential-drive robots that command wheel torque."""

from typing import TYPE_CHECKING

from diffbot_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from diffbot_controllers.laws.backstepping_published import NonsmoothGains as NonsmoothGains
    from diffbot_controllers.laws.backstepping_published import (
        PublishedBackstepping as PublishedBackstepping,
    )
    from diffbot_controllers.laws.backstepping_standard import BackstepRecord as BackstepRecord
    from diffbot_controllers.laws.backstepping_standard import (
        StandardBackstepping as StandardBackstepping,
    )
    from diffbot_controllers.laws.backstepping_standard import TrackerGains as TrackerGains
    from diffbot_controllers.laws.backstepping_standard import VelocityServo as VelocityServo
    from diffbot_controllers.laws.feedback_linearization import PUBLISHED as PUBLISHED
    from diffbot_controllers.laws.feedback_linearization import (
        LinearizingController as LinearizingController,
    )
    from diffbot_controllers.laws.feedback_linearization import (
        LinearizingRecord as LinearizingRecord,
    )
    from diffbot_controllers.laws.feedback_linearization import PiDesign as PiDesign
    from diffbot_controllers.laws.feedback_linearization import PiGains as PiGains
    from diffbot_controllers.laws.friction import KnownWheels as KnownWheels
    from diffbot_controllers.laws.motion import State as State
    from diffbot_controllers.laws.polar_approach import Approach as Approach
    from diffbot_controllers.laws.polar_approach import ApproachGains as ApproachGains
    from diffbot_controllers.laws.polar_approach import PolarError as PolarError
    from diffbot_controllers.laws.polar_pose import PolarPoseController as PolarPoseController
    from diffbot_controllers.laws.polar_pose import PolarPoseRecord as PolarPoseRecord
    from diffbot_controllers.tuning import approach_gains as approach_gains
    from diffbot_controllers.tuning import servo_limits as servo_limits
    from diffbot_controllers.tuning import tuned_backstepping as tuned_backstepping
    from diffbot_controllers.tuning import tuned_polar_pose as tuned_polar_pose
    from diffbot_controllers.velocity_tracking.law import TrackerSettings as TrackerSettings
    from diffbot_controllers.velocity_tracking.law import VelocityTracker as VelocityTracker

__getattr__, __all__ = lazy_names(__name__, __file__)
