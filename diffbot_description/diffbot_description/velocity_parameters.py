# SPDX-License-Identifier: Apache-2.0
"""What is known of a robot that takes velocities: velocity_parameters.yaml, read and checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

from arc_odometry import Velocity
from diffbot_description.command_ramp import UNLIMITED, CommandRamp, RampCoupling
from diffbot_description.dead_band import NO_DEAD_BAND, DeadBand, DeadBandKind
from diffbot_description.files import named_file, read_section
from diffbot_description.sigma import Sigma

# Half width of a 95 % interval, in standard deviations.
_NORMAL_95 = NormalDist().inv_cdf(0.975)
SIGMA_ADVICE = "identify the robot again: launch ident"
SIGMA_NAMES = ("sigma1", "sigma2", "sigma3", "sigma4")
UNITS = (" s", " s", "", "")


@dataclass(frozen=True)
class IdentifiedSigma:
    """Known properties of a robot with velocity commands.

    Attributes:
        sigma: Parameters of (3).
        variances: Of sigma1..sigma4, in the squares of their units; 0 where exact, NaN: unknown.
        dead_time: From a command to its effect on v and on omega, s; None: not known.
        dead_band: Of the commands of v and of omega, m/s and rad/s.
        ramp: Limits of the driver's acceleration; None: none.
    """

    sigma: Sigma
    variances: tuple[float, ...] = (math.nan,) * 4
    dead_time: tuple[float, float] | None = None
    dead_band: tuple[DeadBand, DeadBand] = (NO_DEAD_BAND, NO_DEAD_BAND)
    ramp: CommandRamp | None = None

    def speeds(self, limits: Velocity) -> Velocity:
        """Return the speeds that commands of this size reach, by (3), m/s and rad/s."""
        return Velocity(*(self._acting(i, limits) / self.sigma.axis(i)[1] for i in (0, 1)))

    def accelerations(self, limits: Velocity) -> Velocity:
        """Return the accelerations that commands up to these limits reach, m/s^2 and rad/s^2.

        That from rest by (3), (command - dead band) / inertia, or that of the ramp if it is less.
        """
        slopes = UNLIMITED if self.ramp is None else self.ramp.slowest
        inertias, drags = zip(*map(self.sigma.axis, (0, 1)), strict=True)
        return Velocity(
            *(min(self._acting(i, limits) / inertias[i], slopes[i] / drags[i]) for i in (0, 1))
        )

    def _acting(self, axis: int, limits: Velocity) -> float:
        band = self.dead_band[axis]
        lost = band.width if band.kind is DeadBandKind.OFFSET else 0.0
        return max(limits[axis] - lost, 0.0)


def read_sigma(path: str) -> IdentifiedSigma:
    """Read velocity_parameters.yaml, which has the section of `identified_from`.

    Raises:
        ValueError: There is no such file, or it contains no usable parameters; the message names
            the file, the field, its value, its limit and what to change.
    """
    section = read_section(path, ("sigma",), SIGMA_ADVICE)
    with named_file(path, SIGMA_ADVICE):
        return identified_from(section)


def identified_from(section: Mapping[str, Any]) -> IdentifiedSigma:
    """Return what a section of an identification tells of a velocity robot.

    It has `sigma` ([sigma1 in s, sigma2 in s, sigma3, sigma4]) and, where identified,
    `covariance_diagonal` (4 variances), `dead_time` ([v, omega], s), `dead_band` ([v, omega], m/s,
    rad/s) with `dead_band_kind` (offset or threshold), `acceleration_limit` and
    `deceleration_limit` ([v, omega], m/s^2, rad/s^2; infinite: none) with `ramp_coupling` (own,
    scaled or wheels) and `ramp_before_dead_band`, and `exponent` (1, 1).

    Raises:
        ValueError: It contains no usable parameters; the message names the field, its value and its
            limit.
    """
    known = IdentifiedSigma(sigma_from(_numbers(section, "sigma", 4)))
    if "exponent" in section:
        _check_linear(_numbers(section, "exponent", 2))
    if "covariance_diagonal" in section:
        known = replace(known, variances=_numbers(section, "covariance_diagonal", 4))
        _check_identified(known.variances)
    if "dead_time" in section:
        late = _numbers(section, "dead_time", 2)
        _check_dead_time(late)
        known = replace(known, dead_time=(late[0], late[1]))
    if "dead_band" in section:
        known = replace(known, dead_band=_dead_bands(section))
    return replace(known, ramp=_ramp(section))


def sigma_from(values: tuple[float, ...]) -> Sigma:
    """Return sigma, [sigma1 in s, sigma2 in s, sigma3, sigma4], for a law.

    Raises:
        ValueError: They are not four finite numbers > 0; the message names the first wrong one.
    """
    if len(values) != len(SIGMA_NAMES):
        raise ValueError(
            f"sigma = {list(values)}: must be 4 numbers, sigma1 in s, sigma2 in s, sigma3, sigma4"
        )
    for name, value, unit in zip(SIGMA_NAMES, values, UNITS, strict=True):
        if not (math.isfinite(value) and value > 0.0):
            raise ValueError(f"{name} = {value}{unit}: must be finite and > 0")
    return Sigma(*values)


def _numbers(section: Mapping[str, Any], name: str, count: int) -> tuple[float, ...]:
    values = section.get(name)
    if not (
        isinstance(values, list)
        and all(type(value) in (int, float) for value in values)
        and len(values) == count
    ):
        raise ValueError(f"{name} = {values!r}: must be a list of {count} numbers")
    return tuple(map(float, values))


def _check_identified(variances: tuple[float, ...]) -> None:
    for name, variance in zip(SIGMA_NAMES, variances, strict=True):
        if math.isnan(variance):
            continue  # unknown variances of files written by hand are accepted
        if not 0.0 <= variance < math.inf:
            raise ValueError(
                f"variance of {name} = {variance}: must be >= 0 and finite, else {name} is not "
                "identified"
            )


def _check_linear(exponents: tuple[float, ...]) -> None:
    for axis, value in zip(("v", "omega"), exponents, strict=True):
        if value != 1.0:
            raise ValueError(
                f"exponent of {axis} = {value}: must be 1, as the law supports only (3), in "
                "which commands act without exponents"
            )


def _check_dead_time(dead_time: tuple[float, ...]) -> None:
    for axis, value in zip(("v", "omega"), dead_time, strict=True):
        if not 0.0 <= value <= 1.0:
            raise ValueError(f"dead_time of {axis} = {value} s: must be from 0 to 1")


def _dead_bands(section: Mapping[str, Any]) -> tuple[DeadBand, DeadBand]:
    widths = _numbers(section, "dead_band", 2)
    kinds = section.get("dead_band_kind", [DeadBandKind.OFFSET.value] * 2)
    if not (isinstance(kinds, list) and len(kinds) == 2):
        raise ValueError(f"dead_band_kind = {kinds!r}: must be two kinds, of v and omega")
    for axis, width, unit in zip(("v", "omega"), widths, ("m/s", "rad/s"), strict=True):
        if not 0.0 <= width < math.inf:
            raise ValueError(f"dead_band of {axis} = {width} {unit}: must be finite and >= 0")
    bands = [
        DeadBand(width, DeadBandKind.named(str(kind)))
        for width, kind in zip(widths, kinds, strict=True)
    ]
    if "dead_band_estimate" in section and "dead_band_variance" in section:
        estimates = _numbers(section, "dead_band_estimate", 2)
        variances = _numbers(section, "dead_band_variance", 2)
        bands = [_with_bound(*each) for each in zip(bands, estimates, variances, strict=True)]
    return bands[0], bands[1]


def _with_bound(band: DeadBand, estimate: float, variance: float) -> DeadBand:
    """Return a threshold that no robot of these numbers has, as a command below it would be lost.

    No command is then between the two: a smaller one is sent as pulses above the threshold.
    """
    most = estimate + _NORMAL_95 * math.sqrt(variance) if variance >= 0.0 else math.inf
    if band.kind is not DeadBandKind.THRESHOLD or band.width == 0.0 or not math.isfinite(most):
        return band
    return replace(band, width=max(band.width, most))


def _ramp(section: Mapping[str, Any]) -> CommandRamp | None:
    if "acceleration_limit" not in section:
        return None
    speeding = Velocity(*_numbers(section, "acceleration_limit", 2))
    braking = speeding
    if "deceleration_limit" in section:
        braking = Velocity(*_numbers(section, "deceleration_limit", 2))
    before = section.get("ramp_before_dead_band", False)
    if not isinstance(before, bool):
        raise ValueError(f"ramp_before_dead_band = {before!r}: must be true or false")
    coupling = section.get("ramp_coupling", RampCoupling.OWN.value)
    names = [each.value for each in RampCoupling]
    if coupling not in names:
        raise ValueError(f"ramp_coupling = {coupling!r}: must be one of {', '.join(names)}")
    ramp = CommandRamp(speeding, braking, RampCoupling(coupling), before)
    # Without a limit there is no ramp.
    return None if ramp.slowest == UNLIMITED else ramp
