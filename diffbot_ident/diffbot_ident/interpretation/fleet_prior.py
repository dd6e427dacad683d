# SPDX-License-Identifier: Apache-2.0
"""Prior for a robot from a fleet of robots of its type: its file, and an estimator that uses it.

`diffbot fleet` writes prior_TYPE.yaml; docs/theory/estimates.md#prior-of-a-fleet.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from arc_odometry import JointSample
from diffbot_description import Robot
from diffbot_description.files import parse_yaml, read_regular, write_atomically
from diffbot_description.named_paths import expanded
from diffbot_ident.estimate import (
    NAMES,
    UNITS,
    Advice,
    Array,
    Estimate,
    EstimateState,
    Estimator,
    Four,
)
from diffbot_ident.torque.judgement import with_states

VERSION = 1  # version of the file's format
FEWEST = 5  # minimum number of robots of a prior
NONE = "none"  # parameter value for no file
# Chi^2 of 4 degrees of freedom that one of 100 robots exceeds.
CONTRADICTION = 13.2767
# A value relies on the prior with more than this share of its variance left.
RESTS = 0.5
# Relative difference of equal radii and tracks.
SAME = 1e-6
# Valid range of the relative standard deviations between robots.
SMALLEST, LARGEST_SPREAD = 1e-6, 10.0
ADVICE = "write it again: diffbot fleet RECORDINGS --robot NAME --output DIR"
HEADER = """\
# What robots of a type are like: mean and covariance (row by row) of K5..K8 between robots.
# For launch adaptive prior:=FILE, and the parameter prior of the node ident.
"""


@dataclass(frozen=True)
class FleetPrior:
    """Robots of one type.

    Attributes:
        robot: Name of their description.
        values: Mean of [K5 in m, K6 in 1/m, K7 in 1/(kg m), K8 in 1/(kg m^2)].
        covariance: Covariance of a new robot of the type around the mean, 4 rows of 4.
        robots: Number of robots it is based on.
        wheel_radius, track: Those with which K5..K8 were identified, m.
        date: Date of creation, ISO 8601.

    Raises:
        ValueError: A value is invalid; the message names field, value and limit.
    """

    robot: str
    values: Four
    covariance: tuple[tuple[float, ...], ...]
    robots: int
    wheel_radius: float
    track: float
    date: str

    def __post_init__(self) -> None:
        k7, k8 = self.values[2:]
        if not (np.isfinite(self.values).all() and k7 > 0.0 > k8):
            raise ValueError(f"mean = {list(self.values)}: must be finite, K7 > 0 and K8 < 0")
        whole = np.array(self.covariance, float)
        if whole.shape != (4, 4) or not np.isfinite(whole).all():
            raise ValueError("covariance: must be 16 finite numbers, row by row")
        if not np.allclose(whole, whole.T, rtol=1e-9, atol=0.0) or (np.diag(whole) <= 0.0).any():
            raise ValueError("covariance: must be symmetric, with variances > 0")
        spread = np.sqrt(np.diag(whole))
        if np.linalg.eigvalsh(whole / np.outer(spread, spread))[0] <= SMALLEST:
            raise ValueError("covariance: must be positive definite")
        for name, std, value in zip(NAMES[2:], spread[2:], self.values[2:], strict=True):
            if not SMALLEST <= std / abs(value) <= LARGEST_SPREAD:
                raise ValueError(
                    f"standard deviation of {name} = {std:g}: must be from {SMALLEST:g} to "
                    f"{LARGEST_SPREAD:g} of its mean {value:g}"
                )
        if self.robots < FEWEST:
            raise ValueError(f"robots = {self.robots}: must be >= {FEWEST}; record more robots")

    @property
    def deviations(self) -> Four:
        s5, s6, s7, s8 = (math.sqrt(row[i]) for i, row in enumerate(self.covariance))
        return s5, s6, s7, s8

    @property
    def about(self) -> str:
        return f"the prior of {self.robots} robots '{self.robot}' ({self.date[:10]})"


def write_prior(path: Path, prior: FleetPrior) -> None:
    """Write a prior atomically. Raises OSError if it cannot be written."""
    section = {
        "version": VERSION,
        "robot": prior.robot,
        "robots": prior.robots,
        "date": prior.date,
        "wheel_radius": float(prior.wheel_radius),
        "track": float(prior.track),
        "names": list(NAMES),
        "units": list(UNITS),
        "mean": [float(value) for value in prior.values],
        "covariance": [float(value) for row in prior.covariance for value in row],
    }
    text = yaml.safe_dump({"fleet_prior": section}, sort_keys=False, width=100)
    write_atomically(path, HEADER + text)


def read_prior(path: str, robot: Robot) -> FleetPrior:
    """Read a file of write_prior, for a robot; `~` is expanded.

    Raises:
        ValueError: There is no such file, or its content is invalid for this robot.
    """
    try:
        document = parse_yaml(read_regular(expanded(path)))
        section = document.get("fleet_prior") if isinstance(document, dict) else None
        if not isinstance(section, dict):
            raise ValueError("no section fleet_prior; check that it is a file prior_TYPE.yaml")
        return _checked(section, robot)
    except ValueError as error:
        raise ValueError(f"prior '{path}': {error}; {ADVICE}") from None


def _checked(section: Mapping[str, Any], robot: Robot) -> FleetPrior:
    for name, wanted in (
        ("version", VERSION),
        ("robot", robot.name),
        ("names", list(NAMES)),
        ("units", list(UNITS)),
    ):
        if section.get(name) != wanted:
            raise ValueError(f"{name} = {section.get(name)!r}: must be {wanted!r}")
    sizes = {"wheel_radius": robot.wheels.radius, "track": robot.wheels.separation}
    for name, size in sizes.items():
        (result,) = _numbers(section, name, 1)
        if not abs(result - size) <= SAME * size:
            raise ValueError(
                f"{name} = {result:g} m: must be {size:g} m, that of robot '{robot.name}': K5 to "
                "K8 depend on it"
            )
    robots, date = section.get("robots"), section.get("date")
    if type(robots) is not int:
        raise ValueError(f"robots = {robots!r}: must be a whole number")
    try:
        datetime.fromisoformat(str(date))
    except ValueError:
        raise ValueError(f"date = {date!r}: must be as 2031-05-04T10:15:00+00:00") from None
    k5, k6, k7, k8 = _numbers(section, "mean", 4)
    rows = np.reshape(_numbers(section, "covariance", 16), (4, 4)).tolist()
    covariance = tuple(map(tuple, rows))
    return FleetPrior(
        robot=robot.name,
        values=(k5, k6, k7, k8),
        covariance=covariance,
        robots=robots,
        **sizes,
        date=str(date),
    )


def _numbers(section: Mapping[str, Any], name: str, count: int) -> list[float]:
    values = section.get(name)
    values = [values] if count == 1 else values
    right = isinstance(values, list) and len(values) == count
    if not right or any(type(value) not in (int, float) for value in values or ()):
        raise ValueError(f"{name} = {section.get(name)!r}: must be {count} numbers")
    return [float(value) for value in values or ()]


def with_prior(estimate: Estimate, prior: FleetPrior, half_track: float) -> Estimate:
    """Fuse an estimate from data alone with the prior, or warn if they contradict; b in m.

    An INVALID estimate is returned unchanged; one with too few samples stays UNESTIMATED.
    """
    if estimate.state is EstimateState.INVALID:
        return estimate
    mean, spread = np.array(prior.values), np.array(prior.covariance)
    data, own = np.array(estimate.values), np.array(estimate.covariance)
    if not (np.isfinite(data).all() and np.isfinite(own).all()):
        return estimate.with_values(mean, spread)
    total = own + spread
    distance = float((data - mean) @ np.linalg.solve(total, data - mean))
    if not distance <= CONTRADICTION:
        worst = _worst(data - mean, total)
        return replace(
            estimate,
            warnings=(
                *estimate.warnings,
                f"the data contradict {prior.about} (chi^2 {distance:.3g}, limit "
                f"{CONTRADICTION:.3g}; most of all {worst}): the prior was dropped; check "
                "whether the robot is loaded, worn or of another type",
            ),
        )
    values, covariance = _together(data, own, mean, spread)
    fused = estimate.with_values(values, covariance)
    if estimate.advice is Advice.WAIT:
        return fused
    # Judged data are consistent already; enforcing that again would divide by almost 0.
    judged = with_states(fused, half_track)
    resting = [
        name.upper()
        for name, variance, before in zip(NAMES, judged.variances, np.diag(spread), strict=True)
        if RESTS * before < variance < math.inf
    ]
    rest = f"; {', '.join(resting)} rest on it more than on the data" if resting else ""
    remark = f"the intervals of K5 to K8 hold with {prior.about}{rest}"
    return replace(judged, warnings=(*estimate.warnings, remark))


def _worst(difference: Array, total: Array) -> str:
    scores = difference / np.sqrt(np.diag(total))
    worst = int(np.argmax(np.abs(scores)))
    return f"{NAMES[worst].upper()}, {scores[worst]:+.1f} standard deviations"


def _together(data: Array, own: Array, mean: Array, spread: Array) -> tuple[Array, Array]:
    """Fuse two normal estimates of the same values; the covariance `own` may be singular."""
    scale = np.sqrt(np.diag(spread))
    shape = np.outer(scale, scale)
    p, c = own / shape, spread / shape
    fraction = np.linalg.solve(p + c, p).T
    values = data / scale + fraction @ ((mean - data) / scale)
    covariance = fraction @ c
    return values * scale, 0.5 * (covariance + covariance.T) * shape


class PriorEstimator:
    """An estimator with a prior from robots of the same type; `half_track` is b, m, > 0."""

    def __init__(self, estimator: Estimator, prior: FleetPrior, half_track: float) -> None:
        self._estimator = estimator
        self._prior = prior
        self._half_track = half_track

    @property
    def velocity(self) -> tuple[float, float] | None:
        return self._estimator.velocity

    def update(self, sample: JointSample) -> bool:
        return self._estimator.update(sample)

    def interrupt(self) -> None:
        self._estimator.interrupt()

    def suspicion(self) -> str | None:
        return self._estimator.suspicion()

    def estimate(self) -> Estimate:
        return with_prior(self._estimator.estimate(), self._prior, self._half_track)
