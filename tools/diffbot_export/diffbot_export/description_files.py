# SPDX-License-Identifier: Apache-2.0
"""Export the identified robot as URDF, SDF and MJCF.

The body is the one whose closed form gives K5, K7 and K8 with the calibrated wheels. What MuJoCo
lacks is named as missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np

from diffbot_description import (
    Robot,
    load_robot,
    urdf,
    wheel_friction,
    write_atomically,
    write_identified_robot,
)
from diffbot_description.ground_loads import ground_loads
from diffbot_description.identified_urdf import own_urdf
from diffbot_description.loading import with_rotors_in_wheels
from diffbot_export.known_robot import KnownRobot
from diffbot_export.sourced_value import SourcedValue
from diffbot_ident.estimate import FRICTION_NAMES, NAMES, TURNING_NAMES
from diffbot_sim.simulator import SETTLING_TIME

if TYPE_CHECKING:
    import mujoco


def identified_robot(robot: KnownRobot) -> tuple[Robot, dict[str, str]]:
    """Return the identified robot, and its robot file and xacro macros by file name.

    Raises ValueError if something is missing, or no robot can have these parameters.
    """
    torque, described = robot.results.torque, robot.description
    if described is None:
        raise ValueError("masses need the description of the robot's wheels: give --robot FILE")
    if torque is None:
        raise ValueError(
            "no masses, inertias or friction were identified: give the results of ident or "
            "identify of a torque robot"
        )
    k = robot.k
    friction = [
        torque.friction[name].value if name in torque.friction else None for name in FRICTION_NAMES
    ]
    turning = [
        torque.turning[name].value if name in torque.turning else None for name in TURNING_NAMES
    ]
    k5, k7, k8 = (k[name].value for name in ("k5", "k7", "k8"))
    measured = _with_lengths(robot, described)
    with TemporaryDirectory() as folder:
        files = write_identified_robot(
            measured, folder, k5, k7, k8, friction, notes(robot), torque.gear_loss, turning
        )
        return load_robot(files[0]), {file.name: file.read_text("utf-8") for file in files}


def _with_lengths(robot: KnownRobot, described: Robot) -> Robot:
    geometry, results = robot.geometry, robot.results
    if geometry is None or (results.calibration is None and not results.lengths):
        return described
    mean = 0.5 * (geometry.left_radius + geometry.right_radius)
    if geometry.left_radius != geometry.right_radius:
        robot.missing.append(
            "separate radii of the wheels: a description holds one radius, here the mean of "
            f"{geometry.left_radius:.6g} and {geometry.right_radius:.6g} m"
        )
    wheels = replace(described.wheels, radius=mean, separation=geometry.separation)
    return replace(described, wheels=wheels)


def notes(robot: KnownRobot) -> list[str]:
    """Return the comments of a file: sources, values with intervals, and what is left out."""
    torque = robot.results.torque
    assert torque is not None
    quantities: list[SourcedValue] = [robot.k[name] for name in NAMES]
    quantities += [*torque.friction.values(), *torque.turning.values()]
    lengths = (robot.radius(0), robot.radius(1), robot.track)
    quantities += [length for length in lengths if length is not None]
    return [
        f"Exported from {', '.join(path.name for path in robot.sources)}.",
        "95 % intervals:",
        *(f"  {quantity.source}: {quantity.text()}" for quantity in quantities),
        *robot.gaps(),
    ]


def urdf_file(robot: KnownRobot) -> str:
    """Return the name of the URDF of write_urdf."""
    return f"{robot.name}_identified.urdf"


def sdf_file(robot: KnownRobot) -> str:
    """Return the name of the SDF of write_sdf."""
    return f"{robot.name}_identified.sdf"


def write_urdf(robot: KnownRobot, folder: Path) -> list[Path]:
    """Write `<robot>_identified.urdf`, the robot's own or a new one, its robot file, and macros.

    Raises ValueError as identified_robot and identified_urdf.own_urdf do.
    """
    identified, files = identified_robot(robot)
    text = own_urdf(identified)
    if text is None:
        check_one_wheel(identified, "URDF")
        text = _indented(urdf(identified))
    return write_texts(folder, {urdf_file(robot): with_notes(text, notes(robot)), **files})


def write_sdf(robot: KnownRobot, folder: Path) -> list[Path]:
    """Write `<robot>_identified.sdf`, a model with joints and contacts, and the robot file.

    Raises ValueError as identified_robot does, or if a side has several joints.
    """
    identified, files = identified_robot(robot)
    check_one_wheel(identified, "SDF")
    text = _indented(_sdf(with_rotors_in_wheels(identified)))
    return write_texts(folder, {sdf_file(robot): with_notes(text, notes(robot)), **files})


def write_texts(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write texts by file name; return their paths."""
    return [write_atomically(folder / name, text) for name, text in texts.items()]


