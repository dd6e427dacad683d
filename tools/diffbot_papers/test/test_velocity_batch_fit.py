# SPDX-License-Identifier: Apache-2.0
"""Batch fit of sigma: one minimum from any start, and its axes by name."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from diffbot_description.sigma import Sigma
from diffbot_papers.adaptation_law import AdaptationGains, AdaptationLaw, regressors
from diffbot_recordings.sigma_batch_fit import VelocityRecording, fit_sigma

TRUE = Sigma(3.446, 4.576, 0.86, 0.254)
PERIOD = 0.05


@pytest.fixture(scope="module")
def exact():
    """A recording by scipy's integrator, without noise."""
    generator = np.random.default_rng(0)
    asked = np.repeat(generator.uniform(-0.5, 0.5, (12, 2)), 40, axis=0)
    velocity, now = [], np.zeros(2)
    for command in asked:
        velocity.append(now)
        solution = solve_ivp(
            lambda _t, u, c=command: TRUE.acceleration(u, c), (0.0, PERIOD), now, rtol=1e-10
        )
        now = solution.y[:, -1]
    return VelocityRecording(PERIOD, asked, np.array(velocity))


def test_random_starts_reach_one_minimum_the_truth(exact):
    generator = np.random.default_rng(1)
    for _ in range(10):
        fit = fit_sigma([exact], Sigma(*generator.uniform(0.02, 1.0, 4)))
        assert fit.sigma.as_array() == pytest.approx(TRUE.as_array(), rel=1e-6)


def test_a_recording_without_yaw_is_refused_by_the_name_of_its_axis(exact):
    straight = VelocityRecording(PERIOD, exact.command * (1, 0), exact.velocity * (1, 0))
    with pytest.raises(ValueError, match="axis omega: command never changes"):
        fit_sigma([straight])


def test_prediction_after_a_constant_command_is_the_solution_of_the_model():
    start, command = (0.3, -0.2), (0.5, 0.1)
    ivp = solve_ivp(
        lambda _t, u: TRUE.acceleration(u, command), (0.0, 1.7), start, rtol=1e-10, atol=1e-12
    )
    assert TRUE.after(start, command, 1.7) == pytest.approx(ivp.y[:, -1], rel=1e-8)
    free = Sigma(2.0, 2.0, 0.0, 0.0)
    assert free.after((1.0, 0.0), (0.5, 1.0), 2.0) == pytest.approx((1.5, 1.0))


def test_command_undoes_acceleration():
    command = TRUE.command((0.4, -0.3), (0.1, 0.2))
    assert TRUE.acceleration((0.4, -0.3), command) == pytest.approx((0.1, 0.2))
    assert regressors((0.4, -0.3), (0.1, 0.2)) @ TRUE.as_array() == pytest.approx(command)


def listen(law, recording, laps=1):
    for lap in range(laps):
        since = lap * (len(recording.command) + 1) * recording.period
        for k, velocity in enumerate(recording.velocity):
            command = recording.command[k - 1] if k else (0.0, 0.0)
            law.update(since + k * recording.period, velocity, command)
    return law.values


def test_the_published_law_leaves_the_true_sigma_and_the_corrected_one_stays(exact):
    published = AdaptationGains(rate=1.0, leak=0.0, corrected=False)
    off = np.abs(listen(AdaptationLaw(TRUE, published), exact) / TRUE.as_array() - 1.0)
    assert off.max() > 0.5
    assert listen(AdaptationLaw(TRUE, AdaptationGains()), exact) == pytest.approx(
        TRUE.as_array(), rel=1e-3
    )


def test_at_rest_the_published_leak_forgets_sigma_and_the_corrected_one_its_prior_keeps():
    still = VelocityRecording(PERIOD, np.zeros((2000, 2)), np.zeros((2000, 2)))
    leak = {"rate": 1.0, "leak": 0.1}
    gone = listen(AdaptationLaw(TRUE, AdaptationGains(**leak, corrected=False)), still)
    # exp(-0.1 * 99.95 s)
    assert gone == pytest.approx(TRUE.as_array() * np.exp(-9.995), rel=1e-6)
    kept = listen(AdaptationLaw(TRUE, AdaptationGains(**leak)), still)
    assert kept == pytest.approx(TRUE.as_array())


def test_the_corrected_law_comes_near_from_a_wrong_start(exact):
    start = Sigma(0.6, 0.71, 0.22, 0.12)
    gains = AdaptationGains(rate=50.0, leak=0.0)
    result = listen(AdaptationLaw(start, gains), exact, laps=4)
    before = np.abs(start.as_array() / TRUE.as_array() - 1.0)
    assert np.all(np.abs(result / TRUE.as_array() - 1.0) < 0.2 * before)
