"""Which range of values a picture of an estimate shows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# The first 15 % of a run hold the transient from the start value 0.
SETTLED = 0.15
# Noise-free estimates differ in the last digits only; a range below this share would magnify that.
LEAST_SPAN = 0.005
# Variances fall by orders of magnitude in the first samples.
EARLY = 0.02


def estimate_limits(
    times: NDArray[np.float64],
    values: NDArray[np.float64],
    sigma: NDArray[np.float64],
    truth: NDArray[np.float64],
) -> tuple[float, float] | None:
    """(low, high) that shows the settled estimate, its ± 2 sigma band and the true values.

    What comes before 15 % of the run is left to run out of the picture.

    Args:
        times: (n,), s, ascending.
        values: estimates, (n,).
        sigma: standard deviations, (n,), may be infinite.
        truth: true values that the picture shows, (m,), m >= 0.

    Returns:
        None when nothing is finite.
    """
    if not len(times):
        return None
    settled = times >= times[0] + SETTLED * (times[-1] - times[0])
    spread = np.where(np.isfinite(sigma), 2.0 * sigma, 0.0)
    shown = np.concatenate([(values - spread)[settled], (values + spread)[settled], truth])
    shown = shown[np.isfinite(shown)]
    if not len(shown):
        return None
    low, high = float(shown.min()), float(shown.max())
    least = LEAST_SPAN * max(abs(low), abs(high)) or 1.0
    margin = 0.12 * (high - low) + max(0.0, 0.5 * (least - (high - low)))
    return low - margin, high + margin


def variance_limits(
    times: NDArray[np.float64], variances: NDArray[np.float64]
) -> tuple[float, float]:
    """(low, high) for a logarithmic axis; what comes before 2 % of the run may run out of it.

    Args:
        times: (n,), s, ascending, n >= 1.
        variances: (n,), finite and > 0.
    """
    shown = variances[times >= times[0] + EARLY * (times[-1] - times[0])]
    low, high = float(shown.min()), float(shown.max())
    return low / 2.0, max(2.0 * high, 10.0 * low)
