# SPDX-License-Identifier: Apache-2.0
"""Calibration of odometry: radii and track from wheels, a gyro, a pose source, or a tape measure.

The same functions serve runs and recordings:

    from diffbot_calibration.calibrate import calibrate
    from diffbot_calibration.results import write_results

    calibration = calibrate(wheels, geometry=WheelGeometry(r, r, b), gyro=gyro, poses=poses)
    write_results(calibration, folder)      # calibration.yaml, summary.json, pictures

`geometry` holds the radii and track assumed so far. `gyro` or `poses` may be None, but not both.
"""
