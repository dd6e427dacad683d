# SPDX-License-Identifier: Apache-2.0
"""Responses to steps of velocity, against first- and second-order answers known in closed form."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_report.drive_metrics import response, velocity_steps
from diffbot_report.drive_recording import DriveRun

T = np.arange(0.0, 2.0, 1e-3)


@given(st.floats(0.02, 0.2), st.floats(-3.0, 3.0), st.floats(0.1, 3.0), st.sampled_from([-1, 1]))
def test_first_order(time_constant, begin, size, sign):
    """1 % is reached after ln(100) time constants; there is no overshoot."""
    end = begin + sign * size
    result = response(T, end + (begin - end) * np.exp(-T / time_constant), begin, end)
    assert result.settling_time == pytest.approx(math.log(100.0) * time_constant, abs=1.001e-3)
    assert result.overshoot == pytest.approx(0.0, abs=1e-6)


@given(st.floats(0.3, 0.8), st.floats(20.0, 60.0))
def test_second_order_overshoot(damping, frequency):
    """100 exp(-pi zeta / sqrt(1 - zeta^2)) %."""
    root = math.sqrt(1.0 - damping**2)
    decay = np.exp(-damping * frequency * T)
    phase = frequency * root * T
    y = 1.0 - decay * (np.cos(phase) + damping / root * np.sin(phase))
    expected = 100.0 * math.exp(-math.pi * damping / root)
    assert response(T, y, 0.0, 1.0).overshoot == pytest.approx(expected, rel=0.02, abs=0.01)


def test_never_settled():
    assert response(T, np.full(len(T), 0.98), 0.0, 1.0).settling_time is None


def run_of(wanted, velocity, true=None):
    n = len(wanted)
    none = np.full((n, 3), np.nan)
    true = np.full((n, 2), np.nan) if true is None else true
    return DriveRun(0.01 * np.arange(n), none, none, none, wanted, velocity, true, np.zeros((n, 2)))


def test_a_run_that_ended_before_its_first_step_has_none():
    for samples in (0, 1, 50):
        assert velocity_steps(run_of(np.zeros((samples, 2)), np.zeros((samples, 2)))) == []


def test_steps_are_found_by_channel():
    wanted = np.zeros((300, 2))
    wanted[50:, 0], wanted[150:, 0], wanted[100:, 1] = 0.5, -0.2, 2.0
    velocity = np.vstack([np.zeros((5, 2)), wanted[:-5]])  # 50 ms late
    steps = velocity_steps(run_of(wanted, velocity, wanted))
    assert [(s.channel, s.begin, s.end) for s in steps] == [
        ("v", 0.0, 0.5),
        ("omega", 0.0, 2.0),
        ("v", 0.5, -0.2),
    ]
    assert [s.time for s in steps] == pytest.approx([0.5, 1.0, 1.5])
    assert [s.encoders.settling_time for s in steps] == pytest.approx([0.05] * 3)
    assert [s.true.settling_time for s in steps] == [0.0] * 3


def test_step_at_the_start_and_of_both_at_once():
    wanted = np.tile([0.3, 1.0], (100, 1))
    steps = velocity_steps(run_of(wanted, wanted))
    assert [(s.channel, s.time, s.true) for s in steps] == [("v", 0.0, None), ("omega", 0.0, None)]


def test_ramps_are_no_steps():
    ramp = np.column_stack([np.linspace(0.0, 1.0, 200), np.zeros(200)])
    assert velocity_steps(run_of(ramp, ramp)) == []
    assert velocity_steps(run_of(ramp[:0], ramp[:0])) == []


def test_response_ends_with_the_next_step():
    """The second step would disturb the answer to the first one."""
    wanted = np.zeros((200, 2))
    wanted[50:, 0], wanted[100:, 1] = 1.0, 1.0
    velocity = wanted.copy()
    velocity[100:, 0] = 0.5
    first, _ = velocity_steps(run_of(wanted, velocity))
    assert first.encoders.settling_time == 0.0
