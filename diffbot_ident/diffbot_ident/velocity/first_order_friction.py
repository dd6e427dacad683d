"""A first-order axis with Coulomb friction, driven by an effort such as a voltage.

    ka dv/dt + kv v + ks sign(v) = V(t - d)

An effort that does not brake moves the axis its own way, from the moment at which it exceeds
friction. The equation is then that of first_order with inertia ka, drag kv and the command
sign(V) max(|V| - ks, 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.velocity.dead_time_search import Search
from diffbot_ident.velocity.first_order import FirstOrderFit
from diffbot_ident.velocity.stretch import Stretch

Array = NDArray[np.float64]

# Step of the derivative by friction, as a share of the largest effort; it enters linearly.
STEP = 0.02
# Frictions tried first, as shares of the largest effort, and the dead times, each so many samples.
STARTS, EVERY = (0.03, 0.08, 0.15), 6


@dataclass(frozen=True)
class FrictionFit:
    """An axis with friction.

    Attributes:
        fit: inertia is ka (V s^2/m for volts and m/s), drag is kv (V s/m); intervals allow for
            friction and dead time being estimates.
        friction: ks, in the effort's unit.
        friction_std: of it.
        dead_time_std: s; infinite: not identifiable.
    """

    fit: FirstOrderFit
    friction: float
    friction_std: float
    dead_time_std: float

    def simulate(self, stretch: Stretch) -> Array:
        """Velocity by the effort alone, from the first measured sample that counts, shape (n,).

        Samples before it are 0: the axis did not move yet.
        """
        fresh = np.ones(len(stretch.velocity), bool) if stretch.fresh is None else stretch.fresh
        first = int(np.argmax(fresh))
        moved = with_friction(stretch, self.friction)
        free = self.fit.model.simulate(moved.command, stretch.period, 0.0, self.fit.dead_time)
        since = np.arange(len(free) - first)
        decay = np.exp(-stretch.period / self.fit.model.time_constant * since)
        found = np.zeros(len(free))
        found[first:] = free[first:] + (float(stretch.velocity[first]) - free[first]) * decay
        return found


def with_friction(stretch: Stretch, friction: float) -> Stretch:
    """A stretch whose effort is what friction leaves of it: nothing, below friction."""
    effort = np.asarray(stretch.command, float)
    left = np.sign(effort) * np.maximum(np.abs(effort) - friction, 0.0)
    return replace(stretch, command=left)


def fit_with_friction(stretches: Sequence[Stretch], longest: float) -> FrictionFit:
    """Fit ka, kv, ks and the dead time.

    Args:
        stretches: efforts from rest on that do not brake. Samples at rest may count where the
            effort jumps over friction, not where it creeps through it: static friction is larger.
        longest: end of the dead time's scan, s.

    Raises:
        ValueError: nothing to fit, see fit_first_order.
    """
    if not stretches:
        raise ValueError("stretches is empty: must hold at least one")
    period = stretches[0].period
    samples = int(longest / period + 1e-9)
    most = max(float(np.abs(s.command).max(initial=0.0)) for s in stretches)
    search = Search(stretches, samples * period, with_friction, (-most, most), STEP * most or 1.0)
    # A wrong friction hides the time constant behind another one: several are tried.
    tried = []
    for share in STARTS:
        errors, theta, late = search.scan(range(0, samples + 1, EVERY), share * most)
        tried.append((float(errors.min()), np.array([*theta, late, share * most])))
    start = min(tried, key=lambda entry: entry[0])[1]
    fit, x, others = search.solve(start)
    return FrictionFit(fit, float(x[3]), float(others[1]), float(others[0]))
