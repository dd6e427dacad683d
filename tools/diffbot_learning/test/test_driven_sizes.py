# SPDX-License-Identifier: Apache-2.0
"""Radii, track, gyro and mounting from ordinary driving: sizes, changes, and their causes."""

import math

import numpy as np
import pytest
from made_recordings.made_laser import MadeLaser, room, scans
from made_recordings.made_readings import MadeGyro, MadePoses, simulated_drive
from made_recordings.recorded_bag import RecordedBag

from arc_odometry import JointSample, WheelGeometry
from diffbot_description import load_robot
from diffbot_learning.driven_sizes import StretchValue, driven_sizes
from diffbot_learning.learned_robot import LearnedRobot
from diffbot_learning.stretch import Stretch, driven_motions, read_stretch
from diffbot_recordings.sensor_readings import CalibrationReadings

GIVEN = load_robot("twil").geometry
TRUE = WheelGeometry(0.0753, 0.0747, 0.2755)
SENSORS = (
    MadeGyro(bias=0.01, scale=1.004, bias_walk=1e-10),
    MadePoses(outliers=0.0, period=0.2),
)


def mission(rng, seconds=40.0):
    """Legs as a robot at work drives them: to and fro between places, with turns on the way."""
    legs, total = [], 0.0
    while total < seconds:
        turn = rng.uniform(0.5, 3.0) * rng.choice((-1.0, 1.0))
        legs += [(rng.uniform(0.2, 0.5), 0.0, rng.uniform(1.0, 4.0)), (0.0, turn / 1.5, 1.1)]
        legs += [(0.3, 0.5 * turn / 3.0, rng.uniform(1.0, 3.0)), (0.0, 0.0, rng.uniform(0.5, 3.0))]
        total += sum(leg[2] + 0.8 for leg in legs[-4:])
    return legs


def stretch(number, rng, true=TRUE, gyro=SENSORS[0], poses=SENSORS[1], path_noise=1e-6):
    """40 s of work, as the fit tells it; None for a sensor: there is none."""
    drive = simulated_drive(true, mission(rng), rng, path_noise)
    readings = CalibrationReadings(
        drive.wheels,
        None if gyro is None else drive.gyro(gyro, rng),
        None if poses is None else drive.poses(poses, rng),
    )
    values, reason = driven_sizes(readings, GIVEN)
    motions = driven_motions(drive.wheels, load_robot("twil"))
    return Stretch(60.0 * number, values, {}, motions, reason)


def learn(seed, stretches, **sensors):
    rng = np.random.default_rng(seed)
    learning = LearnedRobot("twil")
    for number in range(stretches):
        assert learning.add(stretch(number, rng, **sensors)) is None
    return {value.name: value for value in learning.values()}


def test_a_gyro_and_poses_tell_all_sizes_and_their_coverage():
    """Two robots, seeds 0 and 1: of 14 values two at most beyond their 95 % intervals."""
    outside = 0
    for seed in range(2):
        values = learn(seed, 4)
        truth = {
            **{"left_radius": TRUE.left_radius, "right_radius": TRUE.right_radius},
            **{"track": TRUE.separation, "gyro_scale": 1.004},
            **dict(zip(("mount_x", "mount_y", "mount_yaw"), (0.12, -0.05, 0.3), strict=True)),
        }
        for name, true in truth.items():
            outside += abs(values[name].value - true) > values[name].half_width
        for name, limit in (("left_radius", 0.003), ("track", 0.005), ("gyro_scale", 0.004)):
            assert values[name].value == pytest.approx(truth[name], rel=limit)
    assert outside <= 2
    assert values["gyro_bias"].coverage == 1.0 and not values["gyro_bias"].more
    assert 0.3 < values["track"].coverage < 1.0 and values["track"].more == "turns to the right"
    assert values["track"].baseline is None


def test_a_gyro_alone_tells_ratios_no_better_than_its_scale():
    values = learn(1, 3, poses=None)
    assert not {"left_radius", "track", "gyro_scale"} & {*values}
    ratio = values["track_over_mean_radius"]
    true = TRUE.separation / (0.5 * (TRUE.left_radius + TRUE.right_radius))
    assert abs(ratio.value - true) < ratio.half_width
    assert ratio.half_width > 1.9 * 0.005 * true
    assert values["radius_ratio"].half_width < 0.005


def test_no_sensor_tells_nothing():
    made = stretch(0, np.random.default_rng(1), gyro=None, poses=None)
    assert not made.values and "neither gyro nor poses" in made.reason


# Changes, of values as a fit tells them.

STDS = {
    **{"left_radius": 5e-5, "right_radius": 5e-5, "track": 3e-4, "gyro_scale": 5e-4},
    **{"mount_x": 1e-3, "mount_y": 1e-3, "mount_yaw": 1e-3, "path_noise": 3e-7},
}
USUAL = {
    **{"left_radius": 0.075, "right_radius": 0.0751, "track": 0.27, "gyro_scale": 1.002},
    **{"mount_x": 0.1, "mount_y": 0.0, "mount_yaw": 0.05, "path_noise": 1e-6},
}


