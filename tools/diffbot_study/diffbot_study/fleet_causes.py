# SPDX-License-Identifier: Apache-2.0
"""Causes of a robot's deviation or change, found by their signatures.

A signature is a set of directions in which quantities move together, each with the largest
amplitude against it. The named cause has the smallest Akaike criterion, chi^2 + 2 x amplitudes; its
confidence is its weight among all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import scipy

from diffbot_study.fleet_quantities import TORQUE, WITH_GYRO, Array

# Maximum chi^2 per degree of freedom that a cause may leave unexplained.
UNEXPLAINED = 20.0
NO_CAUSE = "no known cause"
SIDES, KINDS = ("left", "right"), ("viscous", "Coulomb")
MOUNTING = ("mount_x", "mount_y", "mount_yaw")
# Of one tyre's radius on the track over the mean radius.
OVER_MEAN = ("track_over_mean_radius", -0.5)

# Amplitudes against a direction. No tyre grows by more than 2.5 %: what makes a robot of known
# efforts slower by more is a load.
NEVER, ANY, GROWTH = 0.0, math.inf, 0.025
# Largest change of log K7 over the difference of the torques' effects, up to 0.5.
MEAN = 2.0 * math.log(2.0)

_Directions = Sequence[tuple[Array, float]]
_Signatures = Mapping[str, _Directions]


def name_cause(
    names: Sequence[str], deviation: Array, errors: Array, *change: Array
) -> tuple[str, float]:
    """Return the cause that explains the deviations best, and its weight among all, 0 to 1.

    Args:
        deviation, errors: By quantity; errors are standard deviations.
        change: A second deviation with the same cause, and its errors.
    """
    causes, follows = _signatures(tuple(names))
    pairs = [(deviation, errors), *zip(change[::2], change[1::2], strict=True)]
    wholes = [(moved, np.hypot(spread, follows)) for moved, spread in pairs]
    criteria: dict[str, float] = {}
    leftovers: dict[str, float] = {}
    for cause, directions in causes.items():
        left = [_left_over(directions, moved / spread, spread) for moved, spread in wholes]
        criteria[cause] = sum(left) + 2.0 * len(directions) * len(wholes)
        leftovers[cause] = max(left) / max(len(names) - len(directions), 1)
    best = min(criteria, key=lambda cause: criteria[cause], default=NO_CAUSE)
    if leftovers.get(best, math.inf) > UNEXPLAINED:
        return NO_CAUSE, 0.0
    weights = {cause: math.exp(-0.5 * (own - criteria[best])) for cause, own in criteria.items()}
    return best, weights[best] / sum(weights.values())


def _left_over(directions: _Directions, moved: Array, spread: Array) -> float:
    """Return chi^2 that the best amplitudes leave of deviations over their errors."""
    signs = [(d, sign, most) for d, back in directions for sign, most in ((1, ANY), (-1, back))]
    columns = [(sign * direction, most) for direction, sign, most in signs if most > NEVER]
    ways = np.array([column for column, _ in columns]).T / spread[:, None]
    limits = np.array([most for _, most in columns])
    amplitudes, left = scipy.optimize.nnls(ways, moved)
    if (amplitudes > limits).any():  # rarely, as this is slower
        return 2.0 * float(scipy.optimize.lsq_linear(ways, moved, (0.0, limits)).cost)
    return float(left**2)


@lru_cache(maxsize=64)
def _signatures(names: tuple[str, ...]) -> tuple[_Signatures, Array]:
    """Return causes of these quantities, and the standard deviations of effects without a cause."""
    return _of_torque(names) if names in (TORQUE, WITH_GYRO) else _of_values(names)


def _of_torque(names: tuple[str, ...]) -> tuple[_Signatures, Array]:
    """Return the causes for TORQUE or WITH_GYRO; docs/fleet.md lists the signatures.

    s = nominal / true radius of a tyre scales K7 and |K8| by s^2, K5 and K6 by 1 / s. Residuals,
    and torque differences of wheels with large friction, follow everything a little.
    """
    axes = np.eye(len(names))
    k7, k8, k5, k6, left, right, residual, difference = axes[: len(TORQUE)]
    tyres = k7 + k8 - 0.5 * k5 - 0.5 * k6
    radii = np.zeros(len(names))
    if names == WITH_GYRO:
        scale, radii = axes[len(TORQUE) :]
        turned = scale + k8 - 2.0 * k5
        tyres = tyres - 0.5 * turned

    def sensor(side: float, reads: float) -> _Directions:
        """Return directions: `side` -1 left, 1 right wheel; `reads` -1 too little, 1 too much.

        A difference d of the torques' effects changes K7 and K8 by 1 / (1 - |d|) at most.
        """
        own = -reads * side * difference
        return (
            (own, NEVER),
            (own - MEAN * reads * (k7 + k8), NEVER),
            (reads * (left + right), NEVER),
        )

    causes: dict[str, _Directions] = {
        "load": ((-k7, NEVER), (-k8, NEVER), (k5, ANY), (k6, ANY)),
        "tyre": ((tyres, 2.0 * GROWTH),),
        "tyre left": ((tyres - difference + radii, GROWTH),),
        "tyre right": ((tyres + difference - radii, GROWTH),),
        "brake left": ((left, NEVER),),
        "brake right": ((right, NEVER),),
        "current sensor left": sensor(-1.0, -1.0),
        "current sensor right": sensor(1.0, -1.0),
        "current sensor left, too much": sensor(-1.0, 1.0),
        "current sensor right, too much": sensor(1.0, 1.0),
        "encoder": ((residual, NEVER),),
    }
    if names == WITH_GYRO:
        causes |= {"track": ((k8 - scale, ANY),), "gyro": ((turned, ANY),)}
    return causes, 0.05 * residual + 0.003 * difference


def _of_values(names: tuple[str, ...]) -> tuple[_Signatures, Array]:
    """Return the causes for values of verdicts, "subject: name"; listed in docs/fleet.md."""

    def along(*terms: tuple[str, float]) -> Array | None:
        result = np.zeros(len(names))
        for end, factor in terms:
            result += factor * np.array([name.endswith(end) for name in names])
        return result if result.any() else None

    wanted: dict[str, Sequence[tuple[Array | None, float]]] = {
        "battery": ((along((": ks", 1.0), (": kv", 1.0), (": ka", 1.0)), NEVER),),
        "load": (
            (along(("inertia", 1.0), (": ka", 1.0)), NEVER),
            (along((": time constant", 1.0)), NEVER),
        ),
        "velocity scale": ((along((": gain", 1.0)), ANY),),
        "delay": ((along((": dead time", 1.0)), NEVER),),
        "tyre left": ((along(("left_radius", 1.0), ("radius_ratio", -1.0), OVER_MEAN), ANY),),
        "tyre right": ((along(("right_radius", 1.0), ("radius_ratio", 1.0), OVER_MEAN), ANY),),
        "tyres": (
            (along(("left_radius", 1.0), ("right_radius", 1.0), ("linear_scale", 1.0),
                   ("angular_scale", 1.0), ("track_over_mean_radius", -1.0)), ANY),
        ),
        "tyre of one side": (
            (along(("linear_scale", 1.0), ("angular_scale", 1.0)), ANY),
            (along(("heading_drift", 1.0)), ANY),
        ),
        "track": (
            (along(("track", 1.0), ("track_over_mean_radius", 1.0), ("angular_scale", -1.0)), ANY),
        ),
        "gyro": ((along(("gyro_scale", 1.0)), ANY),),
        "pose source moved": tuple((along((name, 1.0)), ANY) for name in MOUNTING),
        "slip": ((along(("path_noise", 1.0)), NEVER),),
    }  # fmt: skip
    for side in SIDES:
        motor, own = f"{side} motor: ", f"{side} side: "
        rubbing = [along((f"{motor}{kind} friction", 1.0)) for kind in KINDS]
        rubbing.append(along((f"{own}ks", 1.0)))
        wanted |= {
            f"windings {side}": ((along((f"{motor}R", 1.0)), NEVER),),
            f"magnets {side}": ((along((f"{motor}Ke", -1.0)), NEVER),),
            f"current sensor {side}": (
                (along((f"{motor}R", 1.0), (f"{motor}inertia", -1.0)), ANY),
                (along(*((f"{motor}{kind} friction", 1.0) for kind in KINDS)), ANY),
            ),
            f"brake {side}": [(direction, NEVER) for direction in rubbing],
            f"motor {side}": (
                (along((f"{own}ks", 1.0), (f"{own}ka", 1.0)), NEVER),
                (along((f"{own}ks", 1.0), (f"{own}kv", -1.0), (f"{own}ka", 1.0)), NEVER),
            ),
        }  # fmt: skip
    causes: dict[str, _Directions] = {}
    for cause, directions in wanted.items():
        there = [(direction, back) for direction, back in directions if direction is not None]
        if there:
            causes[cause] = there
    return causes, np.zeros(len(names))
