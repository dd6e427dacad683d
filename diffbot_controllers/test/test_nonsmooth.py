# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rk4_plant import PUBLISHED_2018

from arc_odometry import Pose, Velocity
from diffbot_controllers import NonsmoothGains, PolarError
from diffbot_controllers.laws.backstepping_published import (
    acceleration,
    backstep_command,
    eta,
    polar_error,
)
from diffbot_description import DynamicParameters

GAINS = NonsmoothGains()
L1, L2, L3, L4, L5 = 200.0, 6.0, 6.0, 500.0, 10000.0
G1, G2, G3, G4 = 10.0, 1.0, 10.0, 50.0

angle = st.floats(-3.1, 3.1)
distance = st.floats(0.05, 3.0)
speed = st.floats(-1.0, 1.0)


def literal_eta(e, psi, alpha):
    """(14), (15) and Listing 3, written out with its guard."""
    eta1 = -G1 * e * math.cos(alpha)
    if abs(alpha) > 2.2e-16:
        eta2 = (
            -G2 * alpha
            - G1 * math.sin(alpha) * math.cos(alpha)
            + G1 * L3 * psi * math.sin(alpha) / L2 / alpha * math.cos(alpha)
        )
    else:
        eta2 = G1 * L3 * psi / L2
    return eta1, eta2


@given(distance, angle, st.one_of(angle, st.just(0.0), st.floats(-1e-300, 1e-300)))
def test_eta_is_that_of_the_listing(e, psi, alpha):
    assert eta(PolarError(e, psi, alpha), GAINS) == pytest.approx(literal_eta(e, psi, alpha))


@given(distance, angle, angle, speed, speed)
def test_backstep_command_is_that_of_the_listing(e, psi, alpha, e1, e2):
    velocity = backstep_command(PolarError(e, psi, alpha), Velocity(e1, e2), GAINS)
    first = (
        -G3 * e1
        - L1 / L4 * e * math.cos(alpha)
        + L2 / L4 * alpha * math.sin(alpha) / e
        - L3 / L4 * psi * math.sin(alpha) / e
    )
    assert velocity == pytest.approx((first, -G4 * e2 - L2 / L5 * alpha))


class ClosedLoop:
    """The published continuous law on the published model, in x, y, theta, v, omega."""

    def __init__(self, error, backstep, dynamics):
        wanted = literal_eta(*error)
        self.dynamics = dynamics
        self.psi = error[1]
        theta = error[1] + error[2]
        self.state = np.array(
            [
                error[0] * math.cos(self.psi),
                error[0] * math.sin(self.psi),
                theta,
                wanted[0] + backstep[0],
                wanted[1] + backstep[1],
            ]
        )

    def error(self, state):
        """Polar error; psi goes on beyond +-pi, as the law's proof has it."""
        e, psi, alpha = polar_error(Pose(*state[:3]))
        psi += math.tau * round((self.psi - psi) / math.tau)
        return PolarError(e, psi, state[2] - psi)

    def rate(self, state):
        _, _, theta, v, omega = state
        u = Velocity(v, omega)
        wanted = acceleration(self.error(state), u, GAINS)
        left, right = self.dynamics.torque(wanted, self.dynamics.drift(u))
        k5, k6, k7, k8 = PUBLISHED_2018
        return np.array(
            [
                v * math.cos(theta),
                v * math.sin(theta),
                omega,
                k5 * omega**2 + k7 * (left + right),
                k6 * v * omega + k8 * (left - right),
            ]
        )

    def lyapunov(self):
        """(28), written out."""
        e, psi, alpha = self.error(self.state)
        wanted = literal_eta(e, psi, alpha)
        e1, e2 = self.state[3] - wanted[0], self.state[4] - wanted[1]
        return 0.5 * (L1 * e**2 + L2 * alpha**2 + L3 * psi**2 + L4 * e1**2 + L5 * e2**2)

    def descent(self):
        """(32), written out."""
        e, psi, alpha = self.error(self.state)
        wanted = literal_eta(e, psi, alpha)
        e1, e2 = self.state[3] - wanted[0], self.state[4] - wanted[1]
        along = G1 * L1 * e**2 * math.cos(alpha) ** 2
        return -along - G2 * L2 * alpha**2 - G3 * L4 * e1**2 - G4 * L5 * e2**2

    def step(self, h):
        z = self.state
        a = self.rate(z)
        b = self.rate(z + 0.5 * h * a)
        c = self.rate(z + 0.5 * h * b)
        self.state = z + h / 6.0 * (a + 2.0 * b + 2.0 * c + self.rate(z + h * c))
        self.psi = self.error(self.state).psi


DYNAMICS = DynamicParameters(*PUBLISHED_2018)


@given(distance, angle, angle, speed, speed)
def test_lyapunov_function_falls_at_the_rate_of_equation_32(e, psi, alpha, e1, e2):
    loop = ClosedLoop((e, psi, alpha), (e1, e2), DYNAMICS)
    # Central difference along the flow; 1e-6 s keeps its error below 1e-6 of the terms' size.
    h, z = 1e-6, loop.state
    flow = loop.rate(z)
    values = []
    for sign in (1.0, -1.0):
        loop.state = z + sign * h * flow
        values.append(loop.lyapunov())
    loop.state = z
    size = 1.0 + abs(loop.descent()) + sum(values) * (1.0 + abs(flow).max())
    assert (values[0] - values[1]) / (2.0 * h) == pytest.approx(loop.descent(), abs=1e-6 * size)


@given(distance, angle, angle, speed, speed)
def test_lyapunov_function_never_grows_along_noise_free_runs(e, psi, alpha, e1, e2):
    loop = ClosedLoop((e, psi, alpha), (e1, e2), DYNAMICS)
    before = start = loop.lyapunov()
    for _ in range(1500):
        # Near the goal (30) has a term with 1 / e, and the steps must shrink with it.
        size = math.hypot(*loop.state[:2])
        if size < 0.02:
            break
        loop.step(min(1e-3, 0.02 * size))
        now = loop.lyapunov()
        # RK4's own error per step is below 1e-9 of V here.
        assert now <= before + 1e-9 * start
        before = now
    assert before < start


@pytest.mark.parametrize("index", range(5))
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_gains_that_are_not_positive_are_refused_by_name(index, value):
    lambdas = [1.0] * 5
    lambdas[index] = value
    with pytest.raises(ValueError, match=f"lambda_{index + 1} = "):
        NonsmoothGains(lambdas=tuple(lambdas))
    if index < 4:
        with pytest.raises(ValueError, match=f"gamma_{index + 1} = "):
            NonsmoothGains(gammas=_gammas(index, value))


def _gammas(index, value):
    gammas = [1.0] * 4
    gammas[index] = value
    return tuple(gammas)


def test_wrong_number_of_gains_is_refused():
    with pytest.raises(ValueError, match="gamma = .* must be 4 numbers"):
        NonsmoothGains(gammas=(1.0, 1.0))
