# SPDX-License-Identifier: Apache-2.0
"""Whether the robot of a run stays as it is: changes are told, drifts are taken off the sums."""

from __future__ import annotations

import math
from collections.abc import Sequence

from diffbot_ident.torque.effects import Effect
from diffbot_ident.torque.fitting import Fitting
from diffbot_ident.torque.learning import Learning
from diffbot_ident.torque.parameter_change import ChangeWatch, ForceDrift
from diffbot_ident.torque.sums import RowSums

# Share of a drift by which it differs from another one.
NO_DRIFT, OTHER_DRIFT = (0.0, 0.0, 0.0), 0.2


class RobotWatch:
    """Watches the robot of a run, from the opening on.

    Attributes:
        units: Units of the run.
        drift: Drift of the robot over the run; None: none is likely.
    """

    def __init__(self, learning: Learning, stamp: float, began: float) -> None:
        self._learning = learning
        self.units = ChangeWatch(learning.length, learning.sums, stamp, began)
        self.drift: ForceDrift | None = None
        self._residuals_drift = NO_DRIFT  # shares of the drift that the residuals belong to

    def steady(self, sums: RowSums) -> RowSums:
        """Return the sums of the robot without its drift."""
        return sums if self.drift is None else self.units.steady(sums, self.drift)

    def look(
        self, fitting: Fitting, effects: Sequence[Effect], delay: float, lag: float
    ) -> float | None:
        """Look for a change, and for a drift if there is none; return the change's stamp, s."""
        sums = self._learning.sums
        # What happens once per turn is also found in rows of two robots.
        lasting = [each for each in effects if not each.once_per_turn]
        change = self.units.change(sums, delay, fitting.extra(lasting), lag)
        if change is not None:
            return change
        self.drift = self.units.drift(sums, delay, fitting.extra(effects), lag)
        shares = NO_DRIFT if self.drift is None else self.drift.shares
        known = self._residuals_drift
        if math.dist(shares, known) > OTHER_DRIFT * max(math.hypot(*shares), math.hypot(*known)):
            self._learning.residuals.restart(int(sums.rows))
            self._residuals_drift = shares
        return None
