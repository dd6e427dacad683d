"""Motion and information that arm motions would bring, foreseen with the estimates.

The base moves little, so its motion is foreseen with the linear part of the model in simulation.py,
about the arm's present posture:

    M q'' + B q' + (K + G) q = Q(t),    q = [r, theta]

Q is what the arm's motion does to a base at rest, G how gravity acts as the base tilts. The
solution for forces that are straight lines over each step is exact (matrix exponential). From it
follow the regressors, and with the noise of the sensors the information about the parameters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from diffbot_ident.compliant_base import parameters as order
from diffbot_ident.compliant_base.arm import GRAVITY, MODES, Arm, cross, cross_matrix
from diffbot_ident.compliant_base.estimation import averaged
from diffbot_ident.compliant_base.excitation import ArmMotion
from diffbot_ident.compliant_base.parameters import BaseParameters
from diffbot_ident.compliant_base.regressor import small_motion_rows
from diffbot_ident.compliant_base.simulation import coupled_mass

Array = NDArray[np.float64]

# Estimates that no body can have are raised to this share of the values beforehand.
LEAST = 0.1


def plausible(estimate: Array, start: Array) -> Array:
    """The nearest parameters with which a motion can be foreseen, shape (22,).

    Early estimates may have a negative mass. Positive ones are raised to LEAST of the values
    beforehand; products of inertia shrink until the tensor is positive definite.
    """
    x = estimate.copy()
    positive = np.ones(order.SIZE, dtype=bool)
    positive[order.PRODUCTS] = positive[order.ARM_BASE] = False
    x[positive] = np.maximum(x[positive], LEAST * start[positive])
    least = x[order.INERTIA][:3].min()
    for _ in range(20):
        if np.linalg.eigvalsh(BaseParameters.from_array(x).inertia)[0] > 0.1 * least:
            break
        x[order.PRODUCTS] *= 0.7
    return x


class Foresight:
    """The linear model with given estimates at a moment.

    Args:
        estimate: parameters, physically plausible, shape (22,).
        arm: on the base.
        rest: angle of the arm when the sensors were set to zero, rad.
        angle: of the arm now, rad.
        state: measured [r, theta, r', theta'] now, shape (3 modes, 12).
        step: of the prediction, s.
    """

    def __init__(
        self, estimate: Array, arm: Arm, rest: float, angle: float, state: Array, step: float
    ) -> None:
        self._arm, self._state = arm, state
        self._base = base = BaseParameters.from_array(estimate)
        self._rest = arm.centre(np.array(rest))
        centre = base.arm_base + arm.centre(np.array(angle))
        mass = coupled_mass(base, arm, centre, arm.inertia(np.array(angle)))
        springs = np.broadcast_to(np.diag(base.stiffness), (MODES, 6, 6)).copy()
        tilt = cross_matrix(GRAVITY)
        springs[:, :3, 3:] -= (base.mass + arm.mass) * tilt
        springs[:, 3:, 3:] -= arm.mass * cross_matrix(centre) @ tilt
        inverse = np.linalg.inv(mass)
        # [q, q', Q, Q']' = S [q, q', Q, Q'] while Q is a straight line.
        system = np.zeros((MODES, 24, 24))
        system[:, :6, 6:12] = np.eye(6)
        system[:, 6:12, :6] = -inverse @ springs
        system[:, 6:12, 6:12] = -inverse * base.damping
        system[:, 6:12, 12:18] = inverse
        system[:, 12:18, 18:] = np.eye(6) / step
        self._accelerate = system[:, 6:12, :18]
        self._advance = np.stack([expm(step * each)[:12] for each in system])

    def sense(self, motion: ArmMotion) -> Array:
        """What the sensors would read without noise, shape (3 modes, n, k, 8, 3).

        Args:
            motion: of k candidates, n + 1 samples each, one step apart; the first is the present.
        """
        push, base = self._push(motion), self._base
        states, push = self._states(push), push[:, 1:]
        whole = np.concatenate((states, push), axis=-1)
        acceleration = whole @ self._accelerate.swapaxes(-1, -2)[:, None]
        # The force and moment at the arm's base are what (4) leaves for them.
        rest = -base.stiffness * states[..., :6] - base.damping * states[..., 6:]
        tilt = cross(GRAVITY, states[..., 3:6])
        force = rest[..., :3] + base.mass * (tilt - acceleration[..., :3])
        moment = rest[..., 3:] - acceleration[..., 3:] @ base.inertia
        moment += cross(force, base.arm_base)
        r, theta, v, omega = np.split(states, 4, -1)
        a, alpha = np.split(acceleration, 2, -1)
        return np.stack((force, moment, r, v, a, theta, omega, alpha), axis=-2)

    def _states(self, push: Array) -> Array:
        """[q, q'] after each step under Q: (3 modes, n + 1, k, 6) -> (3 modes, n, k, 12)."""
        advance = self._advance.swapaxes(-1, -2)
        change = np.concatenate((push[:, :-1], np.diff(push, axis=1)), axis=-1)
        driven = change @ advance[:, None, 12:]
        states = np.empty_like(driven)
        state = np.repeat(self._state[:, None], push.shape[2], axis=1)
        for at in range(driven.shape[1]):
            state = states[:, at] = state @ advance[:, :12] + driven[:, at]
        return states

    def _push(self, motion: ArmMotion) -> Array:
        """Q(t): changes of force and moment on a base at rest, shape (3 modes, n + 1, k, 6)."""
        angle, speed, change = (
            np.swapaxes(each, 0, 1) for each in (motion.angle, motion.speed, motion.acceleration)
        )
        r3 = self._arm.centre(angle)
        mass = self._arm.mass
        force = mass * (speed[..., None] ** 2 * r3 - change[..., None] * self._arm.tangent(angle))
        weight = mass * cross(r3 - self._rest[:, None, None], GRAVITY)
        axis = np.eye(MODES)[:, None, None]
        moment = cross(self._base.arm_base + r3, force) + weight
        moment = moment - self._arm.across * change[..., None] * axis
        return np.concatenate((force, moment), axis=-1)


def information(values: Array, variance: Array, unit: Array, window: int) -> Array:
    """Information about the parameters in foreseen channels, shape (k, 22, 22).

    Args:
        values: shape (3 modes, n, k, 8, 3); n a multiple of the window.
        variance: of one sample's six rows, shape (k, 6).
        unit: in which parameters are counted, shape (22,).
        window: samples that are averaged, see estimation.py.
    """
    # Small motions: the rows of mean channels are the mean rows.
    a = small_motion_rows(averaged(values, window))
    a *= unit / np.sqrt(variance / window)[..., None]
    rows = np.moveaxis(a, 2, 0).reshape(a.shape[2], -1, order.SIZE)
    return rows.swapaxes(-1, -2) @ rows
