# SPDX-License-Identifier: Apache-2.0
"""Radii and track from a pose source or a gyro: exact without noise, honest with it."""

import math

import numpy as np
import pytest
from made_recordings.made_laser import MadeLaser, laser_poses, room
from made_recordings.made_readings import (
    MadeGyro,
    MadePoses,
    calibration_legs,
    simulated_drive,
)

from arc_odometry import WheelGeometry
from diffbot_calibration.calibration import (
    CalibrationOutcome,
    calibrate,
    fit_drive,
    fitted_values,
)
from diffbot_calibration.held_out import significance
from diffbot_calibration.wheel_geometry import WheelGeometryFit
from diffbot_recordings.laser_poses import LASER_ERRORS
from diffbot_recordings.sensor_readings import (
    CalibrationReadings,
    GyroReadings,
    PoseReadings,
    WheelPath,
    WheelTurns,
)
from diffbot_recordings.sensor_turns import CalibrationError

GIVEN = WheelGeometry(0.075, 0.075, 0.27)
TRUE = WheelGeometry(0.0760, 0.0748, 0.25)
EXACT = MadePoses(position=1e-4, yaw=1e-4, outliers=0.0)


def drive(path_noise=1e-6, duration=60.0, seed=1, counts=4096):
    rng = np.random.default_rng(seed)
    return simulated_drive(TRUE, calibration_legs(duration), rng, path_noise, counts), rng


@pytest.fixture(scope="module")
def noisy():
    """A drive, its poses and its gyro."""
    run, rng = drive()
    return run.wheels, run.poses(MadePoses(), rng), run.gyro(MadeGyro(), rng)


def test_without_noise_the_truth_is_found() -> None:
    run, rng = drive(path_noise=0.0, counts=0)
    fit = WheelGeometryFit(run.wheels, GIVEN, None, run.poses(EXACT, rng), 0.005).run()
    result = fit.geometry(0.0)
    # Noise of 0.1 mm and 0.1 mrad in 1200 poses; 1e-5 is ten times what three seeds left.
    assert result.left_radius == pytest.approx(TRUE.left_radius, rel=1e-5)
    assert result.right_radius == pytest.approx(TRUE.right_radius, rel=1e-5)
    assert result.separation == pytest.approx(TRUE.separation, rel=1e-4)
    assert fit.value("pose_delay") == pytest.approx(EXACT.delay, abs=2e-4)
    for name, value in zip(("mount_x", "mount_y", "mount_yaw"), EXACT.mounting, strict=True):
        assert fit.value(name) == pytest.approx(value, abs=2e-4)


@pytest.mark.numeric
def test_errors_are_as_large_as_the_fit_says() -> None:
    """6 drives, 3 logarithms each: 0.4 to 1.6 is beyond chi^2's 0.1 % tails for 18."""
    scores = []
    for seed in range(6):
        run, rng = drive(seed=100 + seed, duration=20.0)
        fit = WheelGeometryFit(run.wheels, GIVEN, None, run.poses(MadePoses(), rng), 0.005)
        result = fit.run()
        mean = 0.5 * (TRUE.left_radius + TRUE.right_radius)
        truth = {
            "log_radius": math.log(mean),
            "log_ratio": math.log(TRUE.right_radius / TRUE.left_radius),
            "log_track": math.log(TRUE.separation / mean),
        }
        scores += [(result.value(n) - value) / result.std(n) for n, value in truth.items()]
    assert 0.4 < float(np.sqrt(np.mean(np.square(scores)))) < 1.6


