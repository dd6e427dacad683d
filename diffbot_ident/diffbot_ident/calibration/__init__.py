# SPDX-License-Identifier: Apache-2.0
"""Calibration of odometry: radii and track from wheels, a gyro, a pose source, or a tape.

For a run and for a recording alike:

    from diffbot_ident.calibration.calibrate import calibrate
    from diffbot_ident.calibration.results import write_results

    calibration = calibrate(wheels, geometry=WheelGeometry(r, r, b), gyro=gyro, poses=poses)
    write_results(calibration, folder)      # calibration.yaml, summary.json, pictures

`geometry` is what the robot was taken to have; `gyro` and `poses` may each be None, not both.
"""
