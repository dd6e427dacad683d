"""Errors of predictions along one stretch of motion without a gap."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_ident.integral_rows import Array, turns
from diffbot_ident.prediction import Model


@dataclass(frozen=True)
class Run:
    """Predictions that are alike.

    Attributes:
        steps: control periods from start to end.
        spacing: control periods between two starts.
        average: periods that a velocity is averaged over where a prediction begins and ends (odd).
        late: control periods of torque that must be known before a start, for its delay.
    """

    steps: int
    spacing: int
    average: int
    late: int

    @property
    def first(self) -> int:
        """Index of the first start."""
        return max(self.average // 2, self.late)

    def starts(self, periods: int) -> Array:
        """Indices of the starts in a stretch of so many control periods."""
        return np.arange(self.first, periods - self.steps - self.average // 2, self.spacing)

    def count(self, periods: int) -> int:
        """Number of starts in a stretch of so many control periods."""
        room = periods - self.steps - self.average // 2 - self.first
        return max(0, math.ceil(room / self.spacing))


class Stretch:
    """A motion without a gap.

    Args:
        samples: rows of [stamp in s, angles left, right in rad, torques left, right in N m], shape
            (n, 5); the torques acted until the stamp.
        geometry: of the wheels.
    """

    def __init__(self, samples: Array, geometry: WheelGeometry) -> None:
        turned = turns(samples[:, 1:3])
        paths = geometry.body_velocity(turned[:, 0], turned[:, 1])
        self._velocity = np.array(paths) / np.diff(samples[:, 0])
        self._torque = samples[1:, 3:5].T
        self._geometry = geometry

    def errors(self, model: Model | None, run: Run, period: float) -> Array:
        """Errors of [v in m/s, omega in rad/s] at the ends, shape (2, n).

        Args:
            model: that predicts; None: the velocity stays as it is.
            run: where predictions start and end.
            period: control period, s.
        """
        starts = run.starts(self._velocity.shape[1])
        if len(starts) == 0:
            return np.empty((2, 0))
        middle = run.average // 2
        kernel = np.ones(run.average) / run.average
        mean = np.array([np.convolve(u, kernel, "valid") for u in self._velocity])
        begin, end = mean[:, starts - middle], mean[:, starts - middle + run.steps]
        if model is not None:
            late = delayed(self._torque, model.delay)
            # A mean velocity is that of the period's middle: half of the torque of either period.
            acting = np.array(
                [0.5 * (late[:, starts + i] + late[:, starts + i + 1]) for i in range(run.steps)]
            )
            # What a hopeless model predicts may be beyond all numbers; it is judged below.
            with np.errstate(over="ignore", invalid="ignore"):
                begin = model.predict(begin, acting, period, self._geometry)
        return end - begin


def delayed(torque: Array, delay: float) -> Array:
    """Torques that act when reported ones act late: (1 - a) tau[k - d] + a tau[k - d - 1].

    Args:
        torque: as reported for each control period, N m, shape (2, n).
        delay: d + a control periods, d whole, 0 <= a < 1.

    Returns:
        Shape (2, n), N m; the first ceil(delay) periods, of which too little is known, are as
        reported first.
    """
    whole = math.floor(delay)
    share = delay - whole
    padded = np.pad(torque, ((0, 0), (whole + 1, 0)), mode="edge")
    n = torque.shape[1]
    return (1.0 - share) * padded[:, 1 : n + 1] + share * padded[:, :n]
