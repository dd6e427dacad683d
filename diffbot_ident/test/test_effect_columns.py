# SPDX-License-Identifier: Apache-2.0
"""Columns of effects: each fills in its own, and together they are all."""

import numpy as np
from test_regression import GEOMETRY, samples_of_linear_plant

from diffbot_ident.torque import rows
from diffbot_ident.torque.columns import ModelColumn, column_names
from diffbot_ident.torque.effects import EFFECTS, TORQUES, WITHIN
from diffbot_ident.torque.rows import IntegralRows
from diffbot_ident.torque.wheel_speeds import TorqueResponse


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
        for effect in (*EFFECTS, WITHIN):
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
    used = {each for effect in (*EFFECTS, WITHIN) for own in effect.columns for each in own}
    own = {int(column) for column in ModelColumn}
    assert {*range(TORQUES)} - own <= used
    assert used <= {*range(TORQUES)} | own
