# SPDX-License-Identifier: Apache-2.0
"""Whether the efforts of a robot are torques in N m, judged by what they say about the robot.

By its mass, torque limit or time constant; docs/theory/estimates.md#units-of-efforts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum

from arc_odometry import WheelGeometry
from diffbot_description import Robot, closed_form
from diffbot_description.spoken import spoken
from diffbot_ident.estimate import NORMAL_95, Estimate, EstimateState

# Factor between the masses by efforts and description with which efforts are in doubt; a warning.
HEAVIER, NOTABLE = 5.0, 1.5
# Factor on the torque limit that the usual size of efforts (EffortSize) may reach.
BEYOND = 1.2
# Shortest time constant without drive, s, and where the mass differs, too: shorter ones are those
# of motors under a voltage; and how much shorter than the described one it must be.
SHORTEST, SHORT_IF_MASS_DIFFERS, SHORTER = 0.1, 0.5, 5.0
# Mass over the cube of the track, kg/m^3, of usual robots: from a hundredth of foam to three times
# solid steel; and masses, kg, of others that are not doubted either.
DENSITIES, MASSES = (1.0, 25e3), (0.5, 500.0)
# Torques of fixed units, N m, and how well the mass must agree with one.
FIXED = (("N cm", 0.01), ("N mm", 0.001), ("kgf cm", 0.0980665))
AGREES = 1.35
# Fields of a description without which K5, K6, K7 and K8 cannot be compared with it.
ASSUMPTIONS = ("body.center_of_mass.x",) * 2 + ("body.mass", "body.inertia.yaw")
# Largest efforts of a share of full torque, of per cent, and of a PWM register.
FRACTION, PERCENT, PWM = 1.0, 100.0, (255.0, 1023.0, 4095.0)
# Plausible torques of an ampere at the wheel, gears included, N m.
PER_AMPERE = (0.002, 20.0)


class Sign(Enum):
    """What shows that the efforts are not in N m."""

    MASS = "mass"
    LIMIT = "limit"
    TIME_CONSTANT = "time constant"


@dataclass(frozen=True)
class EffortUnit:
    """Unit in which efforts were read.

    Attributes:
        name: Unit for people, such as "N m" or "A".
        constant: Torque of one of them, N m, mean of both wheels.
        confirmed: Whether the user has said that it is right: nothing is asked then.
    """

    name: str = "N m"
    constant: float = 1.0
    confirmed: bool = False


@dataclass(frozen=True)
class EffortQuestion:
    """Efforts that seem to be in another unit.

    Attributes:
        result: What was found, with the value and the limit, as a sentence for people.
        torque_of_one: Torque of one unit of effort by the description, N m; None: not known.
        suggestion: Units that would make sense.
        settles: What settles the question, for the robot's file and for `identify`.
    """

    sign: Sign
    result: str
    torque_of_one: float | None
    suggestion: str
    settles: str

    def __str__(self) -> str:
        return f"{self.result}: are the efforts {self.suggestion}? {self.settles}"


@dataclass(frozen=True)
class EffortCheck:
    """Compares estimates with a robot description; without one only the wheels are known."""

    geometry: WheelGeometry
    robot: Robot | None
    unit: EffortUnit = EffortUnit()

    def judged(self, estimate: Estimate, size: float) -> tuple[Estimate, EffortQuestion | None]:
        """Return an estimate, INVALID if its efforts (size, N m as read) are in doubt, and why."""
        if estimate.state is EstimateState.INVALID:
            return estimate, None
        question = effort_question(estimate, self.geometry, self.robot, size, self.unit)
        if question is None:
            remark = _remark(estimate, self.geometry, self.robot, size, self.unit)
        elif self.unit.confirmed:
            remark = question.result
        else:
            return estimate.as_a_whole(EstimateState.INVALID, str(question)), question
        return replace(estimate, warnings=(*estimate.warnings, *([remark] if remark else ()))), None


def effort_question(
    estimate: Estimate,
    geometry: WheelGeometry,
    robot: Robot | None,
    size: float,
    unit: EffortUnit = EffortUnit(),
) -> EffortQuestion | None:
    """Return the question that an estimate raises about its efforts, `size` as read; None: none."""
    heavier = _heavier(estimate, robot)
    if robot is not None and heavier is not None:
        if not 1.0 / HEAVIER < heavier < HEAVIER:
            return _by_mass(heavier, estimate, robot, size, unit)
    elif (unusual := _unusual(estimate, geometry)) and not (
        MASSES[0] < _mass(estimate, geometry) < MASSES[1]
    ):
        suggestion = "torques of the wheels in N m"
        return EffortQuestion(Sign.MASS, unusual, None, suggestion, _settled(None, unit))
    agrees = heavier is not None and 1.0 / NOTABLE < heavier < NOTABLE
    differs = heavier is not None and not agrees
    limit = SHORT_IF_MASS_DIFFERS if differs else SHORTEST
    if (short := _short_time_constant(estimate, geometry, robot, limit)) is not None:
        return EffortQuestion(
            Sign.TIME_CONSTANT,
            "by these efforts, friction stops the robot with a time constant of "
            f"{spoken(short, 2)} s, less than {limit:g} s; a motor's back-EMF does that, and "
            "bearings do not",
            None,
            "voltages or duty cycles (PWM), which are no torques",
            "Record currents or torques instead, or identify it with SysId or as a motor. If they "
            "are torques, give the friction in the robot's file (identify: or confirm "
            "--effort-unit newton_metre)",
        )
    if robot is not None and not agrees and _is_beyond(size, robot):
        return _beyond_limit(heavier, robot, size, unit)
    return None


def compared(estimate: Estimate, robot: Robot) -> str | None:
    """Return a line that compares an estimate with what a description knows; None: unknown."""
    if not _has_masses(estimate, robot):
        return None
    own, described = estimate.values, closed_form(robot.model)
    mass = _change(described.k7 / own[2])
    text = f"compared with the robot's description: equivalent mass {mass}"
    known = [
        state is EstimateState.ESTIMATED and assumed not in robot.assumed
        for state, assumed in zip(estimate.parameter_states, ASSUMPTIONS, strict=True)
    ]
    if known[3] and own[3] < 0.0:
        text += f", equivalent yaw inertia {_change(described.k8 / own[3])}"
    if known[0]:
        text += f", K5 {1e3 * (own[0] - described.k5):+.1f} mm"
    return text


def mass_alone(estimate: Estimate, geometry: WheelGeometry) -> str | None:
    """Return a line with the mass, which tells people a wrong unit; None: it is not known.

    Without a description nothing else tells a factor on all efforts.
    """
    if not _is_precise(estimate):
        return None
    return (
        f"equivalent mass {spoken(_mass(estimate, geometry))} kg, if the efforts are torques of "
        "the wheels in N m; --robot compares it with a description"
    )


def _change(ratio: float) -> str:
    percent = round(100.0 * (ratio - 1.0), 1) + 0.0  # no minus before 0
    return f"{percent:+.1f} %" if ratio < 2.0 else f"{spoken(ratio)} times"


def _is_precise(estimate: Estimate) -> bool:
    return estimate.values[2] > 0.0 and estimate.parameter_states[2] is EstimateState.ESTIMATED


def _has_masses(estimate: Estimate, robot: Robot) -> bool:
    """Whether both the efforts and the description tell the mass."""
    return _is_precise(estimate) and ASSUMPTIONS[2] not in robot.assumed


def _is_beyond(size: float, robot: Robot) -> bool:
    """Whether efforts break a torque limit that the robot's file gives."""
    return "limits.torque" not in robot.assumed and size > BEYOND * robot.limits.torque


