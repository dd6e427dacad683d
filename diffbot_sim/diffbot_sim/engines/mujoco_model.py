# SPDX-License-Identifier: Apache-2.0
"""A robot on a floor as a MuJoCo model, which the engine simulates and `export` writes.

Its contacts, viscous and dry friction are not MuJoCo's own, which bias K5 to K8:
docs/theory/simulators.md#mujoco.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from xml.etree import ElementTree

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from diffbot_description import Robot, urdf
from diffbot_description.robot import Pair

FLOOR = "floor"
FREE_JOINT = "floating_base"
# Shortest time constant of wheel slip, below which it grows, and time constant of a wheel that dry
# friction stops, in inner steps.
LEAST_SLIP_TIME, DRY_TIME = 1.1, 1.25
# Relative tolerance of the solver where there is dry friction; MuJoCo's default is 1e-8.
SOLVER_TOLERANCE = 1e-14


@dataclass(frozen=True)
class ContactSettings:
    """Settings of MuJoCo's soft contacts; the defaults are the best known.

    Attributes:
        inner_step: Longest integration step, s.
        time_constant: Of the contacts along their normal (solref), s, >= 2 inner_step.
        friction_time_constant: Of wheel slip (solreffriction), s; at least LEAST_SLIP_TIME steps.
        impedance: solimp's d0 and dmax, 0..1.
        elliptic: Whether friction cones are elliptic; with pyramidal ones a wheel climbs.
        impratio: Stiffness of friction relative to the normal force.
        wheel_friction: Coulomb coefficient of the wheels; None for the robot's own.
    """

    inner_step: float = 0.0005
    time_constant: float = 0.004
    friction_time_constant: float = 0.0
    impedance: Pair = (0.999, 0.9999)
    elliptic: bool = True
    impratio: float = 10.0
    wheel_friction: float | None = None


@dataclass(frozen=True)
class WheelJointSettings:
    """Settings of a wheel's joint that depend on the inner step.

    Attributes:
        friction_solref: Time constant, s, and damping ratio with which dry friction stops it.
        armature: Rotor, and viscous friction in half a step, kg m^2.
    """

    friction_solref: Pair
    armature: float


def wheel_joint_settings(robot: Robot, side: int, inner_step: float) -> WheelJointSettings:
    """Return the settings of the left (0) or right (1) wheel for an inner step, s."""
    half_step = 0.5 * inner_step * robot.friction.viscous[side]
    return WheelJointSettings((DRY_TIME * inner_step, 1.0), robot.wheels.rotor + half_step)


def specification(robot: Robot, settings: ContactSettings) -> mujoco.MjSpec:
    """Return the robot's URDF with a floor at z = 0 and a free base.

    Raises:
        ValueError: The URDF lacks a wheel joint, or a wheel has no collision shape.
    """
    # Rotors turn about the body, and are part of no link.
    wheels = replace(robot.wheels, inertia_spin=robot.wheels.own_spin)
    bare = replace(robot.with_forward_joints(), wheels=wheels)
    spec = mujoco.MjSpec.from_string(_without_visuals(urdf(bare)))
    _set_options(spec, settings)
    spec.worldbody.first_body().add_freejoint(name=FREE_JOINT)
    spec.worldbody.add_geom(name=FLOOR, type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1])
    rolling = {geom.name for geom in _wheel_geoms(spec, robot)}
    for number, geom in enumerate(spec.geoms):
        # Only the explicit pairs below collide: a search for others takes a tenth of a step.
        geom.contype = geom.conaffinity = 0
        if geom.name == FLOOR:
            continue
        geom.name = geom.name or f"shape_{number}"
        pair = spec.add_pair(geomname1=FLOOR, geomname2=geom.name, condim=1)
        pair.solref[0] = settings.time_constant
        pair.solimp[:2] = settings.impedance
        pair.solreffriction[:] = (LEAST_SLIP_TIME * settings.inner_step, 1.0)
        if geom.name in rolling:
            pair.condim = 3
            pair.friction[:2] = settings.wheel_friction or robot.contact.wheel_friction
    return spec


def _without_visuals(text: str) -> str:
    tree = ElementTree.fromstring(text)
    for link in tree.iter("link"):
        for visual in link.findall("visual"):
            link.remove(visual)
    return ElementTree.tostring(tree, encoding="unicode")


def _set_options(spec: mujoco.MjSpec, settings: ContactSettings) -> None:
    spec.compiler.fusestatic = False
    spec.compiler.balanceinertia = False
    elliptic = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.cone = elliptic if settings.elliptic else mujoco.mjtCone.mjCONE_PYRAMIDAL
    spec.option.impratio = settings.impratio
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_REFSAFE
    # One robot is one island. MuJoCo before 3.3.6 has no such flag.
    spec.option.disableflags |= getattr(mujoco.mjtDisableBit, "mjDSBL_ISLAND", 0)


def _wheel_geoms(spec: mujoco.MjSpec, robot: Robot) -> list[mujoco.MjsGeom]:
    geoms = []
    for i, name in enumerate(robot.joints.first):
        joint = spec.joint(name)
        if joint is None:
            raise ValueError(f"the URDF of {robot.name} has no joint {name!r}; see robot.joints")
        joint.damping = first_entry(joint.damping, robot.friction.viscous[i])
        # WheelJointFriction sets dry friction, with the stiffest impedance.
        joint.frictionloss = 0.0
        joint.solimp_friction[:2] = 0.9999
        shapes = list(joint.parent.geoms)
        if not shapes:
            raise ValueError(
                f"the wheel of joint {name!r} of {robot.name} has no collision shape to roll on; "
                "give its link a <collision> with a sphere"
            )
        for k, shape in enumerate(shapes):
            shape.name = f"{name}_shape_{k}"
        geoms += shapes
    return geoms


def first_entry(old: ArrayLike, value: float) -> float | list[float]:
    """Set the first coefficient of a MuJoCo 4 polynomial, or the number of earlier versions."""
    return value if np.ndim(old) == 0 else [value, *np.asarray(old)[1:]]
