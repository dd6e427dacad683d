# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from arc_odometry import Pose, Velocity
from diffbot_controllers import State
from diffbot_controllers.laws.motion_observer import VelocityEstimate
from diffbot_description import DynamicParameters, load_robot
from diffbot_sim.engines import make_simulator
from diffbot_sim.virtual_robot import Encoders

ROBOT = load_robot("twil")
GEOMETRY = ROBOT.geometry


def errors(counts, period, factor=1.0, estimator=True, samples=400):
    """Estimate minus truth, (n, 2), under random torques of twil on the ideal engine, seed 1."""
    engine = make_simulator("ideal", ROBOT)
    k = engine.parameters()
    dynamics = DynamicParameters(factor * k.k5, factor * k.k6, factor * k.k7, factor * k.k8)
    estimate, encoders = VelocityEstimate(dynamics, True), Encoders(counts, period, 1)
    generator, torque = np.random.default_rng(1), (0.0, 0.0)
    angles, _ = encoders.read((0.0, 0.0), (0.0, 0.0))
    rows = []
    for k in range(samples):
        if k % 10 == 0:
            torque = tuple(map(float, generator.uniform(-0.3, 0.3, 2)))
        engine.step(torque, period)
        before = angles
        angles, _ = encoders.read(engine.wheel_angles(), engine.wheel_velocities())
        turned = [(b - a) / period for a, b in zip(before, angles, strict=True)]
        mean = Velocity(*GEOMETRY.body_velocity(*turned))
        state = State(Pose(0.0, 0.0, 0.0), mean, torque)
        result = estimate.update(state, period) if estimator else mean
        rows.append(np.subtract(result, engine.velocity()))
    return np.array(rows)


@pytest.mark.parametrize("period", [0.001, 0.01, 0.02])
def test_exact_encoders_and_model_leave_no_error_but_that_of_f(period):
    # The mean itself is off by up to 0.3 m/s^2 T / 2 and more.
    assert np.abs(errors(0, period)).max() < 0.05 * np.abs(errors(0, period, estimator=False)).max()


@pytest.mark.parametrize(("period", "fraction"), [(0.001, 0.15), (0.01, 0.7)])
def test_counts_disturb_the_estimate_less_than_the_mean(period, fraction):
    # (v_mean alone has the lag too: compare with counts against without.)
    noise = np.sqrt(np.mean((errors(4096, period) - errors(0, period)) ** 2, axis=0))
    raw = errors(4096, period, estimator=False) - errors(0, period, estimator=False)
    assert np.all(noise < fraction * np.sqrt(np.mean(raw**2, axis=0)))


def test_wrong_model_biases_the_estimate_by_milliseconds_of_its_error():
    # K 30 % too large: 0.3 (2 K7 0.3 N m) = 0.48 m/s^2 at most, times 11 ms.
    assert np.abs(errors(0, 0.01, factor=1.3)[:, 0]).max() < 0.48 * 0.0115


def test_first_estimate_of_a_robot_in_motion_is_what_was_measured():
    estimate = VelocityEstimate(DynamicParameters(0.0, 0.0, 1.0, -1.0), True)
    moving = State(Pose(0.0, 0.0, 0.0), Velocity(2.0, 1.0), (0.0, 0.0))
    assert estimate.update(moving, 0.01) == (2.0, 1.0)
