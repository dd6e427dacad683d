"""Reading of identified sigma1..sigma4, and what they have to be before a law may use them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from diffbot_controllers.parameter_file import read_section
from diffbot_description import Sigma

ADVICE = "identify the robot anew: diffbot identify RECORDING"
NAMES = ("sigma1", "sigma2", "sigma3", "sigma4")
UNITS = (" s", " s", "", "")


@dataclass(frozen=True)
class IdentifiedSigma:
    """What is known of a robot that takes velocity commands.

    Attributes:
        sigma: of (3).
        variances: of sigma1..sigma4, in the squares of their units; 0 where they are exact, NaN
            where unknown.
        dead_time: from a command to its effect on v and on omega, s.
    """

    sigma: Sigma
    variances: tuple[float, ...] = (math.nan,) * 4
    dead_time: tuple[float, ...] = (0.0, 0.0)


def read_sigma(path: str) -> IdentifiedSigma:
    """Sigma from a ROS parameter file, as `identify` writes it: velocity_parameters.yaml.

    The file holds, below `NODE: ros__parameters:`, `sigma` ([sigma1 in s, sigma2 in s, sigma3,
    sigma4]) and, where it was identified, `covariance_diagonal` (4 variances), `dead_time`
    ([v, omega], s) and `exponent` (of the command, [v, omega]: 1, 1).

    Args:
        path: of the file; `~` is expanded.

    Raises:
        ValueError: there is no such file, or it does not hold parameters that may be used; the
            message names the file, the field, its value, its limit and what to change.
    """
    section = read_section(path, ("sigma",), ADVICE)
    try:
        values = _numbers(section, "sigma", 4)
        known = IdentifiedSigma(sigma_from(values))
        if "exponent" in section:
            _check_linear(_numbers(section, "exponent", 2))
        if "covariance_diagonal" in section:
            known = replace(known, variances=_numbers(section, "covariance_diagonal", 4))
            _check_identified(known.variances)
        if "dead_time" in section:
            known = replace(known, dead_time=_numbers(section, "dead_time", 2))
            _check_dead_time(known.dead_time)
        return known
    except ValueError as error:
        raise ValueError(f"parameters '{path}': {error}; {ADVICE}") from None


def sigma_from(values: tuple[float, ...]) -> Sigma:
    """Sigma for a law that divides by none of them but needs all to be of a robot.

    Args:
        values: [sigma1 in s, sigma2 in s, sigma3, sigma4], all > 0.

    Raises:
        ValueError: not four finite numbers > 0; the message names the first that is not.
    """
    if len(values) != len(NAMES):
        raise ValueError(
            f"sigma = {list(values)}: must be 4 numbers, sigma1 in s, sigma2 in s, sigma3, sigma4"
        )
    for name, value, unit in zip(NAMES, values, UNITS, strict=True):
        if not (math.isfinite(value) and value > 0.0):
            raise ValueError(f"{name} = {value}{unit}: must be finite and > 0")
    return Sigma(*values)


def _numbers(section: dict[str, Any], name: str, count: int) -> tuple[float, ...]:
    values = section.get(name)
    if not (
        isinstance(values, list)
        and all(type(value) in (int, float) for value in values)
        and len(values) == count
    ):
        raise ValueError(f"{name} = {values!r}: must be a list of {count} numbers")
    return tuple(map(float, values))


def _check_identified(variances: tuple[float, ...]) -> None:
    for name, variance in zip(NAMES, variances, strict=True):
        if math.isnan(variance):
            continue  # unknown: who writes a file by hand vouches for it
        if not 0.0 <= variance < math.inf:
            raise ValueError(
                f"variance of {name} = {variance}: must be >= 0 and finite, else {name} is not "
                "identified"
            )


def _check_linear(exponents: tuple[float, ...]) -> None:
    for axis, value in zip(("v", "omega"), exponents, strict=True):
        if value != 1.0:
            raise ValueError(
                f"exponent of {axis} = {value}: must be 1, as the law knows (3) only, in which "
                "commands act as they are"
            )


def _check_dead_time(dead_time: tuple[float, ...]) -> None:
    for axis, value in zip(("v", "omega"), dead_time, strict=True):
        if not 0.0 <= value <= 1.0:
            raise ValueError(f"dead_time of {axis} = {value} s: must be from 0 to 1")
