# SPDX-License-Identifier: Apache-2.0
"""What robots of a type are like, as a prior for one of them: its file, and an estimator with it.

`diffbot fleet` writes prior_TYPE.yaml: mean m and covariance C of K5..K8 between robots, as wide as
a robot that nobody has seen yet may be. Data of one robot say x with the covariance P, without the
prior. Where they agree,

    d^2 = (x - m)' (P + C)^-1 (x - m) <= chi^2 of 4 degrees of freedom at 99 %,

both are put together as normal numbers,

    mean C (P + C)^-1 x + P (P + C)^-1 m,    covariance P (P + C)^-1 C,

which is what a filter would find that had begun with m and C. Where they do not, the robot is none
of those that the prior is of: the prior is dropped, which the estimate's warnings say, and the
estimate is that of the data alone. The estimator itself knows nothing of the prior, so that what
contradicts it can be seen.

Intervals hold for robots of the fleet's kind. A robot that is unlike them is told from them only
once its data are precise enough; before, its intervals are those of a robot of the type.
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
from diffbot_description.files import LARGEST, parse_yaml, read_regular, write_atomically
from diffbot_ident.torque.estimate import (
    NAMES,
    UNITS,
    Array,
    Estimate,
    EstimateState,
    Estimator,
    Four,
)
from diffbot_ident.torque.judgement import with_states

VERSION = 1  # of the file
FEWEST = 5  # robots that a prior may rest on
NONE = "none"  # no file
# Chi^2 of 4 degrees of freedom that a robot of the fleet exceeds once in 100 times.
CONTRADICTION = 13.2767
# Share of the prior's variance that a value has to keep to rest on the prior rather than on data.
RESTS = 0.5
# Relative difference of radius and track that is a rounding error.
SAME = 1e-6
# Relative standard deviations that are no spread of robots.
SMALLEST, LARGEST_SPREAD = 1e-6, 10.0
ADVICE = "write it anew: diffbot fleet RECORDINGS --robot NAME --output DIR"
HEADER = """\
# What robots of a type are like: mean and covariance (row by row) of K5..K8 between robots.
# For launch ident prior:=FILE and launch adaptive prior:=FILE.
"""


@dataclass(frozen=True)
class FleetPrior:
    """Robots of one type.

    Attributes:
        robot: name of their description.
        values: mean of [K5 in m, K6 in 1/m, K7 in 1/(kg m), K8 in 1/(kg m^2)].
        covariance: of a robot that nobody has seen yet around it, 4 rows of 4.
        robots: that it rests on.
        wheel_radius: with which K5..K8 were identified, m.
        track: likewise, m.
        date: when it was made, ISO 8601.

    Raises:
        ValueError: a value cannot be; the message names field, value and limit.
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
        """Standard deviations of K5..K8 between robots."""
        s5, s6, s7, s8 = (math.sqrt(row[i]) for i, row in enumerate(self.covariance))
        return s5, s6, s7, s8

    @property
    def about(self) -> str:
        """Whose it is, in words."""
        return f"the prior of {self.robots} robots '{self.robot}' ({self.date[:10]})"


