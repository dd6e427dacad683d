"""sigma1..sigma4 while the robot drives; what Siwek et al. (2023), section 3.3, use RLS for.

Both axes of (3) are estimated for themselves; see recursive_axis for the equations. A controller is
given `trusted` only: an axis changes there when its interval is narrow and its signs are right.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.estimate import NORMAL_95
from diffbot_ident.velocity.recursive_axis import Block, RecursiveAxis
from diffbot_ident.velocity.sigma import AXES, Sigma

Array = NDArray[np.float64]

LEAST_SAMPLES = 8


@dataclass(frozen=True)
class RecursiveSettings:
    """Settings of the on-line fit; pairs are of (v, omega).

    Attributes:
        dead_time: from a command to its effect, s, >= 0.
        block: s of motion that one update rests on, > 0. The first is a sixteenth of it and
            each next one twice as long, so that a bad start is left soon.
        memory: time constant of forgetting, s of excited motion, > 0; math.inf: never.
        noise: standard deviations of measured velocities that are assumed at first, m/s, rad/s.
        excitation: least root mean square of the integrated regressors in a block, m and rad.
        precision: half width of the 95 % interval, relative to the value, from which on an axis
            is trusted, > 0.
        rate: 1/s, > 0: the drag's interval is compared with inertia * rate where that is larger
            than the drag, for so an error of it shows at velocities that change at this rate.
        longest_gap: samples farther apart do not belong together, s, > 0.

    Raises:
        ValueError: a setting is outside its limits.
    """

    dead_time: float = 0.0
    block: float = 4.0
    memory: float = 60.0
    noise: tuple[float, float] = (0.01, 0.02)
    excitation: tuple[float, float] = (0.001, 0.001)
    precision: float = 0.2
    rate: float = 1.0
    longest_gap: float = 0.5

    def __post_init__(self) -> None:
        for name in ("block", "memory", "precision", "rate", "longest_gap"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"recursive fit: {name} = {getattr(self, name)}: must be > 0")
        if not 0.0 <= self.dead_time < math.inf:
            raise ValueError(
                f"recursive fit: dead_time = {self.dead_time} s: must be finite and >= 0"
            )
        for name in ("noise", "excitation"):
            if not all(0.0 < value < math.inf for value in getattr(self, name)):
                raise ValueError(f"recursive fit: {name} = {getattr(self, name)}: must be > 0")


class RecursiveFit:
    """Estimates sigma from one measured velocity after another.

    Args:
        start: sigma to begin with, from a batch fit or a guess.
        covariance: of the start, [sigma1, sigma2, sigma3, sigma4], shape (4, 4), as a batch fit
            gives it; None: the start is a mere guess.
        settings: see there.
    """

    def __init__(
        self,
        start: Sigma,
        covariance: Array | None = None,
        settings: RecursiveSettings = RecursiveSettings(),
    ) -> None:
        self.settings = settings
        self._axes = [
            RecursiveAxis(
                start.axis(index),
                None if covariance is None else covariance[index::2, index::2],
                settings.noise[index],
                settings.memory,
                settings.excitation[index],
            )
            for index in range(2)
        ]
        self._trusted = [start.axis(index) for index in range(2)]
        self._length = settings.block / 16.0
        self.blocks = 0
        self.interrupt()

    @property
    def values(self) -> Array:
        """Estimate of [sigma1, sigma2, sigma3, sigma4], shape (4,), trusted or not."""
        (s1, s3), (s2, s4) = (axis.values for axis in self._axes)
        return np.array([s1, s2, s3, s4])

    @property
    def covariance(self) -> Array:
        """Of the estimate, shape (4, 4); the axes are independent."""
        covariance = np.zeros((4, 4))
        for index, axis in enumerate(self._axes):
            covariance[index::2, index::2] = axis.covariance
        return covariance

    @property
    def trusted(self) -> Sigma:
        """What may be driven with: each axis's newest estimate that passed, or the start."""
        return Sigma.of_axes(*self._trusted)

    @property
    def surprises(self) -> tuple[int, int]:
        """How often an axis was found to have changed."""
        return self._axes[0].surprises, self._axes[1].surprises

    def interrupt(self) -> None:
        """The next sample does not follow the one before."""
        self._times: list[float] = []
        self._velocities: list[tuple[float, float]] = []
        # Integral of the commands at each stamp, back to the dead time before the block.
        self._asked: deque[tuple[float, float, float]] = deque()

    def update(
        self, stamp: float, velocity: tuple[float, float], command: tuple[float, float]
    ) -> None:
        """Take in one sample.

        Args:
            stamp: s, rising.
            velocity: measured v in m/s and omega in rad/s at that time.
            command: of v and omega, that held since the stamp before.

        Raises:
            ValueError: a number is not finite; nothing has changed then.
        """
        if not all(map(math.isfinite, (stamp, *velocity, *command))):
            raise ValueError(f"stamp {stamp}, velocity {velocity}, command {command}: not finite")
        since = stamp - self._asked[-1][0] if self._asked else 0.0
        if self._asked and not 0.0 < since <= self.settings.longest_gap:
            self.interrupt()
            since = 0.0
        _, v, omega = self._asked[-1] if self._asked else (stamp, 0.0, 0.0)
        self._asked.append((stamp, v + since * command[0], omega + since * command[1]))
        if stamp - self.settings.dead_time < self._asked[0][0]:
            return  # what acts now was commanded before the first sample
        self._times.append(stamp)
        self._velocities.append((float(velocity[0]), float(velocity[1])))
        full = len(self._times) > LEAST_SAMPLES
        if full and self._times[-2] - self._times[0] >= self._length - 1e-9:
            self._finish_block()

    def reasons(self) -> tuple[str, str]:
        """Why the estimate of each axis is not trusted now; empty where it is."""
        return self._judge(0), self._judge(1)

    def _finish_block(self) -> None:
        # The newest sample only tells whether the one before is a spike.
        times, velocities = np.array(self._times[:-1]), np.array(self._velocities)
        asked = np.array(self._asked)
        for index, axis in enumerate(self._axes):
            late = np.interp(times - self.settings.dead_time, asked[:, 0], asked[:, 1 + index])
            velocities[:, index] = axis.without_spikes(velocities[:, index])
            axis.update(Block(times, late - late[0], velocities[:-1, index]))
            if not self._judge(index):
                inertia, drag = axis.values
                # A drag that is not told from 0 may come out below it.
                self._trusted[index] = inertia, max(drag, 0.0)
        self.blocks += 1
        self._length = min(2.0 * self._length, self.settings.block)
        # The last sample of this block begins the next one.
        del self._times[:-2], self._velocities[:-2]
        self._velocities[0] = tuple(velocities[-2].tolist())
        while len(self._asked) > 2 and self._asked[1][0] <= times[-1] - self.settings.dead_time:
            self._asked.popleft()

    def _judge(self, index: int) -> str:
        (inertia, drag), covariance = self._axes[index].values, self._axes[index].covariance
        if not (0.0 < inertia < math.inf and math.isfinite(drag)):
            return f"{AXES[index]}: inertia = {inertia:.3g} s: must be finite and > 0"
        # An error of the drag acts like one of the inertia times the rate of the motion.
        scales = (inertia, max(drag, inertia * self.settings.rate))
        for name, scale, variance in zip(
            ("inertia", "drag"), scales, covariance.diagonal(), strict=True
        ):
            width = NORMAL_95 * math.sqrt(variance) / scale if variance >= 0.0 else math.inf
            if not width <= self.settings.precision:
                return (
                    f"{AXES[index]}: {name} is known to {100.0 * width:.3g} % only, limit "
                    f"{100.0 * self.settings.precision:g} %; drive with more change of speed"
                )
        return ""