def check_one_wheel(robot: Robot, kind: str) -> None:
    """Refuse a model made from a robot file that does not know where each wheel is."""
    names = robot.joints.names
    if len(names) > 2:
        advice = (
            "name the robot's own URDF as appearance.urdf in its file"
            if robot.appearance.urdf is None
            else "export --to urdf, and convert it: gz sdf -p FILE.urdf"
        )
        raise ValueError(
            f"the robot has {len(names)} driven wheels ({', '.join(names)}), but its file does not "
            f"say where each of them is, so no {kind} can be made from it; {advice}"
        )


def _indented(text: str) -> str:
    tree = ElementTree.fromstring(text)
    ElementTree.indent(tree)
    return ElementTree.tostring(tree, encoding="unicode") + "\n"


def with_notes(text: str, lines: Sequence[str]) -> str:
    """Return an XML text with lines as a comment at its start."""
    # An XML comment must not contain two hyphens.
    words = "\n".join(f"  {line}".replace("--", "- -") for line in lines)
    head, body = re.fullmatch(r"\s*(<\?xml.*?\?>)?\s*(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    return f"{head or HEAD}\n<!--\n{words}\n-->\n{body}"


HEAD = '<?xml version="1.0"?>'


_MODEL = """\
<sdf version="1.7">
  <model name="{name}">
    <link name="base_link">
      <pose>0.0 0.0 {radius!r} 0.0 0.0 0.0</pose>
      {inertial}
      <visual name="hull">
        <pose>{x!r} 0.0 {z!r} 0.0 0.0 0.0</pose>
        <geometry><box><size>{length!r} {width!r} {height!r}</size></box></geometry>
      </visual>
      {casters}
    </link>
    {wheels}
  </model>
</sdf>
"""
_INERTIAL = """\
<inertial>
  <pose>{x!r} 0.0 {z!r} 0.0 0.0 0.0</pose>
  <mass>{mass!r}</mass>
  <inertia>
    <ixx>{ixx!r}</ixx><iyy>{iyy!r}</iyy><izz>{izz!r}</izz>
    <ixy>0</ixy><ixz>0</ixz><iyz>0</iyz>
  </inertia>
</inertial>"""
_CASTER = """\
<collision name="caster_{index}">
  <pose>{x!r} {y!r} {z!r} 0.0 0.0 0.0</pose>
  <geometry><sphere><radius>{radius!r}</radius></sphere></geometry>
  {contact}
</collision>"""
_CONTACT = "<surface><friction><ode><mu>{0!r}</mu><mu2>{0!r}</mu2></ode></friction></surface>"
_TYRE = """\
<pose>0.0 0.0 0.0 1.5707963267948966 0.0 0.0</pose>
<geometry><cylinder><radius>{radius!r}</radius><length>{width!r}</length></cylinder></geometry>"""
# With a cylinder's two points of contact Gazebo's ODE brakes turns: 40 % off the path after 1 m.
_BALL = "<geometry><sphere><radius>{radius!r}</radius></sphere></geometry>"
_WHEEL = """\
<link name="{side}_wheel">
  <pose>0.0 {y!r} {radius!r} 0.0 0.0 0.0</pose>
  {inertial}
  <collision name="tyre">{ball}{contact}</collision>
  <visual name="tyre">{tyre}</visual>
</link>
<joint name="{joint}" type="revolute">
  <parent>base_link</parent>
  <child>{side}_wheel</child>
  <axis>
    <xyz>0 {sign} 0</xyz>
    <dynamics><damping>{damping!r}</damping><friction>{friction!r}</friction></dynamics>
    <limit>{limits}</limit>
  </axis>
</joint>"""


def _sdf(robot: Robot) -> str:
    wheels, hull, centre = robot.wheels, robot.body.shape, robot.body.center_of_mass
    inertia = robot.body.inertia
    contact = _CONTACT.format(robot.contact.caster_friction)
    casters = [
        _CASTER.format(
            index=index,
            x=caster.x,
            y=caster.y,
            z=caster.radius + caster.clearance - wheels.radius,
            radius=caster.radius,
            contact=contact,
        )
        for index, caster in enumerate(robot.casters)
    ]
    return _MODEL.format(
        name=robot.name,
        radius=wheels.radius,
        inertial=_INERTIAL.format(
            x=centre.x,
            z=centre.z - wheels.radius,
            mass=robot.body.mass,
            ixx=inertia.roll,
            iyy=inertia.pitch,
            izz=inertia.yaw,
        ),
        x=0.5 * (hull.front + hull.rear),
        z=0.5 * (hull.top + hull.bottom) - wheels.radius,
        length=hull.front - hull.rear,
        width=hull.width,
        height=hull.top - hull.bottom,
        casters="".join(casters),
        wheels="".join(_wheel(robot, side) for side in (0, 1)),
    )


def _wheel(robot: Robot, side: int) -> str:
    wheels, speed = robot.wheels, robot.limits.wheel_velocity
    limits = f"<effort>{robot.limits.torque!r}</effort>"
    if speed is not None:
        limits += f"<velocity>{speed!r}</velocity>"
    yaw, spin = wheels.inertia_yaw, wheels.inertia_spin
    return _WHEEL.format(
        side=("left", "right")[side],
        y=(1.0, -1.0)[side] * wheels.half_track,
        radius=wheels.radius,
        inertial=_INERTIAL.format(x=0.0, z=0.0, mass=wheels.mass, ixx=yaw, iyy=spin, izz=yaw),
        ball=_BALL.format(radius=wheels.radius),
        tyre=_TYRE.format(radius=wheels.radius, width=wheels.width),
        contact=_CONTACT.format(robot.contact.wheel_friction),
        joint=robot.joints.first[side],
        sign=robot.joints.side_signs[side][0],
        damping=robot.friction.viscous[side],
        friction=robot.friction.coulomb[side],
        limits=limits,
    )


SIDES = ("left", "right")
STANCE = "standing"  # name of the keyframe


def mjcf_file(robot: KnownRobot) -> str:
    """Return the name of the file of write_mjcf."""
    return f"{robot.name}_identified_mjcf.xml"


def write_mjcf(robot: KnownRobot, folder: Path) -> list[Path]:
    """Write `<robot>_identified_mjcf.xml` and the robot file.

    Raises ValueError as identified_robot does, for several joints on a side, or without MuJoCo.
    """
    identified, files = identified_robot(robot)
    check_one_wheel(identified, "MJCF")
    torque = robot.results.torque
    delay = 0.0 if torque is None or torque.delay is None else torque.delay
    robot.missing.extend(_inexpressible(identified))
    text = with_notes(mjcf(identified, delay), [*notes(robot), *_usage(identified, delay)])
    return write_texts(folder, {mjcf_file(robot): text, **files})


def mjcf(robot: Robot, delay: float = 0.0) -> str:
    """Return a robot on a floor as MJCF that plain MuJoCo loads.

    `delay` is from a command to its torque, s. Raises ValueError without MuJoCo.
    """
    try:
        import mujoco

        from diffbot_sim.engines.mujoco_model import (
            SOLVER_TOLERANCE,
            ContactSettings,
            specification,
        )
    except ImportError as error:
        raise ValueError(
            f"it needs the Python package mujoco ({error}): install it with 'pip install mujoco'"
        ) from None
    settings = ContactSettings()
    spec = specification(robot, settings)
    spec.modelname = robot.name
    spec.option.tolerance = SOLVER_TOLERANCE
    spec.option.timestep = settings.inner_step
    spec.worldbody.first_body().pos[2] = robot.wheels.radius
    for side in (0, 1):
        _finish_joint(spec, robot, side, settings.inner_step)
        _add_motor(spec, robot, side, delay)
    _give_floor_friction(spec, robot)
    for kind, name in (
        (mujoco.mjtSensor.mjSENS_JOINTPOS, "position"),
        (mujoco.mjtSensor.mjSENS_JOINTVEL, "velocity"),
    ):
        for label, joint in zip(SIDES, robot.joints.first, strict=True):
            spec.add_sensor(
                name=f"{label}_{name}",
                type=kind,
                objtype=mujoco.mjtObj.mjOBJ_JOINT,
                objname=joint,
            )
    _add_stance(spec)
    return str(spec.to_xml())


def _add_stance(spec: mujoco.MjSpec) -> None:
    import mujoco

    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, nstep=round(SETTLING_TIME / model.opt.timestep))
    stance = np.zeros(model.nq)
    stance[2:7] = data.qpos[2:7]
    spec.add_key(name=STANCE, qpos=stance)
    spec.compile()


