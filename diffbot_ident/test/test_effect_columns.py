# SPDX-License-Identifier: Apache-2.0
"""Columns of effects: each fills in its own, and together they are all."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from test_regression import GEOMETRY, samples_of_linear_plant

from arc_odometry import WheelGeometry
from diffbot_ident.samples.wheel_speeds import TorqueResponse, WheelSpeeds
from diffbot_ident.torque import rows
from diffbot_ident.torque.columns import ModelColumn, column_names
from diffbot_ident.torque.effects import EFFECTS, ROUNDING, TORQUES, WITHIN
from diffbot_ident.torque.effects.stiction import slow_integrals
from diffbot_ident.torque.rows import IntegralRows, stuck_wheels


def steps_and_motion(monkeypatch, fine):
    """Columns as the effects get them, and the motion, of torques of several sizes."""
    seen = []
    monkeypatch.setattr(rows, "fill_columns", lambda *given: seen.append(given))
    draw = np.random.default_rng(4)
    torques = np.repeat(draw.uniform(-1.0, 1.0, (60, 2)), 10, axis=0)
    plant = samples_of_linear_plant((0.01, left, right) for left, right in torques.tolist())
    samples = np.array([(s.stamp, *s.position, *s.effort, 0.0) for s in plant])
    response = TorqueResponse(1.0, -2.0, 0.3, (0.01, 0.01, 0.1, 0.1), lag=0.5)
    IntegralRows(GEOMETRY, 10, 5, fine, 0.01 * fine).make(samples[: 600 // fine * fine], response)
    return seen[0]


def test_each_effect_fills_in_its_own_columns(monkeypatch):
    """No two fill in the same one, none a column of the model, and none is left."""
    own = {int(column) for column in ModelColumn if column >= 0}
    for fine in (1, 3):
        steps, motion = steps_and_motion(monkeypatch, fine)
        filled = []
        for effect in (*EFFECTS, WITHIN, ROUNDING):
            empty = np.full_like(steps, np.nan)
            if effect.fill is not None:
                effect.fill(empty, motion)
            done = np.flatnonzero(~np.isnan(empty).any(axis=0))
            assert (np.isnan(empty).any(axis=0) == np.isnan(empty).all(axis=0)).all(), effect.name
            filled += done.tolist()
        assert sorted(filled) == sorted({*range(TORQUES)} - own)


def test_columns_have_distinct_names_and_effects_use_them():
    names = column_names()
    assert len(names) == len(set(names)) == TORQUES
    used = {
        each for effect in (*EFFECTS, WITHIN, ROUNDING) for own in effect.columns for each in own
    }
    own = {int(column) for column in ModelColumn}
    assert {*range(TORQUES)} - own <= used
    assert used <= {*range(TORQUES)} | own


@pytest.mark.parametrize("reach", [0.01, 0.3, 3.0])
def test_low_speeds_are_integrated_as_a_wheel_passes_them(reach):
    """The mean speed of a period says little of a wheel that passes its low speeds within it."""
    random = np.random.default_rng(5)
    begin = random.normal(0.0, 1.0, (100, 2))
    end = begin + reach * random.normal(0.0, 1.0, (100, 2))
    period = random.uniform(0.005, 0.02, 100)
    # Dry friction changes the slope where the speed reverses.
    change = 0.2 * np.abs(end - begin)
    speeds = WheelSpeeds(begin, end, 0.5 * (begin + end), change, period)
    got = slow_integrals(speeds, 0.5)
    fraction = (np.arange(4000) + 0.5) / 4000
    for k, side in np.ndindex(begin.shape):
        first, last, friction = begin[k, side], end[k, side], change[k, side]
        speed = first + (last - first) * fraction
        if first * last < 0.0:
            # Before it turns round the wheel loses drive and friction, then drive less friction.
            away, gained = np.abs((first, last))
            shares = np.roots([2.0 * friction, -(away + gained + 2.0 * friction), away])
            turned = float(np.min(shares.real))
            speed = np.interp(fraction, [0.0, turned, 1.0], [first, 0.0, last])
        force = np.sign(speed) * np.exp(-np.square(speed / 0.5))
        expected = period[k] * np.array(
            [np.mean(fraction * force), np.mean((1.0 - fraction) * force)]
        )
        seen = np.array([each[k, side] for each in got])
        # Gauss's six nodes, for speeds up to some ten times the one that counts.
        assert np.abs(seen - expected).max() < 0.01 * period[k]


def test_static_friction_holds_a_wheel_longer_than_coulomb_friction(monkeypatch):
    """Such periods told K5 and K6 by the wrong friction: 3 to 4 deviations off, of one of 60."""
    _, motion = steps_and_motion(monkeypatch, 1)
    static = replace(motion, response=replace(motion.response, stiction=(0.3, 0.3)))
    coulomb, longer = stuck_wheels(motion), stuck_wheels(static)
    assert (coulomb <= longer).all() and coulomb.sum() < longer.sum() < len(longer)


@pytest.mark.parametrize(
    ("floor", "pull", "stuck"), [(0.0, 0.0, False), (0.3, 0.0, True), (0.0, 0.06, True)]
)
def test_a_wheel_may_be_held_where_the_floor_resists_or_pulls(floor, pull, stuck):
    """Rows of such a wheel made K5 of a skid steer 6 deviations wrong.

    The robot turns about its left wheel, which would gain -2.2 rad/s^2 without its friction of 1.5,
    and -1.6 rad/s^2 with the floor's resistance, or gravity of 0.06 m/s^2 forward.
    """
    motion = SimpleNamespace(
        response=TorqueResponse(1.0, -2.0, friction=(0.0, 0.0, 0.1, 0.1), holding=floor),
        geometry=WheelGeometry(0.1, 0.1, 0.5),
        period=np.array([0.01]),
        dry=np.array([0.1, 0.1]),
        torques=np.array([[-0.22 / 1.5, 0.1]]),
        wheels=SimpleNamespace(middle=np.array([[0.0, 5.0]])),
        yaw=SimpleNamespace(middle=np.array([[1.0]])),
        pull=np.array([[pull, 0.0]]),
    )
    assert stuck_wheels(motion).tolist() == [stuck]
