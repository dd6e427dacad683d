"""Dead time of an axis, in fractions of a sample, by the least residual; and a static power law.

    s_inertia dv/dt + s_drag v = sign(u) |u|^p          u = command(t - d)

d is scanned in whole samples, as the residual may have several minima; from the best one, all
parameters are sought together. The residuals of all d rest on the same samples: those for which
the command of the longest dead time before is known. The intervals of all parameters are joint.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.velocity.dead_time_search import Search
from diffbot_ident.velocity.first_order import FirstOrderFit, Stretch

Array = NDArray[np.float64]

LONGEST = 1.0
"""Dead times up to this are tried, s."""
# Step of the derivative by the exponent.
EXPONENT_STEP = 0.01
# Exponents that are tried first, and their bounds.
EXPONENTS, LOWEST, HIGHEST = (0.6, 1.5, 2.0), 0.3, 4.0


@dataclass(frozen=True)
class DeadTimeFit:
    """An axis with its dead time.

    Attributes:
        fit: model and intervals, which allow for the dead time and the exponent being estimates.
        dead_time_std: s; infinite: not identifiable.
        exponent: p of the power law; 1: the command as it is.
        exponent_std: 0 where the exponent was not estimated.
        scanned: dead times tried, shape (m,), s.
        errors: root mean square of the residuals at each, shape (m,).
        longest: end of the scan, s.
    """

    fit: FirstOrderFit
    dead_time_std: float
    exponent: float
    exponent_std: float
    scanned: Array
    errors: Array
    longest: float

    @property
    def dead_time(self) -> float:
        """Best dead time, s."""
        return self.fit.dead_time

    @property
    def at_end(self) -> bool:
        """Whether the best dead time is the longest tried: it may be longer still."""
        return self.dead_time > self.longest - 1e-6 or int(np.argmin(self.errors)) + 1 == len(
            self.errors
        )

    def simulate(self, stretch: Stretch) -> Array:
        """Velocity from the first measured sample on, by commands alone, shape (n,)."""
        command = power_law(np.asarray(stretch.command, float), self.exponent)
        start = float(stretch.velocity[0])
        return self.fit.model.simulate(command, stretch.period, start, self.dead_time)


def power_law(command: Array, exponent: float) -> Array:
    """sign(u) |u|^p, shape (n,)."""
    return command if exponent == 1.0 else np.sign(command) * np.abs(command) ** exponent


def scan_dead_times(stretches: Sequence[Stretch], found: DeadTimeFit) -> DeadTimeFit:
    """The fit with the errors of dead times as they are at its own exponent, for pictures."""
    if found.exponent == 1.0:
        return found
    period = stretches[0].period
    search = Search(stretches, found.longest, _bent)
    errors, _, _ = search.scan(range(round(found.longest / period) + 1), found.exponent)
    return replace(found, errors=errors)


def _bent(stretch: Stretch, exponent: float) -> Stretch:
    return replace(stretch, command=power_law(np.asarray(stretch.command, float), exponent))


def fit_dead_time(
    stretches: Sequence[Stretch],
    longest: float = LONGEST,
    with_exponent: bool = False,
    every: int = 1,
) -> DeadTimeFit:
    """Fit an axis and its dead time.

    Args:
        stretches: at least one; of one period.
        longest: end of the scan, s, >= 0; less where the stretches are shorter than thrice that.
        with_exponent: whether the exponent p is fitted, too.
        every: samples between the dead times that are tried first.

    Raises:
        ValueError: nothing to fit, see fit_first_order.
    """
    if not 0.0 <= longest < math.inf:
        raise ValueError(f"longest = {longest}: must be finite and >= 0 s")
    if not stretches:
        raise ValueError("stretches is empty: must hold at least one")
    period = stretches[0].period
    most = max(len(stretch.velocity) for stretch in stretches) // 3
    samples = min(int(longest / period + 1e-9), most)
    search = Search(stretches, samples * period, _bent, (LOWEST, HIGHEST), EXPONENT_STEP)
    errors, theta, late = search.scan(range(0, samples + 1, every))
    exponent = 1.0
    if with_exponent:
        tried = {1.0: (errors, theta, late)}
        for p in EXPONENTS:
            tried[p] = search.scan((0, int(late) // 2, int(late)), p)
        exponent = min(tried, key=lambda p: float(tried[p][0].min()))
        _, theta, late = tried[exponent]
    free = 4 if with_exponent else 3
    x = np.array([*theta, late, exponent])[:free]
    fit, x, others = search.solve(x)
    return DeadTimeFit(
        fit=fit,
        dead_time_std=float(others[0]),
        exponent=float(x[3]) if with_exponent else 1.0,
        exponent_std=float(others[1]) if with_exponent else 0.0,
        scanned=period * np.arange(0, samples + 1, every),
        errors=errors,
        longest=search.lead,
    )
