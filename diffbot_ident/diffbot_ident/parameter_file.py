"""The file of identified parameters, in the form of a ROS parameter file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from diffbot_description import write_atomically
from diffbot_ident.estimate import FRICTION_NAMES, FRICTION_UNITS, NAMES, UNITS, Estimate, Friction
from diffbot_ident.physical_quantity import PhysicalQuantity

HEADER = """\
# Dynamic parameters of a differential-drive robot, for dv/dt = k5 w^2 + k7 (Tl + Tr),
# dw/dt = k6 v w + k8 (Tl - Tr), T = tau - viscous * wheel speed - coulomb * sign(wheel speed):
# {units}.
# covariance_diagonal holds their variances in units squared, .inf where a parameter is not
# identifiable (parameter_reasons says why); covariance is what the data say, row by row.
# Load it with --params-file.
"""


def parameter_document(
    estimate: Estimate,
    robot: str,
    date: str,
    version: str,
    seconds: float,
    physical: Mapping[str, PhysicalQuantity] | None = None,
    verification: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The document that is written, as nested dictionaries.

    ROS parameters are numbers, texts and flat lists of one kind, so that what is unknown is NaN and
    what is empty is left out.

    Args:
        estimate: what was identified.
        robot: name of the robot.
        date: when, ISO 8601.
        version: version of this software.
        seconds: robot time that the estimate rests on, s.
        physical: quantities that follow, see physical.physical_quantities.
        verification: what a held-out motion said: `state` ("verified", "refuted" or
            "not_verified") and the fields of diffbot_msgs/Verification that are numbers or text.
    """
    section: dict[str, Any] = {
        **dict(zip(NAMES, map(float, estimate.values), strict=True)),
        "covariance_diagonal": _floats(estimate.variances),
        "covariance": [float(entry) for row in estimate.covariance for entry in row],
        "state": estimate.state.name.lower(),
        "reason": estimate.reason,
        "parameter_states": [state.name.lower() for state in estimate.parameter_states],
        "parameter_reasons": list(estimate.parameter_reasons),
        "warnings": list(estimate.warnings),
        "samples": estimate.samples,
        "residual_std": _floats(estimate.residual_std),
        "residual_correlation": _floats(estimate.residual_correlation),
        "coverage": _floats(estimate.coverage),
        "torque_delay": float(estimate.delay),
    }
    if estimate.friction is not None:
        section["friction"] = _friction(estimate.friction)
    if physical:
        section["physical"] = {key: _physical(quantity) for key, quantity in physical.items()}
    section["verification"] = _plain(verification or {"state": "not_verified"})
    section |= {"robot": robot, "date": date, "version": version, "seconds": float(seconds)}
    return {"/**": {"ros__parameters": _without_empty(section)}}


def save_parameters(path: Path, document: dict[str, Any]) -> None:
    """Write the document so that `path` is either the old file or the whole new one."""
    units = ", ".join(f"{name} in {unit}" for name, unit in zip(NAMES, UNITS, strict=True))
    text = HEADER.format(units=units)
    text += yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
    write_atomically(path, text)


def _floats(values: Any) -> list[float]:
    return [float(value) for value in values]


def _friction(friction: Friction) -> dict[str, Any]:
    entries = zip(FRICTION_NAMES, FRICTION_UNITS, friction.values, friction.variances, strict=True)
    return {
        name: {"value": float(value), "variance": float(variance), "unit": unit}
        for name, unit, value, variance in entries
    }


def _physical(quantity: PhysicalQuantity) -> dict[str, Any]:
    return {
        "value": float(quantity.value),
        "std": float(quantity.std),
        "interval95": _floats(quantity.interval),
        "unit": quantity.unit,
        "method": quantity.method,
    }


def _plain(section: Mapping[str, Any]) -> dict[str, Any]:
    """The section with Python's own numbers, and lists for all kinds of sequences."""
    plain: dict[str, Any] = {}
    for key, value in section.items():
        if isinstance(value, (str, bool)):
            plain[key] = value
        elif hasattr(value, "__len__"):
            plain[key] = _floats(value)
        else:
            plain[key] = float(value) if value is not None else math.nan
    return plain


def _without_empty(section: Mapping[str, Any]) -> dict[str, Any]:
    """ROS cannot tell of what kind an empty list is, and refuses the file."""
    return {key: value for key, value in section.items() if value != []}