@pytest.mark.numeric
def test_where_a_laser_is_mounted_is_known_as_well_as_its_interval_says() -> None:
    """3 drives, 3 values each: rms 1.76 is chi^2's 0.1 % tail for 9; the fit alone says 2.3.

    Its map keeps the noise of a few scans; the fit takes that for slip.
    """
    mounting, scores = (0.15, -0.1, 0.4), []
    for seed in range(3):
        run, rng = drive(seed=900 + seed, duration=40.0)
        poses = laser_poses(run, room(rng), MadeLaser(rays=240, mounting=mounting), rng)
        readings = CalibrationReadings(run.wheels, poses=poses, pose_errors=LASER_ERRORS)
        fit, _ = fit_drive(readings, GIVEN, 0.005)
        values = fitted_values(fit, readings, GIVEN, LASER_ERRORS)
        for name, true in zip(("mount_x", "mount_y", "mount_yaw"), mounting, strict=True):
            value = values[name]
            assert value.upper - value.lower < 0.01  # m or rad: it is told all the same
            scores.append(3.92 * (value.value - true) / (value.upper - value.lower))
    assert float(np.sqrt(np.mean(np.square(scores)))) < 1.76


def test_a_pose_source_tells_all_and_proves_it(noisy) -> None:
    wheels, poses, _ = noisy
    result = calibrate(wheels, geometry=GIVEN, poses=poses)
    assert result.outcome is CalibrationOutcome.CALIBRATED
    assert result.absolute
    assert result.geometry.left_radius == pytest.approx(TRUE.left_radius, rel=2e-3)
    assert result.geometry.separation == pytest.approx(TRUE.separation, rel=6e-3)
    assert result.held_out is not None
    assert result.held_out.after.heading < 0.2 * result.held_out.before.heading
    assert result.held_out.consistent
    assert not result.quantities["mount_yaw"].holds(0.0)
    # What was found is confirmed when it is given.
    again = calibrate(wheels, geometry=result.geometry, poses=poses)
    assert again.outcome is CalibrationOutcome.CONFIRMED


@pytest.mark.numeric
def test_what_is_right_is_hardly_ever_refused() -> None:
    """4 drives with true sizes given: 1 in 40 was refused, so 2 are beyond 0.4 %."""
    outcomes = []
    for seed in range(4):
        run, rng = drive(seed=200 + seed, duration=35.0)
        poses = run.poses(MadePoses(), rng)
        outcomes.append(calibrate(run.wheels, geometry=TRUE, poses=poses).outcome)
    assert outcomes.count(CalibrationOutcome.REFUSED) < 2
    assert outcomes.count(CalibrationOutcome.CONFIRMED) > 2


def test_few_windows_say_less_of_a_drift_that_grew() -> None:
    three, many = np.array([0.4, 1.0, 1.6]), np.tile([0.4, 1.0, 1.6], 30)
    mean = np.mean(three) / (np.std(three, ddof=1) / math.sqrt(3))
    assert mean == pytest.approx(2.887, abs=1e-3)
    assert significance(three) == pytest.approx(1.635, abs=1e-3)  # t of 2 degrees: 5.1 %
    assert significance(many) > 10.0
    assert significance(-three) == pytest.approx(-1.635, abs=1e-3)


def test_a_gyro_tells_ratios_and_says_that_it_tells_no_sizes(noisy) -> None:
    wheels, _, gyro = noisy
    result = calibrate(wheels, geometry=GIVEN, gyro=gyro, gyro_scale_std=0.001)
    assert result.usable
    assert not result.absolute
    size = result.quantities["left_radius"]
    assert math.isinf(size.upper)
    assert size.reason is not None
    assert "tape" in size.reason
    ratio = result.quantities["track_over_mean_radius"]
    assert ratio.value == pytest.approx(2.0 * 0.25 / (0.0760 + 0.0748), rel=3e-3)
    # Nobody tells the scale of a gyro from wheels whose track nobody knows.
    assert result.quantities["gyro_scale"].value == 1.0
    assert (result.geometry.left_radius + result.geometry.right_radius) / 2.0 == pytest.approx(
        0.075
    )


def test_jumps_of_the_frame_do_not_matter() -> None:
    run, rng = drive()
    jumping = run.poses(MadePoses(jumps=(120.0, 140.3)), rng)
    fit = WheelGeometryFit(run.wheels, GIVEN, None, jumping, 0.005).run()
    assert np.count_nonzero(fit.drive.breaks) == 2
    assert fit.geometry(0.0).left_radius == pytest.approx(TRUE.left_radius, rel=2e-3)


