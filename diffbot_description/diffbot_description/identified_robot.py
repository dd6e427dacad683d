# SPDX-License-Identifier: Apache-2.0
"""A robot's description with its identified body: the closed form of K5 to K8 inverted.

Only the body's mass, yaw inertia and centre of mass (x), the wheels' friction and the resistance
against turning change. Roll and pitch inertia, which the motion does not show, are raised where a
solid body needs it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from diffbot_description.dynamics import closed_form, rolling_torques
from diffbot_description.files import write_atomically
from diffbot_description.loading import robot_data, robot_text
from diffbot_description.robot import Robot
from diffbot_description.robot_model import RobotModel
from diffbot_description.robot_parsing import robot_from

TEMPLATE = """\
<?xml version="1.0" encoding="utf-8"?>
<!-- The body of robot '{name}' as it was identified.

     Use: include this file, and in the link of the body put
       <xacro:identified_inertial/>
     where its <inertial> was, and in the joints of the wheels
       <xacro:identified_dynamics side="left"/>  and  <xacro:identified_dynamics side="right"/>
     where their <dynamics> were. Or copy the numbers below into a plain URDF.

     The mass is that of everything that does not turn with the wheels. Where other links with mass
     are fixed to the body, take their <inertial> out, or their mass off this one.
     x is measured forward from the axle. Give link_x and link_z where the body's link has its
     origin elsewhere than in the middle of the axle: its place ahead of and above it, in m.
     A motion in the plane says nothing about ixx, iyy and the height z: they are as described.
{notes}-->
<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:property name="identified_mass" value="{mass!r}"/> <!-- kg -->
  <xacro:property name="identified_com_x" value="{x!r}"/> <!-- m ahead of the axle -->
  <xacro:property name="identified_izz" value="{yaw!r}"/> <!-- kg m^2, about the centre of mass -->
  <!-- [left, right], N m s/rad and N m -->
  <xacro:property name="identified_viscous" value="${{{viscous}}}"/>
  <xacro:property name="identified_coulomb" value="${{{coulomb}}}"/>

  <xacro:macro name="identified_inertial"
               params="z:={z!r} ixx:={roll!r} iyy:={pitch!r} link_x:=0 link_z:=0">
    <inertial>
      <origin xyz="${{identified_com_x - link_x}} 0 ${{z - link_z}}"/>
      <mass value="${{identified_mass}}"/>
      <inertia ixx="${{ixx}}" iyy="${{iyy}}" izz="${{identified_izz}}" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </xacro:macro>

  <xacro:macro name="identified_dynamics" params="side">
    <dynamics damping="${{identified_viscous[side]}}" friction="${{identified_coulomb[side]}}"/>
  </xacro:macro>