def _finish_joint(spec: mujoco.MjSpec, robot: Robot, side: int, step: float) -> None:
    from diffbot_sim.engines.mujoco_model import first_entry, wheel_joint_settings

    law = wheel_friction(robot)[side]
    backward = law.coulomb if law.coulomb_backward is None else law.coulomb_backward
    settings = wheel_joint_settings(robot, side, step)
    joint = spec.joint(robot.joints.first[side])
    joint.armature = settings.armature
    joint.frictionloss = first_entry(joint.frictionloss, 0.5 * (law.coulomb + backward))
    joint.solref_friction[:] = settings.friction_solref


def _add_motor(spec: mujoco.MjSpec, robot: Robot, side: int, delay: float) -> None:
    import mujoco

    limit, gain = robot.limits.torque, robot.drive.torque_of((1.0, 1.0))[side]
    motor = spec.add_actuator(
        name=f"{SIDES[side]}_motor",
        trntype=mujoco.mjtTrn.mjTRN_JOINT,
        target=robot.joints.first[side],
        forcelimited=True,
        forcerange=[-limit, limit],
        ctrllimited=True,
        ctrlrange=[-limit / gain, limit / gain],
    )
    motor.gainprm[0] = gain
    # MuJoCo delays by whole steps, rounded up: half a step less is safe from rounding errors.
    steps = round(delay / spec.option.timestep)
    if steps:
        motor.delay, motor.nsample = (steps - 0.5) * spec.option.timestep, steps + 1


