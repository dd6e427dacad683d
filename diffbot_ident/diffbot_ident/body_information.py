"""Information about K5..K8 in a robot's motion, friction of the wheels being unknown as well.

Over windows of time the model (41) of Lages (2017) with friction is linear in its parameters:

    v_1 - v_0         = [int omega^2,  int(tau_l + tau_r)] [K5, K7]  + int[v, omega, s_l, s_r] f
    omega_1 - omega_0 = [int v omega,  int(tau_l - tau_r)] [K6, K8]  + int[v, omega, s_l, s_r] g

s are the signs of the wheels' speeds. The noise is that of the two velocities, which come from
differences of encoder angles, and that of the torques, which act a little differently than they
are reported. Parameters are counted in units of what is known of them beforehand,
so the information beforehand is the unit matrix.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.body_model import BodyModel, BodyPrior, Paths
from diffbot_ident.information import joint_bits
from diffbot_ident.motion import Motion

Array = NDArray[np.float64]

# The first two parameters of either equation are K's, the other four friction.
OF_INTEREST = (0, 1)
SIZE = 6
# Deviation of the wheels' friction beforehand, as a share of the excitation's torque.
FRICTION_SHARE = 0.1
# Deviation of a period's torque from what is reported, as a share of it.
TORQUE_ERROR = 0.03
# Encoder counts a revolution that perfect encoders are taken for: other errors remain.
PERFECT_COUNTS = 50_000


class BodyInformation:
    """Information about [K5, K7] and about [K6, K8], and bits gained since the beginning.

    Args:
        prior: K5..K8 and how far they may be off; half of that is taken for a deviation.
        radius: of the wheels, m.
        half_track: b, m.
        amplitude: of the excitation, N m.
        speed: typical wheel speed, rad/s.
        counts: of the encoders, per revolution; 0 for perfect ones.
        period: control period, over which velocities are measured, s.
        window: length of a window, s.
    """

    def __init__(
        self,
        prior: BodyPrior,
        radius: float,
        half_track: float,
        amplitude: float,
        speed: float,
        counts: int,
        period: float,
        window: float,
    ) -> None:
        k5, k6, k7, k8 = (
            max(0.5 * spread, 0.005) * abs(value)
            for value, spread in zip(prior.values, prior.spread, strict=True)
        )
        coulomb = FRICTION_SHARE * amplitude
        rub = coulomb / (radius * speed)
        rows = []
        for own, torque, size in ((k5, k7, prior.values[2]), (k6, k8, -prior.values[3])):
            friction = [rub, rub * half_track, coulomb, coulomb]
            rows.append([own, torque, *(size * entry for entry in friction)])
        # An angle read in whole counts has a deviation of 1 / sqrt(12) counts; a velocity is the
        # difference of two, and a window has the difference of two velocities.
        wheel = 2.0 * (math.tau / (counts or PERFECT_COUNTS)) / math.sqrt(12.0) / period
        noise = np.array([radius / math.sqrt(2.0), radius / (math.sqrt(2.0) * half_track)]) * wheel
        self._scale = np.array(rows) / noise[:, None]
        # Variance that (N m s)^2 of summed torque add to a window's, relative to that of the noise.
        gains = np.array([prior.values[2], -prior.values[3]])
        self._torque_error = (TORQUE_ERROR * gains / noise) ** 2 * period / window
        self._start = np.stack([np.eye(SIZE)] * 2)
        self.information = self._start.copy()

    @property
    def bits(self) -> float:
        """Joint bits gained about K5..K8 since the beginning."""
        return float(joint_bits(self._start, self.information, OF_INTEREST).sum())

    def add(self, windows: Array) -> None:
        """Take in the regressors of k windows, shape (k, 2, 6); see `regressors`."""
        self.information = self.information + self._of(windows)

    def gain(self, windows: Array) -> Array:
        """Joint bits about K5..K8 that k windows would add, shape (k, n, 2, 6) -> (n,)."""
        after = self.information + self._of(windows)
        return joint_bits(self.information, after, OF_INTEREST).sum(axis=-1)

    def _of(self, windows: Array) -> Array:
        """Information in windows, summed over the first axis: (k, ..., 2, 6) -> (..., 2, 6, 6)."""
        rows = windows * self._scale
        # Left and right squared, from their sum and difference.
        squares = 0.5 * (windows[..., 0, 1] ** 2 + windows[..., 1, 1] ** 2)
        rows = rows / np.sqrt(1.0 + squares[..., None] * self._torque_error)[..., None]
        return np.einsum("k...i,k...j->...ij", rows, rows)


def regressors(velocity: Array, wheel_speeds: Array, torque: Array) -> Array:
    """Rows of both equations: [omega^2 or v omega, torque, v, omega, sign w_l, sign w_r].

    Args:
        velocity: [v, omega], shape (2, ...), m/s and rad/s.
        wheel_speeds: [left, right], shape (2, ...), rad/s.
        torque: [left, right], shape (2, ...), N m.

    Returns:
        Shape (..., 2, 6), for dv/dt and domega/dt.
    """
    v, omega = velocity
    left, right = torque
    friction = [v, omega, *np.sign(wheel_speeds)]
    return np.stack(
        [
            np.stack([omega * omega, left + right, *friction], axis=-1),
            np.stack([v * omega, left - right, *friction], axis=-1),
        ],
        axis=-2,
    )


def predicted_window(model: BodyModel, paths: Paths, torque: Array, duration: float) -> Array:
    """Regressors of predicted motions, integrated over their time, shape (n, 2, 6).

    Args:
        model: that predicted them.
        paths: n motions under constant torques.
        torque: shape (2, n), N m.
        duration: of the paths, s.
    """
    middle = 0.5 * (paths.velocity[:, 1:] + paths.velocity[:, :-1])
    torques = np.broadcast_to(torque[:, None, :], middle.shape)
    return duration * regressors(middle, model.wheel_speeds(middle), torques).mean(axis=0)


class InformationRecorder:
    """Adds up the information in the motion that was measured.

    Args:
        information: what it is added to.
        window: control periods of one window.
        period: control period, s.
    """

    def __init__(self, information: BodyInformation, window: int, period: float) -> None:
        self._information = information
        self._window = window
        self._period = period
        self._sum = np.zeros((2, SIZE))
        self._count = 0

    def add(self, motion: Motion, torque: tuple[float, float]) -> None:
        """Take in the motion over the control period that has ended and its torques, N m."""
        row = regressors(np.array(motion.velocity), np.array(motion.wheel_speeds), np.array(torque))
        self._sum += self._period * row
        self._count += 1
        if self._count == self._window:
            self._information.add(self._sum[None])
            self._sum = np.zeros((2, SIZE))
            self._count = 0
