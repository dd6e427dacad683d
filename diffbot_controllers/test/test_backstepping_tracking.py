# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from closed_loop import run

from diffbot_controllers import PublishedBackstepping, tuned_backstepping
from diffbot_description import load_robot
from diffbot_sim.engines import make_simulator
from pose2d_trajectories import Reference

PERIOD = 0.01
LIMIT = 5.0
ROBOT = load_robot("twil")
GEOMETRY = ROBOT.geometry


@pytest.fixture(scope="module")
def plant():
    return make_simulator("ideal", ROBOT)


def figure_eight(ax, ay, period, direction):
    """x = ax sin 2 W t, y = -ay cos W t, driven forwards (way = 1) or backwards (-1)."""
    w = math.tau / period

    def at(t):
        dx, ddx, dddx = (
            2 * w * ax * math.cos(2 * w * t),
            -4 * w**2 * ax * math.sin(2 * w * t),
            -8 * w**3 * ax * math.cos(2 * w * t),
        )
        dy, ddy, dddy = (
            w * ay * math.sin(w * t),
            w**2 * ay * math.cos(w * t),
            -(w**3) * ay * math.sin(w * t),
        )
        speed, turn = math.hypot(dx, dy), dx * ddy - dy * ddx
        dspeed = (dx * ddx + dy * ddy) / speed
        return Reference(
            ax * math.sin(2 * w * t),
            -ay * math.cos(w * t),
            math.atan2(dy, dx) + (math.pi if direction < 0 else 0.0),
            direction * speed,
            turn / speed**2,
            direction * dspeed,
            (dx * dddy - dy * dddx) / speed**2 - 2.0 * turn * dspeed / speed**3,
        )

    return at


def follow(plant, law, reference, duration, offset=(0.0, 0.5, 0.0), encoders=None):
    first = reference(0.0)
    plant.reset((first.x + offset[0], first.y + offset[1], first.theta + offset[2]))
    return run(
        plant,
        lambda s, t: law.update(s, reference(t), PERIOD),
        reference,
        duration,
        PERIOD,
        encoders,
    )


# More shapes, with encoders, in test_drive_accuracy.py.
EIGHTS = ((0.3, 0.15, 15.0), (1.0, 0.5, 20.0), (3.0, 1.5, 30.0))


@pytest.mark.parametrize(("eight", "direction"), zip(EIGHTS, (1, -1, 1), strict=True))
def test_figure_eight_is_followed_from_half_a_metre_beside_it(plant, eight, direction):
    # Starts to the left, to the right and ahead in turn, perturbed by 1 mm and 1 mrad: 3 runs.
    index = EIGHTS.index(eight)
    offset = ((0.0, 0.5), (0.0, -0.5), (0.5, 0.0))[index % 3]
    noise = np.random.default_rng(index).uniform(-1e-3, 1e-3, 3)
    law = tuned_backstepping(plant.parameters(), LIMIT)
    result = follow(
        plant, law, figure_eight(*eight, direction), 1.6 * eight[2], (*offset, 0.0) + noise
    )
    distance, heading = result.rms(0.6 * eight[2])
    assert distance <= 0.5e-3
    assert heading <= math.radians(0.3)
    assert np.abs(result.torque).max() <= LIMIT


@pytest.mark.parametrize("direction", [1, -1])
def test_no_start_is_lost(plant, direction):
    # 4 starts each way, up to 0.5 m away with any heading; after 12 s on the path.
    generator = np.random.default_rng(3 + direction)
    reference = figure_eight(1.0, 0.5, 20.0, direction)
    for _ in range(4):
        place = 0.5 * math.sqrt(generator.random()), generator.uniform(-math.pi, math.pi)
        offset = (
            place[0] * math.cos(place[1]),
            place[0] * math.sin(place[1]),
            generator.uniform(-math.pi, math.pi),
        )
        law = tuned_backstepping(plant.parameters(), LIMIT)
        distance, heading = follow(plant, law, reference, 14.0, offset).rms(12.0)
        assert distance <= 0.5e-3 and heading <= math.radians(0.3)


def test_encoder_velocity_is_as_good(plant):
    law = tuned_backstepping(plant.parameters(), LIMIT, mean_velocity=True)
    result = follow(plant, law, figure_eight(1.0, 0.5, 20.0, 1), 30.0, encoders=GEOMETRY)
    distance, heading = result.rms(10.0)
    assert distance <= 0.5e-3 and heading <= math.radians(0.3)


def test_published_law_follows_backwards_with_the_lag_known_of_it(plant):
    # Independent figure: 22.8 mm over the second lap, backwards.
    law = PublishedBackstepping(plant.parameters(), torque_limit=LIMIT)
    result = follow(plant, law, figure_eight(1.0, 0.5, 40.0, -1), 80.0)
    assert result.rms(40.0)[0] == pytest.approx(22.8e-3, abs=0.1e-3)


def test_published_law_loses_the_heading_forwards(plant):
    law = PublishedBackstepping(plant.parameters(), torque_limit=LIMIT)
    result = follow(plant, law, figure_eight(1.0, 0.5, 40.0, 1), 60.0)
    assert result.rms(20.0)[1] > math.radians(30.0)


def test_far_and_moving_reference_is_caught(plant):
    # 20 m away and turned round: the approach with preview, then the tracker.
    law = tuned_backstepping(plant.parameters(), LIMIT)
    reference = figure_eight(1.0, 0.5, 20.0, 1)
    result = follow(plant, law, reference, 30.0, (12.0, -16.0, 3.0))
    assert result.rms(25.0)[0] <= 0.5e-3
    assert law.record.mode == "track"


def test_moving_reference_that_jumps_100_m_and_back(plant):
    law = tuned_backstepping(plant.parameters(), LIMIT)
    eight = figure_eight(1.0, 0.5, 20.0, 1)

    def reference(t):
        here = eight(t)
        if 5.0 <= t < 5.5:
            return Reference(
                here.x + 100.0, here.y, here.theta, here.v, here.omega, here.dv, here.domega
            )
        return here

    result = follow(plant, law, reference, 30.0)
    assert np.all(np.isfinite(result.torque)) and np.abs(result.torque).max() <= LIMIT
    assert result.rms(20.0)[0] <= 0.5e-3


def test_turning_on_the_spot_is_followed(plant):
    law = tuned_backstepping(plant.parameters(), LIMIT)
    result = follow(
        plant, law, lambda t: Reference(0.0, 0.0, 1.5 * t, 0.0, 1.5), 4.0, (0.0, 0.0, 0.2)
    )
    distance, heading = result.rms(3.0)
    assert distance <= 1e-3 and heading <= math.radians(0.3)


def test_reference_that_comes_to_rest_ends_at_rest(plant):
    law = tuned_backstepping(plant.parameters(), LIMIT)

    def reference(t):
        # From 1 m/s to rest in 2 s.
        v = max(0.0, 1.0 - 0.5 * t)
        moving = min(t, 2.0)
        return Reference(moving - 0.25 * moving**2, 0.0, 0.0, v, 0.0, -0.5 if t < 2.0 else 0.0)

    result = follow(plant, law, reference, 4.0, (0.0, 0.05, 0.0))
    assert result.settling_time <= 3.5
    assert np.abs(result.velocity[-10:]).max() < 1e-2
