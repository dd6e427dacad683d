"""What the robot's sensors make of the truth: white noise, then steps of a converter."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from diffbot_ident.omni.kinematics import Array


@dataclass(frozen=True)
class Reading:
    """Noise and resolution of one kind of reading.

    Attributes:
        noise: standard deviation of the white normal noise, in the unit of the reading, >= 0.
        step: of the quantisation, in the unit of the reading, >= 0; 0: none.

    Raises:
        ValueError: a value is not finite or < 0.
    """

    noise: float
    step: float

    def __post_init__(self) -> None:
        for name in ("noise", "step"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise ValueError(f"{name} = {value} of a reading: must be finite and >= 0")

    def of(self, truth: ArrayLike, random: np.random.Generator) -> Array:
        """Readings of true values, in the same shape."""
        truth = np.asarray(truth, dtype=float)
        noisy = truth + self.noise * random.standard_normal(truth.shape)
        return self.step * np.round(noisy / self.step) if self.step else noisy


@dataclass(frozen=True)
class OmniSensors:
    """Sensors of the experiments.

    The paper states none. With this noise of the speeds, method 2 as printed errs about as much in
    B_v and B_vn as Table 3 differs from Table 2; with that of the currents, method 1's forces
    scatter about their line as in Table 1; with that of the angles, W looks as in Fig. 9(b).

    Attributes:
        wheel_speed: of a wheel's rim, m/s.
        current: of a motor, A.
        angle: of the hanging robot, from the camera, rad.
    """

    wheel_speed: Reading = Reading(0.012, 0.002)
    current: Reading = Reading(0.1, 0.02)
    angle: Reading = Reading(0.01, 0.005)
