# SPDX-License-Identifier: Apache-2.0
"""Command `show_parameters`: print a robot's closed-form dynamic parameters and its friction."""

from __future__ import annotations

from collections.abc import Sequence

from diffbot_description.command_parser import CommandParser
from diffbot_description.dynamics import closed_form, turning_resistance, wheel_friction
from diffbot_description.ground_loads import ground_loads
from diffbot_description.loading import load_robot
from diffbot_description.robot import Robot
from diffbot_description.robot_model import RobotModel
from diffbot_description.terminal_text import complain

Row = tuple[str, float, str, str]


def parameter_rows(model: RobotModel) -> list[Row]:
    """Return (symbol, value, unit, meaning) of K5 to K8, M_e and I_e."""
    k = closed_form(model)
    return [
        ("K5", k.k5, "m/rad^2", "forward acceleration per squared yaw rate"),
        ("K6", k.k6, "1/m", "yaw acceleration per forward speed and yaw rate"),
        ("K7", k.k7, "m/(s^2 N m)", "forward acceleration per torque, left + right"),
        ("K8", k.k8, "rad/(s^2 N m)", "yaw acceleration per torque, left - right"),
        ("M_e", model.equivalent_mass, "kg", "equivalent mass, spinning wheels included"),
        ("I_e", model.equivalent_inertia, "kg m^2", "equivalent yaw inertia about the axle"),
    ]


def friction_rows(robot: Robot) -> list[Row]:
    """Return (symbol, value, unit, meaning) of the friction of both wheels that is not 0."""
    rows: list[Row] = []
    for side, law in zip(("left", "right"), wheel_friction(robot), strict=True):
        rows += [
            (f"viscous_{side}", law.viscous, "N m s/rad", "friction per speed of the wheel"),
            (f"coulomb_{side}", law.sliding(1.0), "N m", "dry friction of a turning wheel"),
        ]
        if law.sliding(-1.0) != law.sliding(1.0):
            rows.append((f"backward_{side}", law.sliding(-1.0), "N m", "the same, backward"))
        if law.static is not None:
            rows.append((f"static_{side}", law.static, "N m", "torque that starts the wheel"))
        rows.append((f"gear_loss_{side}", law.gear_loss, "", "share of the torque lost in gears"))
    for side, band in zip(("left", "right"), robot.drive.dead_band, strict=True):
        rows.append((f"dead_band_{side}", band, "N m", "a smaller commanded torque gives none"))
    drag = robot.contact.caster_friction * sum(ground_loads(robot).casters)
    rows.append(("caster_drag", drag, "N", "drag of all casters"))
    turning = turning_resistance(robot)
    rows += [
        ("turning_viscous", turning.viscous, "N m s/rad", "moment per yaw rate against turning"),
        ("turning_coulomb", turning.coulomb, "N m", "moment against turning, always there"),
    ]
    return [row for row in rows if row[1] != 0.0]


def format_rows(rows: Sequence[Row]) -> str:
    """Return the rows as an aligned table with a head."""
    head = ("", "value", "unit", "meaning")
    table = [head, *((s, f"{value:.6g}", unit, meaning) for s, value, unit, meaning in rows)]
    symbol, value, unit = (max(len(row[i]) for row in table) for i in range(3))
    return "\n".join(f"{r[0]:<{symbol}}  {r[1]:>{value}}  {r[2]:<{unit}}  {r[3]}" for r in table)


def _sides(robot: Robot) -> str:
    if len(robot.joints.names) == 2:
        return ""
    left, right = (", ".join(side) for side in (robot.joints.left, robot.joints.right))
    return f"\nThe wheels of a side count as one:\n  left: {left}\n  right: {right}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 2 after a message for a wrong robot."""
    parser = CommandParser(prog="show_parameters", description=__doc__)
    parser.add_argument("robot", help="a robot's name, its YAML, URDF or xacro file")
    name = parser.parse_args(argv).robot
    try:
        robot = load_robot(name)
    except (ValueError, OSError) as error:
        complain("show_parameters", error)
        return 2
    print(f"Closed form of {name} (no friction, no slip):")
    print(format_rows(parameter_rows(robot.model)))
    if friction := friction_rows(robot):
        print(f"\nFriction of {name}:")
        print(format_rows(friction))
    if sides := _sides(robot):
        print(sides)
    return 0
