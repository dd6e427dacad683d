"""Steps of one velocity loop of Lages (2017), Fig. 18, in continuous time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.signal import StateSpace, step


def continuous_step(kp: float, ki: float, until: float) -> tuple[NDArray, NDArray]:
    """Step response of (67), H = (Kp s + Ki) / (s^2 + Kp s + Ki): times in s, u / u_r."""
    system = StateSpace([[-kp, -ki], [1.0, 0.0]], [[1.0], [0.0]], [[kp, ki]], [[0.0]])
    return step(system, T=np.linspace(0.0, until, 20001))


def settling_time(times: NDArray, response: NDArray, accuracy: float = 0.01) -> float:
    """First time from which on a step stays within a share `accuracy` of 1, s."""
    outside = np.flatnonzero(np.abs(response - 1.0) > accuracy)
    return float(times[min(outside[-1] + 1, len(times) - 1)]) if len(outside) else 0.0