def write_prior(path: Path, prior: FleetPrior) -> None:
    """Write a prior at one stroke. Raises OSError where it cannot be written."""
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
    """The prior in a file of write_prior.

    Args:
        path: of the file; `~` is expanded.
        robot: that it is for.

    Raises:
        ValueError: there is no such file, or it holds nothing that may be trusted for this robot;
            the message names the file, the field, its value and what to change.
    """
    try:
        document = parse_yaml(read_regular(Path(path).expanduser(), LARGEST))
        section = document.get("fleet_prior") if isinstance(document, dict) else None
        if not isinstance(section, dict):
            raise ValueError("no fleet_prior in it; is it another kind of file?")
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
        (found,) = _numbers(section, name, 1)
        if not abs(found - size) <= SAME * size:
            raise ValueError(
                f"{name} = {found:g} m: must be {size:g} m, that of robot '{robot.name}': K5 to K8 "
                "hang on it"
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


def with_prior(found: Estimate, prior: FleetPrior, half_track: float) -> Estimate:
    """An estimate of the data alone as it is with the prior, or as it was, with a warning.

    Args:
        found: judged. INVALID ones stay as they are. While nothing may be judged for lack of
            samples, the values are the prior's with what is there, and UNESTIMATED.
        prior: of the robot's type.
        half_track: b, m.
    """
    if found.state is EstimateState.INVALID:
        return found
    mean, spread = np.array(prior.values), np.array(prior.covariance)
    data, own = np.array(found.values), np.array(found.covariance)
    if not (np.isfinite(data).all() and np.isfinite(own).all()):
        return found.with_values(mean, spread)
    total = own + spread
    distance = float((data - mean) @ np.linalg.solve(total, data - mean))
    if not distance <= CONTRADICTION:
        worst = _worst(data - mean, total)
        return replace(
            found,
            warnings=(
                *found.warnings,
                f"the data contradict {prior.about} (chi^2 {distance:.3g}, limit "
                f"{CONTRADICTION:.3g}; most of all {worst}): it was dropped; is the robot loaded, "
                "worn or of another type?",
            ),
        )
    values, covariance = _together(data, own, mean, spread)
    fused = found.with_values(values, covariance)
    # As a whole there is one reason for all: too few samples, however good the prior is.
    if found.state is EstimateState.UNESTIMATED and set(found.parameter_reasons) == {found.reason}:
        return fused
    # Data that were judged are consistent; to ask it of them twice would divide by next to nothing.
    judged = with_states(fused, half_track)
    resting = [
        name.upper()
        for name, variance, before in zip(NAMES, judged.variances, np.diag(spread), strict=True)
        if RESTS * before < variance < math.inf
    ]
    rest = f"; {', '.join(resting)} rest on it more than on the data" if resting else ""
    remark = f"the intervals of K5 to K8 hold with {prior.about}{rest}"
    return replace(judged, warnings=(*found.warnings, remark))


def _worst(difference: Array, total: Array) -> str:
    scores = difference / np.sqrt(np.diag(total))
    worst = int(np.argmax(np.abs(scores)))
    return f"{NAMES[worst].upper()}, {scores[worst]:+.1f} standard deviations"


def _together(data: Array, own: Array, mean: Array, spread: Array) -> tuple[Array, Array]:
    """Two normal numbers of the same values as one; the covariance `own` may be singular."""
    scale = np.sqrt(np.diag(spread))
    shape = np.outer(scale, scale)
    p, c = own / shape, spread / shape
    # Rows of P (P + C)^-1: the prior's share.
    share = np.linalg.solve(p + c, p).T
    values = data / scale + share @ ((mean - data) / scale)
    covariance = share @ c
    return values * scale, 0.5 * (covariance + covariance.T) * shape


class PriorEstimator:
    """An estimator that begins with what robots of its type are like; see the module.

    Args:
        estimator: of the data alone, with honest covariances: integral or kalman.
        prior: of the robot's type.
        half_track: b, m, > 0.
    """

    def __init__(self, estimator: Estimator, prior: FleetPrior, half_track: float) -> None:
        self._estimator = estimator
        self._prior = prior
        self._half_track = half_track

    @property
    def velocity(self) -> tuple[float, float] | None:
        """Newest body velocity; see Estimator.velocity."""
        return self._estimator.velocity

    def reset(self) -> None:
        """Forget everything but the prior."""
        self._estimator.reset()

    def update(self, sample: JointSample) -> bool:
        """Take in one joint sample; see Estimator.update."""
        return self._estimator.update(sample)

    def interrupt(self) -> None:
        """See Estimator.interrupt."""
        self._estimator.interrupt()

    def suspicion(self) -> str | None:
        """See Estimator.suspicion."""
        return self._estimator.suspicion()

    def estimate(self) -> Estimate:
        """The estimate as it stands."""
        return with_prior(self._estimator.estimate(), self._prior, self._half_track)