def _give_floor_friction(spec: mujoco.MjSpec, robot: Robot) -> None:
    joints = [spec.joint(name) for name in robot.joints.first]
    wheels = {geom.name for joint in joints for geom in joint.parent.geoms}
    moment = 0.0 if robot.turning is None else robot.turning.coulomb
    for pair in spec.pairs:
        if pair.geomname2 in wheels and moment:
            pair.condim = 4
            pair.friction[2] = moment / sum(ground_loads(robot).wheels)
        elif pair.geomname2 not in wheels and robot.contact.caster_friction:
            pair.condim = 3
            pair.friction[:2] = robot.contact.caster_friction


def _inexpressible(robot: Robot) -> Iterator[str]:
    friction = robot.friction
    if friction.static is not None:
        yield "static friction beyond Coulomb friction, which MuJoCo does not have"
    if friction.coulomb_backward is not None:
        yield "Coulomb friction by direction: MuJoCo has one, here the mean"
    if any(friction.gear_loss):
        yield "losses of gears, which MuJoCo does not have"
    if any(robot.drive.dead_band):
        yield "the motors' dead band, which MuJoCo does not have"
    if robot.turning is not None and robot.turning.viscous:
        yield "the floor's viscous resistance against turning, which MuJoCo does not have"


def _usage(robot: Robot, delay: float) -> Iterator[str]:
    unit = {"newton_metre": "N m"}.get(robot.drive.effort_unit, robot.drive.effort_unit)
    yield (
        f"ctrl: efforts [left, right] in {unit}; qpos and qvel of the wheels' joints are positive "
        "when they roll forward."
    )
    yield "Keep the timestep: armature and contacts compensate half a step."
    if delay > 0.0:
        yield (
            f"The delay of {1e3 * delay:.3g} ms is rounded to whole steps; it needs a MuJoCo whose "
            "actuators have the attribute delay."
        )