def _heavier(estimate: Estimate, robot: Robot | None) -> float | None:
    """Return the mass by efforts over the described one, nearest to 1 within its interval."""
    if robot is None or not _has_masses(estimate, robot):
        return None
    ratio = closed_form(robot.model).k7 / estimate.values[2]
    doubt = NORMAL_95 * math.sqrt(estimate.variances[2]) / estimate.values[2]
    if ratio >= 1.0:
        return max(1.0, ratio / (1.0 + doubt))
    return min(1.0, ratio / max(1.0 - doubt, 1e-3))


def _masses(estimate: Estimate, robot: Robot) -> str:
    radius = robot.model.wheel_radius
    return (
        f"by its efforts in {{unit}} the robot has an equivalent mass of "
        f"{spoken(1.0 / (radius * estimate.values[2]))} kg, by its description "
        f"{spoken(robot.model.equivalent_mass)} kg"
    )


def _by_mass(
    heavier: float, estimate: Estimate, robot: Robot, size: float, unit: EffortUnit
) -> EffortQuestion:
    ratio = closed_form(robot.model).k7 / estimate.values[2]
    many = ratio if ratio > 1.0 else 1.0 / ratio
    side = "more" if ratio > 1.0 else "less"
    result = (
        f"{_masses(estimate, robot).format(unit=unit.name)}, {spoken(many)} times {side}; the "
        f"limit is "
        f"{HEAVIER:g} times"
    )
    one = unit.constant / ratio
    suggestion = suggested(one, size / unit.constant)
    return EffortQuestion(Sign.MASS, result, one, suggestion, _settled(one, unit, suggestion))


def _beyond_limit(
    heavier: float | None, robot: Robot, size: float, unit: EffortUnit
) -> EffortQuestion:
    limit = robot.limits.torque
    result = (
        f"efforts reach {spoken(size)} N m, and limits.torque of {robot.name} is {spoken(limit)} "
        f"N m; by "
        "the motion, "
    )
    result += (
        "the robot's mass is not known"
        if heavier is None
        else f"it is {spoken(heavier)} times as heavy as described"
    )
    one = None if heavier is None else unit.constant / heavier
    suggestion = "in another unit than " + unit.name
    if one is not None:
        suggestion = suggested(one, size / unit.constant)
    settles = f"{_settled(one, unit, suggestion)}, and its limits.torque"
    return EffortQuestion(Sign.LIMIT, result, one, suggestion, settles)


