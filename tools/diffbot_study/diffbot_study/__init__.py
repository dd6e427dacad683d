# SPDX-License-Identifier: Apache-2.0
"""Whole runs in one process, without ROS: identify a robot, drive it, record it.

Used by benchmarks, papers, tests and examples/.
"""

from typing import TYPE_CHECKING

from diffbot_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from diffbot_study.driving import DriveSamples as DriveSamples
    from diffbot_study.driving import Law as Law
    from diffbot_study.driving import LiveAdaptation as LiveAdaptation
    from diffbot_study.driving import simulate_drive as simulate_drive
    from diffbot_study.simulated_identification import IdentificationRun as IdentificationRun
    from diffbot_study.simulated_identification import TorqueSignal as TorqueSignal
    from diffbot_study.simulated_identification import (
        simulate_identification as simulate_identification,
    )
    from diffbot_study.velocity_driving import VelocityDrive as VelocityDrive
    from diffbot_study.velocity_driving import simulate_velocity_drive as simulate_velocity_drive

__getattr__, __all__ = lazy_names(__name__, __file__)
