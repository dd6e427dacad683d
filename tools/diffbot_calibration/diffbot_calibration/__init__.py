# SPDX-License-Identifier: Apache-2.0
"""Calibration of odometry: radii and track from wheels, a gyro, a pose source, or a tape measure.

    calibration = calibrate(wheels, geometry=WheelGeometry(r, r, b), gyro=gyro, poses=poses)
    write_results(calibration, folder)      # calibration.yaml, summary.json, pictures

`geometry` holds the radii and track assumed so far. `gyro` or `poses` may be None, but not both.
"""

from typing import TYPE_CHECKING

from diffbot_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from diffbot_calibration.calibration import CalibratedValue as CalibratedValue
    from diffbot_calibration.calibration import Calibration as Calibration
    from diffbot_calibration.calibration import CalibrationOutcome as CalibrationOutcome
    from diffbot_calibration.calibration import calibrate as calibrate
    from diffbot_calibration.results import write_calibrated_robot as write_calibrated_robot
    from diffbot_calibration.results import write_results as write_results
    from diffbot_calibration.umbmark import Squares as Squares
    from diffbot_calibration.umbmark import Umbmark as Umbmark
    from diffbot_calibration.umbmark import calibrate_umbmark as calibrate_umbmark

__getattr__, __all__ = lazy_names(__name__, __file__)
