# SPDX-License-Identifier: Apache-2.0
"""Refuses recordings whose rate changes: torque estimators count windows and delays in samples."""

from __future__ import annotations

import numpy as np

from diffbot_recordings.samples import Array, RecordingError

SAMPLES = 100
# Ratio of spacings from which the rate is another, and how often in a row.
RATIO, LASTING = 1.4, 3


class SteadyRate:
    """Compares the spacing of samples with that of the first ones."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._since: list[float] = []

    def check(self, times: Array) -> None:
        """Compare samples at increasing stamps, s, (n,), without a gap. Raises RecordingError."""
        # Over two samples: two publishers that take turns have equal sums of steps.
        steps = 0.5 * (times[2:] - times[:-2])
        count = len(steps) // SAMPLES
        if not count:
            return
        starts = np.array_split(times[:-2], count)
        for part, start in zip(np.array_split(steps, count), starts, strict=True):
            spacing = float(np.median(part))
            if self._first is None:
                self._first = spacing
            if 1.0 / RATIO < spacing / self._first < RATIO:
                self._since.clear()
                continue
            self._since.append(float(start[0]))
            if len(self._since) == LASTING:
                raise RecordingError(
                    f"samples come every {1e3 * self._first:.2g} ms until about "
                    f"{self._since[0]:.4g} s and every {1e3 * spacing:.2g} ms from there on, and "
                    "K5 to K8 of both together would be wrong: cut the recording there, and "
                    "identify each part by itself"
                )
