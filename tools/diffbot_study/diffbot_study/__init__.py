# SPDX-License-Identifier: Apache-2.0
"""Whole runs in one process, without ROS: identify a robot, drive it, record it.

Used by benchmarks, papers, tests and examples/.
"""

from diffbot_ident.torque.estimate import Estimate, EstimateState, Estimator
from diffbot_study.driving import (
    DriveSamples,
    Law,
    LiveAdaptation,
    simulate_drive,
)
from diffbot_study.simulated_identification import (
    IdentificationRun,
    TorqueSignal,
    identify_arrays,
    simulate_identification,
)
from diffbot_study.velocity_driving import VelocityDrive, simulate_velocity_drive

__all__ = [
    "DriveSamples",
    "Estimate",
    "EstimateState",
    "Estimator",
    "IdentificationRun",
    "Law",
    "LiveAdaptation",
    "TorqueSignal",
    "VelocityDrive",
    "identify_arrays",
    "simulate_drive",
    "simulate_identification",
    "simulate_velocity_drive",
]
