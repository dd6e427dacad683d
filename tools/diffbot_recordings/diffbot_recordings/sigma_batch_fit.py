# SPDX-License-Identifier: Apache-2.0
"""Batch fit of sigma1..sigma4 by output error; section 3.2 of Siwek et al. (2023)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diffbot_description.sigma import AXES, Sigma
from diffbot_recordings.axis_segment import AxisSegment
from diffbot_recordings.first_order import Array, fit_first_order


@dataclass(frozen=True)
class VelocityRecording:
    """Commands and velocities of both axes, sampled uniformly, n samples.

        >>> still = np.zeros((3, 2))
        >>> VelocityRecording(0.05, still, still).axis(1).duration
        0.1

    Attributes:
        period: Sampling period, s, > 0.
        command: Command of (v, omega) held from sample k to k+1, m/s and rad/s, shape (n, 2).
        velocity: Velocity measured at sample k, m/s and rad/s, shape (n, 2).
    """

    period: float
    command: Array
    velocity: Array

    def axis(self, index: int) -> AxisSegment:
        """Return axis 0, forward, or 1, yaw."""
        return AxisSegment(self.period, self.command[:, index], self.velocity[:, index])


@dataclass(frozen=True)
class BatchFit:
    """sigma fitted to a recording, and its covariance, (4, 4); infinite where not identified."""

    sigma: Sigma
    covariance: Array

    @property
    def deviations(self) -> Array:
        """Standard deviations of [sigma1, sigma2, sigma3, sigma4], shape (4,)."""
        return np.sqrt(self.covariance.diagonal())


def fit_sigma(
    recordings: Sequence[VelocityRecording],
    start: Sigma | None = None,
) -> BatchFit:
    """Fit both axes by output error.

        >>> from diffbot_recordings.first_order import FirstOrder
        >>> command = np.repeat((0.0, 1.0, -1.0, 0.5), 30)
        >>> velocity = FirstOrder(0.5, 1.0).simulate(command, 0.05, 0.0)
        >>> both = VelocityRecording(0.05, *(np.stack((x, x), axis=1) for x in (command, velocity)))
        >>> fit_sigma([both]).sigma.as_array().round(3).tolist()
        [0.5, 0.5, 1.0, 1.0]

    Args:
        recordings: One or more uninterrupted recordings with the same period.
        start: Initial values of the search; None: found by a coarse grid.

    Raises:
        ValueError: An axis cannot be fitted, or its parameters have the wrong sign.
    """
    fits = []
    for index, axis in enumerate(AXES):
        segments = [recording.axis(index) for recording in recordings]
        try:
            fits.append(fit_first_order(segments, start.axis(index) if start else None))
        except ValueError as error:
            raise ValueError(f"axis {axis}: {error}") from None
    covariance = np.zeros((4, 4))
    for index, fit in enumerate(fits):
        covariance[index::2, index::2] = fit.covariance
    models = [(fit.model.inertia, fit.model.drag) for fit in fits]
    return BatchFit(Sigma.of_axes(*models), covariance)
