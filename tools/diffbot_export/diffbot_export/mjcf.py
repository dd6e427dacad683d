# SPDX-License-Identifier: Apache-2.0
"""Export the identified robot as MJCF: the model of the engine mujoco with motors and sensors.

The motors' controls are the wheels' efforts in the robot's unit. They take the identified delay,
the torque constants and the torque limit. What MuJoCo does not have is named as missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from diffbot_description import Robot, wheel_friction
from diffbot_description.ground_loads import ground_loads
from diffbot_export.description_files import (
    check_one_wheel,
    identified_robot,
    notes,
    with_notes,
    write_texts,
)
from diffbot_export.known_robot import KnownRobot
from diffbot_sim.simulator import SETTLING_TIME

if TYPE_CHECKING:
    import mujoco

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
    """Compile with the keyframe STANCE: at rest on the floor, wheel angles 0."""
    import mujoco

    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, nstep=round(SETTLING_TIME / model.opt.timestep))
    stance = np.zeros(model.nq)
    stance[2:7] = data.qpos[2:7]
    spec.add_key(name=STANCE, qpos=stance)
    spec.compile()


def _finish_joint(spec: mujoco.MjSpec, robot: Robot, side: int, step: float) -> None:
    """Give a wheel's joint its rotor and dry friction, the mean of both directions."""
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
    # MuJoCo delays by whole steps, rounded up: half a step less is safe from rounding errors of its
    # clock. The buffer holds the controls of each step.
    steps = round(delay / spec.option.timestep)
    if steps:
        motor.delay, motor.nsample = (steps - 0.5) * spec.option.timestep, steps + 1


def _give_floor_friction(spec: mujoco.MjSpec, robot: Robot) -> None:
    """Give dragging casters MuJoCo's friction, and the wheels that against turning."""
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
