# SPDX-License-Identifier: Apache-2.0
"""Output files of an identification: parameters, patched robot, xacro.

In the ROS parameter file unknown numbers are NaN, and empty lists are omitted.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from diffbot_description import Robot, write_atomically, write_identified_robot
from diffbot_description.files import DYNAMIC_FILE
from diffbot_description.identified_robot import chosen_k5, with_track
from diffbot_ident.estimate import (
    FRICTION_NAMES,
    FRICTION_UNITS,
    GEAR_NAMES,
    NAMES,
    NORMAL_95,
    UNITS,
    Estimate,
    EstimateState,
    FrictionEstimate,
    Pair,
    TurningEstimate,
)
from diffbot_ident.interpretation.geometry_errors import effective_track
from diffbot_ident.interpretation.physical import (
    PhysicalQuantity,
    friction_quantities,
    gear_quantities,
    physical_quantities,
    smallest_torque,
    turning_quantities,
)
from diffbot_ident.verification import Verification, VerificationState

HEADER = """\
# Dynamic parameters of a differential-drive robot, for dv/dt = k5 w^2 + k7 (Tl + Tr),
# dw/dt = k6 v w + k8 (Tl - Tr), T = tau - viscous * wheel speed - coulomb * sign(wheel speed),
# and with a gear_loss less gear_loss * |tau| * sign(wheel speed): {units}.
# covariance_diagonal holds their variances in units squared, .inf where a parameter is not
# identifiable (parameter_reasons says why); covariance is what the data say, row by row.
# torque_delay is in control periods, control_period in s.
# Load it with --params-file.
"""


def parameter_document(
    estimate: Estimate,
    robot: str,
    date: str,
    version: str,
    seconds: float,
    physical: Mapping[str, PhysicalQuantity] | None = None,
    verification: Verification | None = None,
) -> dict[str, Any]:
    """Return the document of the parameter file, as nested dictionaries.

    Args:
        date: Date of the identification, ISO 8601.
        seconds: Robot time of the data behind the estimate, s.
        physical: Derived quantities, see physical.physical_quantities.
    """
    section: dict[str, Any] = {
        **dict(zip(NAMES, map(float, estimate.values), strict=True)),
        "covariance_diagonal": _floats(estimate.variances),
        "covariance": [float(entry) for row in estimate.covariance for entry in row],
        "state": estimate.state.name.lower(),
        "reason": estimate.explanation,
        "parameter_states": [state.name.lower() for state in estimate.parameter_states],
        "parameter_reasons": list(estimate.parameter_reasons),
        "warnings": list(estimate.warnings),
        "samples": estimate.samples,
        "residual_std": _floats(estimate.residual_std),
        "residual_correlation": _floats(estimate.residual_correlation),
        "coverage": _floats(estimate.coverage),
        "torque_delay": float(estimate.delay),
        "control_period": float(estimate.period),
    }
    if estimate.gyro is not None:
        section["gyro"] = {key: float(value) for key, value in asdict(estimate.gyro).items()}
    if estimate.friction is not None:
        section["friction"] = _friction(estimate.friction)
        section["smallest_torque"] = _physical(smallest_torque(estimate.friction))
    turning = turning_quantities(estimate.turning)
    if turning:
        section["turning"] = {key: _physical(quantity) for key, quantity in turning.items()}
    if physical:
        section["physical"] = {key: _physical(quantity) for key, quantity in physical.items()}
    section["verification"] = verification_section(verification)
    section |= {"robot": robot, "date": date, "version": version, "seconds": float(seconds)}
    return {"/**": {"ros__parameters": _without_empty(section)}}


def save_parameters(path: Path, document: dict[str, Any]) -> None:
    """Write the document atomically."""
    units = ", ".join(f"{name} in {unit}" for name, unit in zip(NAMES, UNITS, strict=True))
    text = HEADER.format(units=units)
    text += yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
    write_atomically(path, text)


def _floats(values: Iterable[float]) -> list[float]:
    return [float(value) for value in values]


def _friction(friction: FrictionEstimate) -> dict[str, Any]:
    entries = [
        *zip(FRICTION_NAMES, FRICTION_UNITS, friction.values, friction.variances, strict=True)
    ]
    if gear_quantities(friction):
        units = ("", "")
        entries += zip(GEAR_NAMES, units, friction.gear_loss, friction.gear_variances, strict=True)
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


def verification_section(verification: Verification | None) -> dict[str, Any]:
    """Return a verification as a dictionary of texts, numbers and lists of numbers."""
    if verification is None:
        return {"state": VerificationState.NOT_VERIFIED.name.lower()}
    section: dict[str, Any] = {
        "state": verification.state.name.lower(),
        "decided": verification.decided,
        "passed": verification.passed,
        "reason": verification.reason,
    }
    for key, value in asdict(verification).items():
        if key not in section:
            section[key] = _floats(value) if isinstance(value, tuple) else float(value)
    return section


def floor_section(slope: tuple[float, float] | None) -> dict[str, dict[str, float]]:
    """Return Estimate.slope as the section `floor`, rad; empty where it is level."""
    return {} if slope is None else {"floor": dict(zip(("slope", "downhill"), slope, strict=True))}


def _without_empty(section: Mapping[str, Any]) -> dict[str, Any]:
    """Remove empty lists, whose type ROS cannot determine."""
    return {key: value for key, value in section.items() if value != []}


LABELS = {
    "equivalent_mass": "equivalent mass",
    "equivalent_inertia": "equivalent yaw inertia",
    "first_moment": "first moment of mass",
    "com_offset": "centre of mass ahead of the axle",
    "body_mass": "mass of the body",
    "body_inertia": "yaw inertia of the body about its centre of mass",
    "viscous_left": "viscous friction, left wheel",
    "viscous_right": "viscous friction, right wheel",
    "coulomb_left": "Coulomb friction, left wheel",
    "coulomb_right": "Coulomb friction, right wheel",
    "gear_loss_left": "share of the torque that the gear loses, left wheel",
    "gear_loss_right": "share of the torque that the gear loses, right wheel",
    "turning_viscous": "resistance against turning per yaw rate",
    "turning_coulomb": "resistance against turning, always there",
    "smallest_torque": "torque of each wheel from which on the robot moves",
}
# Share of the excitation's amplitude up to which negative friction is treated as 0.
NEGLIGIBLE = 0.05


@dataclass(frozen=True)
class Export:
    """Paths of written files, the parameter file first; why there is no patched robot, or None."""

    paths: tuple[Path, ...]
    refusal: str | None = None


def export_results(
    directory: str | os.PathLike[str],
    robot: Robot,
    estimate: Estimate,
    *,
    date: str,
    version: str,
    seconds: float,
    verification: Verification | None = None,
) -> Export:
    """Write dynamic_parameters.yaml, `<robot>_identified.yaml` and identified_inertial.xacro.

    The latter two only if the estimate may be used and is physically possible; with a gyro they
    have the effective track. See parameter_document for the arguments.

    Raises:
        OSError: The directory cannot be written.
    """
    if estimate.gyro is not None:
        robot = with_track(robot, effective_track(estimate.gyro, robot.geometry))
    physical = estimate_physical(estimate, robot)
    document = parameter_document(
        estimate, robot.name, date, version, seconds, physical, verification
    )
    path = Path(directory) / DYNAMIC_FILE
    save_parameters(path, document)
    missing = f"{robot.name}_identified.yaml is not written:"
    if estimate.state is not EstimateState.ESTIMATED:
        return Export((path,), f"{missing} the parameters are {estimate.state.name.lower()}")
    k5_known = math.isfinite(estimate.variances[0])
    _, _, k7, k8 = estimate.values
    half = NORMAL_95 * math.sqrt(max(float(estimate.covariance[0][0]), 0.0))
    k5 = chosen_k5(robot, estimate.values[0], half, k5_known, k7)
    notes = [f"Identified {date}, {seconds:.1f} s of robot time.", *_notes(estimate, physical)]
    if not k5_known:
        notes.append(
            "The centre of mass was not identifiable: "
            + ("its described value is kept." if k5 else "it is assumed to be on the axle.")
        )
    friction = usable_friction(estimate.friction, robot)
    try:
        gears = usable_gear_loss(estimate.friction)
        floor = usable_turning(estimate.turning)
        files = write_identified_robot(robot, directory, k5, k7, k8, friction, notes, gears, floor)
    except ValueError as error:
        return Export((path,), f"{missing} {error}")
    return Export((path, *files))


def estimate_physical(estimate: Estimate, robot: Robot) -> dict[str, PhysicalQuantity]:
    """Return masses and inertias that follow from an estimate and the description's wheels."""
    known = [math.isfinite(variance) for variance in estimate.variances]
    return physical_quantities(estimate.values, estimate.covariance, known, robot.model)