def _poses(poses: PoseReadings, **changed) -> PoseReadings:
    return PoseReadings(**{**vars(poses), **changed})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p: _poses(p, y=-p.y), r"mirrored \(y down\); change the sign of y"),
        (lambda p: _poses(p, y=-p.y, yaw=-p.yaw), "turns opposite to the wheels.*mirrored"),
        (lambda p: _poses(p, yaw=np.degrees(p.yaw)), "in degrees; convert it to rad"),
        (lambda p: _poses(p, x=1e3 * p.x, y=1e3 * p.y), "mm instead of m"),
        (lambda p: _poses(p, stamps=p.stamps + 1.7e9), "clocks differ.*one clock"),
        (lambda p: _poses(p, stamps=p.stamps + 5.0), "check its clock and stamps"),
    ],
)
def test_poses_that_cannot_be_are_named(noisy, change, said) -> None:
    wheels, poses, _ = noisy
    with pytest.raises(CalibrationError, match=said):
        calibrate(wheels, geometry=GIVEN, poses=change(poses))


@pytest.mark.parametrize(
    ("factor", "said"),
    [(180.0 / math.pi, "in degrees; convert it to rad/s"), (-1.0, "turns opposite to the wheels")],
)
def test_gyros_that_cannot_be_are_named(noisy, factor, said) -> None:
    wheels, _, gyro = noisy
    with pytest.raises(CalibrationError, match=said):
        calibrate(wheels, geometry=GIVEN, gyro=GyroReadings(gyro.stamps, factor * gyro.rate))


@pytest.mark.parametrize(
    ("legs", "said"),
    [
        ([(0.0, 0.0, 20.0)], "too little motion"),
        ([(0.5, 0.0, 20.0)], "too little motion"),
        ([(0.0, 1.0, 20.0)], "too little motion"),
        ([(0.5, 0.8, 30.0)], "too little motion"),
    ],
)
def test_too_little_motion_is_named(legs, said) -> None:
    rng = np.random.default_rng(3)
    run = simulated_drive(TRUE, legs, rng, 1e-6)
    with pytest.raises(CalibrationError, match=said):
        calibrate(run.wheels, geometry=GIVEN, poses=run.poses(MadePoses(), rng))


def test_a_clock_that_drifts_is_named_and_fitted(noisy) -> None:
    wheels, poses, _ = noisy
    late = _poses(poses, stamps=100.0 + 1.002 * (poses.stamps - 100.0))
    result = calibrate(wheels, geometry=GIVEN, poses=late)
    assert any("clock runs" in note for note in result.notes)
    assert result.quantities["pose_delay_rate"].holds(0.002 / 1.002)
    assert result.geometry.separation == pytest.approx(TRUE.separation, rel=6e-3)


def test_odometry_is_no_pose_source_of_its_own(noisy) -> None:
    wheels, poses, _ = noisy
    own = WheelPath(wheels, GIVEN).poses(poses.stamps)
    result = calibrate(wheels, geometry=GIVEN, poses=PoseReadings(poses.stamps, *own.T))
    assert result.outcome is CalibrationOutcome.REFUSED
    assert "computed from them" in result.reason


def test_a_drive_of_seconds_proves_nothing(noisy) -> None:
    wheels, poses, _ = noisy
    few, some = wheels.stamps < 115.0, poses.stamps < 115.0
    result = calibrate(
        WheelTurns(wheels.stamps[few], wheels.left[few], wheels.right[few]),
        geometry=GIVEN,
        poses=PoseReadings(*(getattr(poses, n)[some] for n in ("stamps", "x", "y", "yaw"))),
    )
    assert result.outcome is CalibrationOutcome.REFUSED
    assert "held-out" in result.reason or "too little motion" in result.reason
