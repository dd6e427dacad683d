# SPDX-License-Identifier: Apache-2.0
"""A robot's description with its identified body: the closed form of K5 to K8 inverted.

Only the body's mass, yaw inertia and centre of mass (x), the wheels' friction and the resistance
against turning change. Roll and pitch inertia, which the motion does not show, are raised where a
solid body needs it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from diffbot_description.dynamics import closed_form, rolling_torques
from diffbot_description.files import write_atomically
from diffbot_description.loading import robot_data, robot_text
from diffbot_description.robot import Caster, Friction, Pair, Robot, Turning
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
    try:
        body = identified_model(robot.model, float(k5), float(k7), float(k8))
        identified, raised = _identified(robot, body, _friction(robot, friction, gear_loss))
        identified = replace(identified, assumed=_assumed_beside_body(robot, friction))
        data = robot_data(_with_turning(identified, turning))
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


def _friction(
    robot: Robot, identified: Sequence[float | None], gear_loss: Sequence[float] | None
) -> Friction:
    """Return the identified friction, which includes rolling resistance, on described gaps."""
    own, coulomb = robot.friction, identified[2:]
    dropped = any(value is not None for value in coulomb)
    rolling = rolling_torques(robot) if dropped else (0.0, 0.0)

    def dry(described: Pair, least: bool = False) -> Pair:
        left, right = (
            known + more if value is None else max(value, known) if least else float(value)
            for known, more, value in zip(described, rolling, coulomb, strict=True)
        )
        return left, right

    left_viscous, right_viscous = (
        known if value is None else float(value)
        for known, value in zip(own.viscous, identified[:2], strict=True)
    )
    lost_left, lost_right = own.gear_loss if gear_loss is None else gear_loss
    return replace(
        own,
        viscous=(left_viscous, right_viscous),
        coulomb=dry(own.coulomb),
        coulomb_backward=own.coulomb_backward and dry(own.coulomb_backward),
        static=own.static and dry(own.static, least=True),
        rolling_resistance=0.0 if dropped else own.rolling_resistance,
        gear_loss=(float(lost_left), float(lost_right)),
    )


def _with_turning(robot: Robot, turning: Sequence[float | None]) -> Robot:
    if all(value is None for value in turning):
        return robot
    own = robot.turning or Turning(0.0, 0.0)
    names = ("viscous", "coulomb")
    known = {name: float(v) for name, v in zip(names, turning, strict=True) if v is not None}
    assumed = _still_assumed(robot, [f"turning.{name}" for name in known])
    return replace(robot, turning=replace(own, **known), assumed=assumed)


# What is identified of the body, and what remains of fields that a description assumes whole.
_BODY = ("body.mass", "body.center_of_mass.x", "body.inertia.yaw")
_REST = {
    "body.center_of_mass": ("body.center_of_mass.z",),
    "body.inertia": ("body.inertia.roll", "body.inertia.pitch"),
}


def _still_assumed(robot: Robot, measured: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in robot.assumed if name not in measured)


def _assumed_beside_body(robot: Robot, friction: Sequence[float | None]) -> tuple[str, ...]:
    """Return the assumed fields that body and friction (4,), if all known, do not replace."""
    known = None not in friction
    measured = (*_BODY, *(("friction.viscous", "friction.coulomb") if known else ()))
    parts = [part for name in robot.assumed for part in _REST.get(name, (name,))]
    return _still_assumed(replace(robot, assumed=tuple(dict.fromkeys(parts))), measured)


def _identified(robot: Robot, model: RobotModel, friction: Friction) -> tuple[Robot, list[str]]:
    """Return the robot with an identified body, and lines on guesses that contradict it."""
    inertia = robot.body.inertia.with_yaw(model.inertia_body)
    said = []
    for axis in ("roll", "pitch"):
        before, after = getattr(robot.body.inertia, axis), getattr(inertia, axis)
        if before != after:
            said.append(
                f"body.inertia.{axis} was raised from {before:.4g} to {after:.4g} kg m^2: it is not"
                " identified, and the identified yaw inertia needs so much."
            )
    body = replace(
        robot.body,
        mass=model.mass_body,
        center_of_mass=replace(robot.body.center_of_mass, x=model.com_offset),
        inertia=inertia,
    )
    casters, moved = _supporting(replace(robot, body=body))
    return replace(robot, body=body, casters=casters, friction=friction), [*said, *moved]


def _supporting(robot: Robot) -> tuple[tuple[Caster, ...], list[str]]:
    """Move an assumed caster beyond the centre of mass; return all, and a line that names it."""
    body, casters = robot.body, robot.casters
    x = body.mass * body.center_of_mass.x / (body.mass + 2 * robot.wheels.mass)
    outermost = max if x > 0.0 else min
    index = outermost(range(len(casters)), key=lambda i: casters[i].x)
    caster = casters[index]
    guessed = "casters" in robot.assumed and caster.y == 0.0
    if not guessed or caster.x * x <= 0.0 or abs(caster.x) > abs(x):
        return casters, []
    moved = replace(caster, x=BEYOND * x)
    return (*casters[:index], moved, *casters[index + 1 :]), [
        f"casters[{index}].x was moved from {caster.x:.4g} to {BEYOND * x:.4g} m: it was assumed, "
        f"and the identified centre of mass is at {x:.4g} m."
    ]
