"""Chooses amplitude, frequency and offset of the arm's next motion, section 5 of the paper.

The paper minimises (16) by Levenberg and Marquardt's method, (17)-(23), from the present motion.
The measures have several minima over the frequency, and with the limits of the arm the best motion
often lies on a bound; so SciPy's differential evolution is used, which looks everywhere and takes
many candidates at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import differential_evolution

from diffbot_ident.compliant_base.beforehand import Beforehand
from diffbot_ident.compliant_base.estimation import KalmanEstimator
from diffbot_ident.compliant_base.excitation import ArmMotion, Sinusoid, changed
from diffbot_ident.compliant_base.metrics import Metric
from diffbot_ident.compliant_base.prediction import Foresight, information, plausible
from diffbot_ident.compliant_base.regressor import row_variance
from diffbot_ident.compliant_base.setting import Setting

Array = NDArray[np.float64]

# Cost beyond any measure's: of a motion beyond the limits, and more with the excess.
FORBIDDEN = 1e6


class ExcitationPlanner:
    """Foresees what each motion would tell, with the estimates of the moment.

    Args:
        metric: to be made small.
        beforehand: what was known at the start.
        rest: angle of the arm when the sensors were set to zero, rad.
        setting: of the experiment.
        seed: of the optimiser's candidates, >= 0.
    """

    def __init__(
        self, metric: Metric, beforehand: Beforehand, rest: float, setting: Setting, seed: int
    ) -> None:
        self._metric, self._beforehand, self._rest = metric, beforehand, rest
        self._setting = setting
        self._random = np.random.default_rng(seed)
        step = setting.period * setting.thin
        self._step = step
        self._steps = step * np.arange(setting.samples // setting.thin + 1)
        self._samples = setting.period * np.arange(1, setting.samples + 1)

    def choose(
        self, old: Sinusoid, estimator: KalmanEstimator, state: Array, largest: Array
    ) -> Sinusoid:
        """The motion that takes the place of the old one.

        Args:
            old: motion until now, its time counted from now.
            estimator: with what is known now.
            state: measured [r, theta, r', theta'] of the base, shape (3 modes, 12).
            largest: value of each channel so far, shape (8, 3).
        """
        setting, now = self._setting, estimator.information
        estimate = plausible(estimator.estimate, self._beforehand.start)
        angle = float(old.motion(np.zeros(1)).angle[0])
        foresight = Foresight(estimate, setting.arm, self._rest, angle, state, self._step)

        def cost(unit: Array) -> Array:
            candidates = self._candidates(unit.reshape(3, -1), old)
            excess = setting.limits.excess(changed(old, candidates, self._samples, setting.blend))
            motion = changed(old, candidates, self._steps, setting.blend)
            gained = self._information(foresight, motion, estimate, largest)
            costs = self._metric(now, now + gained)
            return np.where(excess > 0.0, FORBIDDEN * (1.0 + excess), costs)

        best = differential_evolution(
            cost, [(0.0, 1.0)] * 3, vectorized=True, updating="deferred", polish=False, tol=0.0,
            popsize=setting.population, maxiter=setting.generations, seed=self._random,
        )  # fmt: skip
        # The old motion goes on where no change is within the limits.
        return self._candidates(best.x, old) if best.fun < FORBIDDEN else old

    def _candidates(self, unit: Array, old: Sinusoid) -> Sinusoid:
        return Sinusoid(*self._setting.limits.sinusoid(unit), old.phase)

    def _information(
        self, foresight: Foresight, motion: ArmMotion, estimate: Array, largest: Array
    ) -> Array:
        setting = self._setting
        values = foresight.sense(motion)
        reached = np.maximum(largest, np.abs(values).max(axis=(0, 1)))
        # Each step stands for `thin` samples.
        variance = row_variance(setting.noise.deviation(reached), estimate) / setting.thin
        return information(values, variance, self._beforehand.deviation, setting.foreseen_window)
