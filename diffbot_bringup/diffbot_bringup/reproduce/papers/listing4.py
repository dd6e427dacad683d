"""Listing 4 of Lages (2017) to the letter, on a simulated robot: what its Table 1 really holds.

The listing takes the joint velocities for u = [v, omega] and pairs the change of u with the efforts
that are read together with the new u. So it fits

    dw_l/dt on [w_r^2,   tau_l + tau_r]        and        dw_r/dt on [w_l w_r, tau_l - tau_r]

with wheel speeds w. From (41) and w = (v -+ b omega) / r, torques of independent bits give
K7 / r and b K8 / r for the second parameters, times the share of the period in which the effort
that is read has acted: torques that come late make them smaller.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

import numpy as np

from diffbot_description import load_robot
from diffbot_ident.prbs import Prbs
from diffbot_ident.rls import RecursiveLeastSquares
from diffbot_sim.engines import make_simulator

AMPLITUDE = 5.0  # N m, Listing 6
PERIOD = 0.01  # s, Listing 5
REGISTER = 15  # bits, so that a run is shorter than the period


@dataclass(frozen=True)
class Listing4:
    """What the listing gives.

    Attributes:
        values: its "K5" to "K8".
        covariances: the diagonal of its P, in the same order.
    """

    values: tuple[float, float, float, float]
    covariances: tuple[float, float, float, float]


def listing4(seconds: float, late: float, start: int = 0) -> Listing4:
    """Run it on twil, engine ideal, one bit per period and wheel, exact velocities.

    Args:
        seconds: robot time, s.
        late: share of a period after which a torque that is reported begins to act, 0 to 1.
        start: where the left wheel's sequence begins in its period; the right one's is half a
            period ahead.
    """
    bits = [Prbs(REGISTER, at) for at in (start, start + 2 ** (REGISTER - 1))]
    first, second = RecursiveLeastSquares(2), RecursiveLeastSquares(2)
    with closing(make_simulator("ideal", load_robot("twil"))) as engine:
        u, torque = np.array(engine.wheel_velocities()), (0.0, 0.0)
        for _ in range(round(seconds / PERIOD)):
            before, acting = u, torque
            torque = (
                2.0 * AMPLITUDE * next(bits[0]) - AMPLITUDE,
                2.0 * AMPLITUDE * next(bits[1]) - AMPLITUDE,
            )
            for part, share in ((acting, late), (torque, 1.0 - late)):
                if share > 0.0:
                    engine.step(part, share * PERIOD)
            u = np.array(engine.wheel_velocities())
            y = (u - before) / PERIOD
            first.update([before[1] ** 2, torque[0] + torque[1]], float(y[0]))
            second.update([before[0] * before[1], torque[0] - torque[1]], float(y[1]))
    values = first.theta[0], second.theta[0], first.theta[1], second.theta[1]
    covariances = first.p[0, 0], second.p[0, 0], first.p[1, 1], second.p[1, 1]
    return Listing4(tuple(map(float, values)), tuple(map(float, covariances)))
