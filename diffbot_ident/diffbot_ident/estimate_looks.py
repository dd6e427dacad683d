# SPDX-License-Identifier: Apache-2.0
"""The estimate of a run: updated at a period while the robot is excited, compared at the end."""

from __future__ import annotations

import math
from dataclasses import replace

from arc_odometry import JointSample
from arc_odometry.sample_check import EffortSize
from diffbot_ident.runaway import ROUNDING
from diffbot_ident.torque.effort_units import EffortCheck
from diffbot_ident.torque.estimate import Estimate, EstimateState, Estimator, Precision

# Robot time between two updates of the estimate, s.
LOOK_PERIOD = 0.2
# Robot time before which no precision counts as reached, s.
MIN_TIME = 5.0
# Successive invalid estimates after which the run is stopped.
INVALID_LOOKS = 2


class EstimateLooks:
    """Looks at an estimator every LOOK_PERIOD, as an estimate takes milliseconds.

    Args:
        duration: Maximum duration of the excitation, s.
        until: Precision at which it may end before; None: none.
        efforts: Compares the last estimate with the description; None: not compared.
    """

    def __init__(
        self,
        estimator: Estimator,
        duration: float,
        until: Precision | None,
        efforts: EffortCheck | None,
    ) -> None:
        self._estimator, self._efforts = estimator, efforts
        self._duration, self._until = duration, until
        self._effort_size = EffortSize()
        self._last, self._invalid = -math.inf, 0
        self.estimate = estimator.estimate()
        self.count = 0
        self.due = False

    def add(self, sample: JointSample, excited: float) -> None:
        """Pass a sample of the excitation on; `excited` is its robot time in the excitation, s."""
        self._estimator.update(sample)
        self._effort_size.add(sample)
        self.due = excited - self._last >= LOOK_PERIOD - ROUNDING

    def interrupt(self) -> None:
        """Tell the estimator that the next sample does not continue the previous ones."""
        self._estimator.interrupt()

    def look(self, excited: float) -> Estimate:
        """Update the estimate at a robot time in the excitation, s."""
        self.due, self._last = False, excited
        self.count += 1
        self.estimate = self._estimator.estimate()
        invalid = self.estimate.state is EstimateState.INVALID
        self._invalid = self._invalid + 1 if invalid else 0
        return self.estimate

    @property
    def hopeless(self) -> bool:
        """Whether the last INVALID_LOOKS estimates were invalid."""
        return self._invalid >= INVALID_LOOKS

    def concluded(self, elapsed: float) -> bool:
        """Whether the excitation is over at a robot time, s; `estimate` is the last one then."""
        over = elapsed >= self._duration - ROUNDING
        if not over and self._until is not None and elapsed >= MIN_TIME:
            over = self._until.is_reached(self.estimate)
        if over:
            self.conclude()
        return over

    def conclude(self) -> None:
        """Make the last estimate: compared, and without the advice to wait."""
        self.due = False  # it would replace this estimate
        result = self._estimator.estimate()
        if self._efforts is not None:
            result, _ = self._efforts.judged(result, self._effort_size.value)
        self.estimate = replace(result, advice=result.advice.of_finished_run)

    def suspicion(self) -> str | None:
        """Return the probable cause of a robot that runs away; None: not known."""
        return self._estimator.suspicion()