def suggested(one: float, size: float) -> str:
    """Return units that would make sense, for people; `one` of them is N m, `size` is in them."""
    results = [name for name, torque in FIXED if 1.0 / AGREES < one / torque < AGREES]
    least, most = PER_AMPERE
    if size <= FRACTION * 1.01:
        results.append(f"shares of the full torque, which is {spoken(one)} N m")
    if size <= PERCENT * 1.01:
        if least <= one <= most:
            results.append(f"A with a torque constant of {spoken(one)} N m/A at the wheel")
        if size > FRACTION:
            results.append(f"% of the full torque, which is {spoken(PERCENT * one)} N m")
    elif least <= 1e3 * one <= most:
        results.append(f"mA with a torque constant of {spoken(1e3 * one)} N m/A at the wheel")
    register = next((top for top in PWM if PERCENT < size <= top), None)
    if register is not None:
        results.append(f"PWM of up to {register:g}")
    if one > 1.0:
        results.append(f"torques of the motor before a gear of {spoken(one)}")
    return " or ".join(results) or f"in a unit of {spoken(one)} N m"


def _settled(one: float | None, unit: EffortUnit, suggestion: str = "") -> str:
    constant = "C, the torque of one" if one is None else f"{spoken(one)}"
    pair = "C, C" if one is None else f"{spoken(one)}, {spoken(one)}"
    in_file, option = ("percent", "unknown")
    if suggestion.startswith("A "):
        in_file = option = "ampere"
    text = (
        f"Set drive: {{effort_unit: {in_file}, torque_constant: [{pair}]}} in the robot's file "
        f"(identify: --effort-unit {option} --torque-constant {constant}); or, if efforts in "
        f"{unit.name} are right, correct the mass in that file"
    )
    confirm = unit.name == "N m"
    return text + (" (identify: confirm --effort-unit newton_metre)" if confirm else "")


def _mass(estimate: Estimate, geometry: WheelGeometry) -> float:
    return 1.0 / (geometry.right_radius * estimate.values[2])


def _unusual(estimate: Estimate, geometry: WheelGeometry) -> str | None:
    """Return a sentence about a mass that is unusual for the track; None: it is not, or unknown."""
    if not _is_precise(estimate):
        return None
    mass, track = _mass(estimate, geometry), geometry.separation
    least, most = (density * track**3 for density in DENSITIES)
    if least < mass < most:
        return None
    return (
        f"by its efforts the robot has an equivalent mass of {spoken(mass)} kg, and robots with a "
        f"track of {spoken(track)} m usually have {spoken(least, 2)} to {spoken(most)} kg"
    )


def _short_time_constant(
    estimate: Estimate, geometry: WheelGeometry, robot: Robot | None, limit: float
) -> float | None:
    """Return a time constant, s, below a limit and far below the described one; None: none."""
    friction = estimate.friction
    if friction is None or not _is_precise(estimate):
        return None
    viscous, variance = sum(friction.values[:2]), sum(friction.variances[:2])
    significant = viscous - NORMAL_95 * math.sqrt(max(variance, 0.0))
    if not significant > 0.0:
        return None
    radius = geometry.right_radius
    if not radius / (estimate.values[2] * significant) < limit:
        return None
    result = radius / (estimate.values[2] * viscous)
    if robot is not None and (own := sum(robot.friction.viscous)) > 0.0:
        described = radius / (closed_form(robot.model).k7 * own)
        if result > described / SHORTER:
            return None
    return result


def _remark(
    estimate: Estimate,
    geometry: WheelGeometry,
    robot: Robot | None,
    size: float,
    unit: EffortUnit,
) -> str | None:
    """Return a warning about a mass that differs notably from what is expected; None: none."""
    heavier = _heavier(estimate, robot)
    if robot is None or heavier is None:
        unusual = _unusual(estimate, geometry)
        return unusual and f"{unusual}: if it has not, the efforts are in another unit"
    if not 1.0 / NOTABLE < heavier < NOTABLE:
        one = unit.constant * estimate.values[2] / closed_form(robot.model).k7
        return (
            f"{_masses(estimate, robot).format(unit=unit.name)}: a payload, another robot, or "
            f"efforts in another unit, {suggested(one, size / unit.constant)}"
        )
    if _is_beyond(size, robot):
        return (
            f"efforts reach {spoken(size)} N m, more than limits.torque = "
            f"{spoken(robot.limits.torque)} "
            f"N m of {robot.name}, and the mass agrees: raise the limit in the robot's file"
        )
    return None
