# SPDX-License-Identifier: Apache-2.0
"""Adaptation of a law's wheel friction to live estimates, with gates like those of K5..K8."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from arc_odometry.number_range import check_positive
from diffbot_controllers.adaptation import AdaptationSettings, FollowedParameter, Four
from diffbot_controllers.laws.friction import Laws
from diffbot_description import FrictionLaw
from diffbot_ident.estimate import FRICTION_NAMES

# Largest half width of the 95 % interval at which a gate opens, relative to the value or COUNTS.
PRECISION = 0.3
# Smallest relevant friction, relative to the torque limit; viscous friction at top speed.
COUNTS = 0.02
# Increase beyond the band, relative to the torque limit, as described friction may be 0.
MARGIN = 0.1


def friction_values(laws: Laws) -> Four:
    """Return [viscous left, right in N m s/rad, Coulomb left, right in N m], mean friction."""
    left, right = laws
    return left.viscous, right.viscous, _coulomb(left), _coulomb(right)


def friction_laws(known: Laws, values: Sequence[float]) -> Laws:
    """Return the known laws with the values of friction_values, >= 0.

    Differences between the directions, and to the static friction, are kept.
    """
    left, right = (
        _with(law, viscous, coulomb)
        for law, viscous, coulomb in zip(known, values[:2], values[2:], strict=True)
    )
    return left, right


def is_adaptable(known: Laws) -> bool:
    """Whether live estimates of friction can replace the known one: not with gear losses.

    The estimated Coulomb friction includes these: a law would make up for them twice.
    """
    return not any(law.gear_loss for law in known)


def _coulomb(law: FrictionLaw[float]) -> float:
    return 0.5 * (law.sliding(1.0) + law.sliding(-1.0))


def _with(law: FrictionLaw[float], viscous: float, coulomb: float) -> FrictionLaw[float]:
    more = coulomb - _coulomb(law)

    def moved(torque: float | None) -> float | None:
        return None if torque is None else max(torque + more, 0.0)

    forward = max(law.coulomb + more, 0.0)
    return replace(
        law,
        viscous=max(viscous, 0.0),
        coulomb=forward,
        coulomb_backward=moved(law.coulomb_backward),
        static=moved(law.static),
    )


class FrictionAdaptation:
    """Lets the friction in use follow good estimates slowly, inside a band around the nominal one.

    Args:
        nominal: See friction_values.
        torque: Maximum torque of a wheel, N m, > 0.
        speed: Maximum speed of a wheel, rad/s, > 0.
        settings: Rate, band, hysteresis and significance are used.
        start: Friction used by a previous run, None where unknown; clamped to the band.

    Attributes:
        in_use: Values for the law, see friction_values.
    """

    def __init__(
        self,
        nominal: Four,
        torque: float,
        speed: float,
        settings: AdaptationSettings = AdaptationSettings(),  # noqa: B008  (frozen)
        start: tuple[float | None, ...] = (None,) * 4,
    ) -> None:
        check_positive("friction adaptation", torque=torque, speed=speed)
        self._settings = settings
        self._units = (torque / speed, torque / speed, torque, torque)
        self._lower = tuple(value / settings.band for value in nominal)
        self._upper = tuple(
            value * settings.band + MARGIN * unit
            for value, unit in zip(nominal, self._units, strict=True)
        )
        begins = (
            known if kept is None else max(lower, min(upper, kept))
            for known, kept, lower, upper in zip(
                nominal, start, self._lower, self._upper, strict=True
            )
        )
        left, right, coulomb_left, coulomb_right = begins
        self.in_use: Four = (left, right, coulomb_left, coulomb_right)
        self._before = self.in_use
        self._least = tuple(COUNTS * unit for unit in self._units)
        self._parameters = [
            FollowedParameter(name, PRECISION, least, settings)
            for name, least in zip(FRICTION_NAMES, self._least, strict=True)
        ]

    def judge(self, values: Sequence[float], variances: Sequence[float], time: float) -> None:
        """Move towards the credible values of an estimate whose set has passed its gates.

        Args:
            values: See friction_values; NaN: not estimated.
            variances: Infinite: not identifiable.
            time: Since the previous estimate, s.
        """
        self._before = self.in_use
        moved = list(self.in_use)
        for i, (value, variance) in enumerate(zip(values, variances, strict=True)):
            valid = math.isfinite(value) and variance >= 0.0
            deviation = math.sqrt(variance) if valid else math.nan
            if not self._is_credible(i, value, deviation):
                self._parameters[i].moves = False
                continue
            target = max(self._lower[i], min(self._upper[i], value))
            step = self._settings.adaptation_rate * max(moved[i], self._least[i]) * max(time, 0.0)
            moved[i] = self._parameters[i].follow(moved[i], target, deviation, step)
        left, right, coulomb_left, coulomb_right = moved
        self.in_use = (left, right, coulomb_left, coulomb_right)

    def take_back(self) -> None:
        self.in_use = self._before
        for each in self._parameters:
            each.moves = False

    def _is_credible(self, i: int, value: float, deviation: float) -> bool:
        if self._parameters[i].vague(value, deviation):
            return False
        # A value below 0 by more than its uncertainty cannot be friction.
        return value >= -max(self._settings.significance, 2.0) * deviation
