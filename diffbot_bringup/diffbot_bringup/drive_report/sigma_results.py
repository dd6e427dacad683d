"""sigma1..sigma4 that a run was driven with, for summary.json."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffbot_bringup.drive_report.controller_topics import VELOCITY
from diffbot_bringup.drive_report.drive_run import DriveRun


def sigma_keys(run: DriveRun) -> dict[str, Any]:
    """Values in use at the end, those at the beginning, and the standard deviation of the estimate.

    Returns:
        A dict for each of sigma1..sigma4 with value, start and std (s, s, 1, 1); std is None where
        unknown, and all are where the sample is missing. Empty where nothing was driven.
    """
    if not len(run):
        return {}
    sigma, variance = run.extra["sigma"], run.extra["sigma_variance"][-1]
    begins, ends = run.is_whole(end=float(run.time[0])), run.is_whole(float(run.time[-1]))
    std = np.sqrt(np.where(variance >= 0.0, variance, np.nan))
    return {
        name: {
            "value": float(sigma[-1, k]) if ends else None,
            "start": float(sigma[0, k]) if begins else None,
            "std": float(std[k]) if ends and np.isfinite(std[k]) else None,
        }
        for k, name in enumerate(VELOCITY.parameters)
    }