def usable_friction(friction: FrictionEstimate | None, robot: Robot) -> tuple[float | None, ...]:
    """Return friction for a description, in FrictionEstimate's order; None if not identifiable.

    Negative friction becomes 0 if its interval contains 0, or if it is NEGLIGIBLE; the
    description's check refuses others.
    """
    if friction is None:
        return (None,) * 4
    small = NEGLIGIBLE * robot.excitation.amplitude
    speed = robot.excitation.linear_velocity / robot.wheels.radius
    least = (small / speed, small / speed, small, small)
    result = friction_quantities(friction)
    return tuple(
        _usable(result[name], limit) for name, limit in zip(FRICTION_NAMES, least, strict=True)
    )


def _usable(quantity: PhysicalQuantity, negligible: float) -> float | None:
    if not math.isfinite(quantity.std):
        return None
    if quantity.interval[1] >= 0.0 or quantity.value >= -negligible:
        return max(quantity.value, 0.0)
    return quantity.value


def usable_gear_loss(friction: FrictionEstimate | None) -> Pair | None:
    """Return the gear losses for a description, >= 0; None if the friction was not identified."""
    if friction is None:
        return None
    left, right = (max(loss, 0.0) for loss in friction.gear_loss)
    return left, right


def usable_turning(turning: TurningEstimate | None) -> tuple[float | None, ...]:
    """Return the floor's resistance for a description, >= 0; None if it cannot be used."""
    if turning is None:
        return None, None
    return tuple(
        max(quantity.value, 0.0)
        if math.isfinite(quantity.std) and quantity.interval[1] >= 0.0
        else None
        for quantity in turning_quantities(turning).values()
    )


def _notes(estimate: Estimate, physical: Mapping[str, PhysicalQuantity]) -> Sequence[str]:
    lines = ["95 % intervals:"]
    for name, unit, value, variance in zip(
        NAMES, UNITS, estimate.values, estimate.variances, strict=True
    ):
        half = NORMAL_95 * math.sqrt(max(variance, 0.0))
        lines.append(_line(name.upper(), unit, value, (value - half, value + half)))
    result = dict(physical)
    if (friction := estimate.friction) is not None:
        result |= friction_quantities(friction) | {"smallest_torque": smallest_torque(friction)}
    result |= turning_quantities(estimate.turning)
    lines += [
        _line(LABELS[key], quantity.unit, quantity.value, quantity.interval)
        for key, quantity in result.items()
    ]
    return lines


def _line(name: str, unit: str, value: float, interval: tuple[float, float]) -> str:
    if math.isnan(value) or all(map(math.isinf, interval)):
        return f"  {name}: not identifiable"
    return f"  {name}: {value:.5g} [{interval[0]:.5g}, {interval[1]:.5g}] {unit}"