</robot>
"""


def inertial_xacro(robot: Robot, notes: Sequence[str] = ()) -> str:
    """Return a xacro file with macros for the body's <inertial> and the wheel joints' <dynamics>.

    ``robot`` has the identified body; z in the file is measured from the axle. ``notes``: comment.
    """
    # Two hyphens end an XML comment.
    lines = "".join(f"       {line}".rstrip().replace("--", "- -") + "\n" for line in notes)
    body = robot.body
    return TEMPLATE.format(
        name=robot.name,
        notes="\n" + lines if lines else "",
        mass=body.mass,
        x=body.center_of_mass.x,
        z=body.center_of_mass.z - robot.wheels.radius,
        yaw=body.inertia.yaw,
        roll=body.inertia.roll,
        pitch=body.inertia.pitch,
        viscous="dict(left={!r}, right={!r})".format(*robot.friction.viscous),
        coulomb="dict(left={!r}, right={!r})".format(*robot.friction.coulomb),
    )


XACRO_NAME = "identified_inertial.xacro"
# An assumed caster is moved this many times as far out as the centre of mass.
BEYOND = 1.5


def identified_model(model: RobotModel, k5: float, k7: float, k8: float) -> RobotModel:
    """Return the model with the body whose closed form is K5 [m], K7 [1/(kg m)], K8 [1/(kg m^2)].

    K6 follows: K6 = K5 K8 / (b K7). Wheels, track and radius stay those of ``model``.

    Raises:
        ValueError: No body can give these parameters.
    """
    for name, value, good in (("k7", k7, k7 > 0), ("k8", k8, k8 < 0)):
        if not good:
            sign = "above" if name == "k7" else "below"
            raise ValueError(
                f"{name} = {value:.6g} must be {sign} 0: no robot has it. Check the order "
                "[left, right] and the signs of torques and wheels, and identify again."
            )
    if not math.isfinite(k5):
        raise ValueError(f"k5 = {k5} must be finite. Identify again.")
    wheels_mass = model.equivalent_mass - model.mass_body
    about_axle = model.inertia_body + model.mass_body * model.com_offset**2
    wheels_inertia = model.equivalent_inertia - about_axle
    mass = 1 / (model.wheel_radius * k7)
    inertia = -model.half_track / (model.wheel_radius * k8)
    body = mass - wheels_mass
    if not body > 0:
        raise ValueError(
            f"the identified equivalent mass is {mass:.4g} kg, but the wheels of the description "
            f"alone make {wheels_mass:.4g} kg. Correct wheels.mass, wheels.inertia_spin or "
            "wheels.radius, or identify again."
        )
    offset = k5 * mass / body
    own = inertia - wheels_inertia - body * offset**2
    if not own > 0:
        raise ValueError(
            f"the identified equivalent yaw inertia is {inertia:.4g} kg m^2, but the wheels of the "
            f"description ({wheels_inertia:.4g}) and the body's mass {1e3 * offset:.4g} mm ahead "
            f"of the axle ({body * offset**2:.4g}) make more. Correct wheels.separation, "
            "wheels.mass or wheels.inertia_yaw, or identify again."
        )
    return replace(model, mass_body=body, inertia_body=own, com_offset=offset)


def chosen_k5(robot: Robot, k5: float, half: float, identifiable: bool, k7: float) -> float:
    """Return the K5 [m] for a description: the identified one, or one that the data allow.

    Where K5 is not identifiable, the described centre of mass stays if its K5 lies within `half`
    [m], half of the 95 % interval; otherwise K5 is 0.
    """
    if identifiable:
        return k5
    model = robot.model
    wheels = model.equivalent_mass - model.mass_body
    described = model.com_offset * (1 - wheels * model.wheel_radius * k7)
    return described if abs(described - k5) <= half else 0.0


def with_track(robot: Robot, track: float) -> Robot:
    """Return the robot with another track [m], such as one from a gyro; its path stays."""
    return replace(robot, wheels=replace(robot.wheels, separation=float(track)))


def with_drive(robot: Robot, unit: str, constants: tuple[float, float]) -> Robot:
    """Return the robot with identified torque constants [left, right], N m per unit.

    Every unit other than ampere is stored as percent.
    """
    known = "ampere" if unit == "ampere" else "percent"
    drive = replace(robot.drive, effort_unit=known, torque_constant=constants)
    return replace(robot, drive=drive)


def write_identified_robot(
    robot: Robot,
    directory: str | os.PathLike[str],
    k5: float,
    k7: float,
    k8: float,
    friction: Sequence[float | None] = (None, None, None, None),
    notes: Iterable[str] = (),
    gear_loss: Sequence[float] | None = None,
    turning: Sequence[float | None] = (None, None),
) -> tuple[Path, Path]:
    """Write `<robot>_identified.yaml` and `identified_inertial.xacro`; return their paths.

    The closed form of the YAML is K5 [m], K7 [1/(kg m)], K8 [1/(kg m^2)] and K6 = K5 K8 / (b K7).

    Args:
        robot: Robot as described, or changed, such as by `with_track` and `with_drive`.
        friction: [viscous left, right in N m s/rad, Coulomb left, right in N m]; None: as
            described. Coulomb friction includes rolling resistance, and raises a static friction
            below it.
        notes: Lines for the comments of both files, such as intervals.
        gear_loss: Shares of torque that the gears lose [left, right]; None: as described.
        turning: Resistance against turning [viscous in N m s/rad, Coulomb in N m]; None likewise.

    Raises:
        ValueError: No robot can have these parameters; nothing is written.
        OSError: The directory cannot be written.
    """
    directory = Path(directory)
    data = robot_data(robot)
    try:
        body = identified_model(robot.model, float(k5), float(k7), float(k8))
        _patch(data, body, friction, rolling_torques(robot))
        if gear_loss is not None:
            _set_gear_loss(data["friction"], gear_loss)
        _set_turning(data, turning)
        raised = _loosen(data, robot)
        patched = robot_from(data, robot.path)
    except ValueError as error:
        raise ValueError(
            f"the identified parameters do not fit the description of robot '{robot.name}': {error}"
        ) from None
    lines = [line for note in notes for line in str(note).splitlines()]
    k = closed_form(patched.model)
    head = [
        f"Robot '{robot.name}' with the body and the friction that were identified.",
        "Made by the identification: body.mass, body.center_of_mass.x, body.inertia.yaw, friction",
        "and turning are new, and wheels.separation where a gyro gave the yaw rate; the rest is as",
        "in the robot file that it was run with.",
        *raised,
        f"Closed form: K5 {k.k5:.6g} m, K6 {k.k6:.6g} 1/m, K7 {k.k7:.6g} 1/(kg m), "
        f"K8 {k.k8:.6g} 1/(kg m^2).",
        *lines,
    ]
    text = "".join(f"# {line}".rstrip() + "\n" for line in head)
    text += "\n" + robot_text(data)
    robot_file = directory / f"{robot.name}_identified.yaml"
    xacro_file = directory / XACRO_NAME
    write_atomically(robot_file, text)
    write_atomically(xacro_file, inertial_xacro(patched, lines))
    return robot_file, xacro_file


def _patch(
    data: dict[str, Any],
    model: RobotModel,
    friction: Sequence[float | None],
    rolling: tuple[float, float],
) -> None:
    """Write an identified body and friction to a robot file's content.

    `rolling`: described rolling resistance, N m, which identified friction includes.
    """
    body = data["body"]
    body["mass"] = model.mass_body
    body["center_of_mass"]["x"] = model.com_offset
    body["inertia"]["yaw"] = model.inertia_body
    described = data["friction"]
    for side, (viscous, coulomb) in enumerate(zip(friction[:2], friction[2:], strict=True)):
        if viscous is not None:
            described["viscous"][side] = float(viscous)
        if coulomb is not None:
            _set_coulomb(described, side, float(coulomb))
    if any(coulomb is not None for coulomb in friction[2:]):
        _drop_rolling_resistance(described, friction[2:], rolling)


def _set_turning(data: dict[str, Any], turning: Sequence[float | None]) -> None:
    if all(value is None for value in turning):
        return
    section = data.setdefault("turning", {"viscous": 0.0, "coulomb": 0.0})
    for name, value in zip(("viscous", "coulomb"), turning, strict=True):
        if value is None:
            continue
        section[name] = float(value)
        left = [each for each in data.pop("assumed", ()) if each != f"turning.{name}"]
        data |= {"assumed": left} if left else {}


def _loosen(data: dict[str, Any], robot: Robot) -> list[str]:
    """Change guesses that contradict what was identified; return lines that name them."""
    said = []
    body = data["body"]
    wanted = robot.body.inertia.with_yaw(body["inertia"]["yaw"])
    for axis in ("roll", "pitch"):
        before, after = getattr(robot.body.inertia, axis), getattr(wanted, axis)
        if before != after:
            body["inertia"][axis] = after
            said.append(
                f"body.inertia.{axis} was raised from {before:.4g} to {after:.4g} kg m^2: it is not"
                " identified, and the identified yaw inertia needs so much."
            )
    return [*said, *_support(data)]


def _support(data: dict[str, Any]) -> list[str]:
    """Move an assumed caster beyond the identified centre of mass; return a line that names it."""
    body, casters = data["body"], data["casters"]
    x = body["mass"] * body["center_of_mass"]["x"] / (body["mass"] + 2 * data["wheels"]["mass"])
    outermost = max if x > 0.0 else min
    index = outermost(range(len(casters)), key=lambda i: float(casters[i]["x"]))
    before = casters[index]["x"]
    guessed = "casters" in data.get("assumed", ()) and casters[index]["y"] == 0.0
    if not guessed or before * x <= 0.0 or abs(before) > abs(x):
        return []
    casters[index]["x"] = BEYOND * x
    return [
        f"casters[{index}].x was moved from {before:.4g} to {BEYOND * x:.4g} m: it was assumed, and"
        f" the identified centre of mass is at {x:.4g} m."
    ]


def _set_gear_loss(friction: dict[str, Any], losses: Sequence[float]) -> None:
    friction.pop("gear_loss", None)
    if any(losses):
        friction["gear_loss"] = [float(loss) for loss in losses]


def _set_coulomb(friction: dict[str, Any], side: int, coulomb: float) -> None:
    friction["coulomb"][side] = coulomb
    if "coulomb_backward" in friction:
        friction["coulomb_backward"][side] = coulomb
    if "static" in friction:
        friction["static"][side] = max(friction["static"][side], coulomb)


def _drop_rolling_resistance(
    friction: dict[str, Any], identified: Sequence[float | None], rolling: tuple[float, float]
) -> None:
    """Remove the rolling resistance; add it to friction that was not identified."""
    if friction.pop("rolling_resistance", 0.0) == 0.0:
        return
    for side, value in enumerate(identified):
        if value is None:
            for name in {"coulomb", "coulomb_backward", "static"} & friction.keys():
                friction[name][side] += rolling[side]