def changes_of(seed, stretches=30, **later):
    """Changes in a life in which something else holds after its middle."""
    random, learning, changes = np.random.default_rng(seed), LearnedRobot("twil"), []
    for number in range(stretches):
        true = USUAL | (later if 2 * number >= stretches else {})
        made = {
            name: StretchValue(
                value * np.exp(random.normal(0.0, 0.3))
                if name == "path_noise"
                else random.normal(value, STDS[name]),
                STDS[name] * value / USUAL[name] if name == "path_noise" else STDS[name],
                "1",
            )
            for name, value in true.items()
        }
        if (change := learning.add(Stretch(60.0 * number, made))) is not None:
            changes.append(change)
    return changes


@pytest.mark.parametrize(
    ("later", "cause"),
    [
        ({"left_radius": 0.99 * 0.075}, "tyre left"),
        ({"right_radius": 0.99 * 0.0751}, "tyre right"),
        ({"left_radius": 0.99 * 0.075, "right_radius": 0.99 * 0.0751}, "tyres"),
        ({"track": 1.01 * 0.27}, "track"),
        ({"gyro_scale": 1.012}, "gyro"),
        ({"mount_x": 0.12}, "pose source moved"),
        ({"mount_yaw": 0.08}, "pose source moved"),
        ({"path_noise": 1e-5}, "slip"),
    ],
)
def test_a_change_is_found_once_with_its_cause(later, cause):
    """In five lives each, seeds 0 to 4."""
    for seed in range(5):
        assert [change.cause for change in changes_of(seed, **later)] == [cause]


def test_a_change_of_the_place_is_said_in_metres():
    assert "mount_x by +0.0" in changes_of(1, mount_x=0.12)[0].text
    assert " m between " in changes_of(1, mount_x=0.12)[0].text


def test_rooms_that_differ_a_little_are_no_change():
    """By 0.2 %, as maps do; and 20 lives without any, seeds 0 to 19."""
    assert not changes_of(1, track=1.002 * 0.27, left_radius=1.002 * 0.075)
    assert sum(bool(changes_of(seed)) for seed in range(20)) <= 1


def test_one_tyre_by_a_gyro_alone():
    """Ratios tell which tyre lost 1 %, if the gyro holds its scale."""
    random, learning, changes = np.random.default_rng(1), LearnedRobot("twil"), []
    for number in range(30):
        lost = 0.01 if number >= 15 else 0.0
        made = {
            "radius_ratio": StretchValue(random.normal(1.0 + lost, 5e-4), 5e-4, "1"),
            "track_over_mean_radius": StretchValue(
                random.normal(3.6 * (1.0 + 0.5 * lost), 3.6e-3), 3.6e-3, "1", 0.018
            ),
        }
        changes.append(learning.add(Stretch(60.0 * number, made)))
    assert [change.cause for change in changes if change] == ["tyre left"]


def test_wandering_and_positive_values_are_combined_as_such():
    random, learning = np.random.default_rng(1), LearnedRobot("twil")
    for number in range(8):
        noise = 1e-6 * np.exp(random.normal(0.0, 0.5))
        made = {
            "gyro_bias": StretchValue(0.001 * number, 1e-4, "rad/s"),
            "path_noise": StretchValue(noise, 0.5 * noise, "m^2/m"),
        }
        learning.add(Stretch(60.0 * number, made))
    values = {value.name: value for value in learning.values()}
    assert values["gyro_bias"].value == pytest.approx(0.007)
    assert values["gyro_bias"].baseline == pytest.approx(0.004)
    assert values["path_noise"].value == pytest.approx(1e-6, rel=0.5)


# From a recording.


def write_laser_bag(folder):
    """Scans of 240 rays while the robot works for 30 s in a room; no odometry, no gyro."""
    rng = np.random.default_rng(4)
    legs = [(0.3, 0.0, 2.0), (0.0, 1.2, 2.0), (0.3, 0.0, 2.0), (0.0, -1.2, 3.0)] * 3
    drive = simulated_drive(TRUE, legs, rng, 1e-6)
    begin, end = drive.wheels.stamps[0], drive.wheels.stamps[-1]
    folder.parent.mkdir(exist_ok=True)
    with RecordedBag(folder) as bag:
        for stamp, *angles in zip(*vars(drive.wheels).values(), strict=True):
            sample = JointSample(stamp, (angles[0], angles[1]), (0, 0), (0, 0))
            bag.joint_state("/joint_states", sample, effort=False)
        laser = MadeLaser(rays=240, mounting=(0.1, 0.0, 0.2))
        for scan in scans(drive.truth.poses, room(rng), laser, begin, end - 0.2, rng):
            bag.scan("/scan", scan)


def test_a_laser_in_a_bag_tells_sizes(tmp_path):
    write_laser_bag(tmp_path / "bag")
    made = read_stretch(tmp_path / "bag", "twil")
    assert made.motions["turning on the spot"] > 5.0
    radius = made.values["left_radius"]
    assert abs(radius.value - TRUE.left_radius) < 3.0 * math.hypot(radius.std, radius.common)
    assert radius.common == pytest.approx(0.002 * TRUE.left_radius, rel=0.2)
    assert made.values["mount_x"].value == pytest.approx(0.1, abs=0.02)
