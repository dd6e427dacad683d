"""MuJoCo model of a robot on a floor, made from its URDF.

How near identification from it comes to the closed form, and why. Errors in % of K5, K6, K7, K8 by
batch least squares from noise-free wheel speeds, 40 s (benchmarks/contact_settings.py prints this,
and for agv --robot agv --amplitude 4.5 9):

                                 twil, +-0.3 N m             twil, +-0.6 N m
    settings                  K5    K6    K7    K8        K5    K6    K7    K8
    default                 0.00  0.02 -0.01  0.04     -0.09  0.02 -0.01  0.04
    friction solref 4 ms   -0.09  0.14 -0.03  0.26     -0.51  0.11  0.02  0.26
    normal solref 20 ms    -0.02  0.00  0.03  0.08     -0.11  0.00  0.03  0.08
    solimp 0.9 0.95        -0.03  0.00 -0.06  0.04     -0.13  0.00 -0.06  0.04
    pyramidal cone         -0.44 -0.07  0.34  0.86     -0.98 -0.09  0.37  0.85
    friction coefficient 1  0.00  0.02 -0.01  0.04    -19.28 -11.3 -0.31  5.87
    MuJoCo's own settings  -0.14  0.37 -0.05  0.53      the wheels slip through

    "MuJoCo's own": solref 4 ms for all, solimp 0.9 0.95, pyramidal cone, impratio 1, friction 1.
    agv, default settings, +-4.5 N m 0.02 0.00 -0.01 0.01; +-9 N m -0.04 0.00 -0.01 0.01.
    Speed: about 115,000 inner steps of 0.5 ms per second of one core, 57 x real time.

What spoils K5 is sideways creep of the wheels. MuJoCo damps slip towards zero with the time
constant T of solreffriction, but leaves out that the rolling direction turns under it. A wheel that
should roll thus slides sideways at v omega (T - h) / 2 (h the inner step), its friction does work,
and v' gets a term -(m / M_e) v omega^2 (T - h) / 2, m the robot's mass. Measured on twil for T = 4,
2 and 1 ms: -1.59, -0.65 and -0.18 ms; formula: -1.65, -0.71 and -0.24 ms. It passes for a part of
K5 omega^2 wherever the mean of v is not zero; a regression with the term v omega^2 has K5 right
within 0.06 %. The friction's own T (only contact pairs with elliptic cones have one) is therefore
set to the least that is stable, 2 h; half of it makes the wheels lose their grip.
Others, smaller: pyramidal cones push wheels up when friction acts (the axle moves 75 um instead of
0.3) and let them slip along 100 times faster; soft contacts (solref 20 ms, solimp 0.9) let the body
pitch by 0.3 mrad and shift the load between the wheels, which is worth 0.05 %; sinking shortens the
rolling radius by 0.002 %. Beyond the friction limit no setting helps: that is physics.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree import ElementTree

import mujoco
import numpy as np

from diffbot_description import Robot

FLOOR = "floor"
PAYLOAD = "payload"
FREE_JOINT = "floating_base"


@dataclass(frozen=True)
class ContactSettings:
    """Settings of MuJoCo's soft contacts; the defaults are the best of the table above.

    Attributes:
        inner_step: longest integration step, s.
        time_constant: of the contacts along their normal (solref), s, >= 2 inner_step.
        friction_time_constant: of wheel slip (solreffriction), s; at least 2 inner_step, the
            limit of stability, is used.
        impedance: solimp's d0 and dmax, 0..1; the nearer to 1 the stiffer the contact.
        elliptic: elliptic friction cones; pyramidal ones let a wheel climb on its own friction.
        impratio: stiffness of friction relative to the normal force.
        wheel_friction: Coulomb coefficient of the wheels; None for the robot's own.
    """

    inner_step: float = 0.0005
    time_constant: float = 0.004
    friction_time_constant: float = 0.0
    impedance: tuple[float, float] = (0.99, 0.999)
    elliptic: bool = True
    impratio: float = 10.0
    wheel_friction: float | None = None


def build_model(robot: Robot, urdf_text: str, settings: ContactSettings) -> mujoco.MjModel:
    """Compile the robot's URDF with a floor at z = 0, a free base and an empty payload body.

    The URDF gives masses, joints and shapes; the robot its joint names and its friction.

    Raises:
        ValueError: the URDF lacks a wheel joint or a wheel has no collision shape.
    """
    spec = mujoco.MjSpec.from_string(_without_visuals(urdf_text))
    _set_options(spec, settings)
    base = spec.worldbody.first_body()
    base.add_freejoint(name=FREE_JOINT)
    base.add_body(name=PAYLOAD)
    floor = spec.worldbody.add_geom(
        name=FLOOR, type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], condim=1, friction=[0, 0, 0]
    )
    floor.contype, floor.conaffinity = 1, 0
    _set_contact(floor, settings)
    wheels = _wheel_geoms(spec, robot)
    for geom in spec.geoms:
        if geom is not floor and geom.name != FLOOR:
            # Everything meets the floor only: bits of the floor's contype.
            geom.contype, geom.conaffinity = 0, 1
            geom.condim, geom.friction = _caster_friction(robot)
            _set_contact(geom, settings)
    for geom in wheels:
        geom.conaffinity = 0
        _add_wheel_pair(spec, geom.name, robot, settings)
    model = spec.compile()
    set_inner_step(model, settings.inner_step, settings)
    return model


def set_inner_step(model: mujoco.MjModel, inner_step: float, settings: ContactSettings) -> None:
    """Set the integration step (s) and the fastest stable decay of wheel slip that goes with it."""
    model.opt.timestep = inner_step
    model.pair_solreffriction[:, 0] = max(settings.friction_time_constant, 2.0 * inner_step)


def set_payload_mass(
    model: mujoco.MjModel, mass: float, x: float, z: float, yaw_inertia: float
) -> None:
    """Write a payload into a compiled model; arguments as in Simulator.set_payload."""
    body = model.body(PAYLOAD)
    body.mass[:] = mass
    body.ipos[:] = (x, 0.0, z)
    # Only the yaw inertia is known; equal ones about the other axes are always possible.
    body.inertia[:] = yaw_inertia
    mujoco.mj_setConst(model, mujoco.MjData(model))


def _without_visuals(text: str) -> str:
    """Drop pictures: the physics has no use for them, and MuJoCo would look for their meshes."""
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


def _set_contact(element: mujoco.MjsGeom | mujoco.MjsPair, settings: ContactSettings) -> None:
    element.solref[0] = settings.time_constant
    element.solimp[:2] = settings.impedance


def _caster_friction(robot: Robot) -> tuple[int, list[float]]:
    coefficient = robot.contact.caster_friction
    return (3 if coefficient > 0.0 else 1), [coefficient, 0.0, 0.0]


def _wheel_geoms(spec: mujoco.MjSpec, robot: Robot) -> list[mujoco.MjsGeom]:
    """The wheels' collision shapes, named; their joints get the robot's friction."""
    geoms = []
    for i, name in enumerate((robot.joints.left, robot.joints.right)):
        joint = spec.joint(name)
        if joint is None:
            raise ValueError(f"the URDF of {robot.name} has no joint {name!r}; see robot.joints")
        joint.damping = _first_entry(joint.damping, robot.friction.viscous[i])
        joint.frictionloss = robot.friction.coulomb[i]
        # Stiff, so that a wheel at rest holds instead of creeping.
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


def _first_entry(old: object, value: float) -> object:
    """MuJoCo 4 keeps damping as polynomial coefficients, earlier versions as one number."""
    return value if np.ndim(old) == 0 else [value, *np.asarray(old)[1:]]


def _add_wheel_pair(
    spec: mujoco.MjSpec, geom: str, robot: Robot, settings: ContactSettings
) -> None:
    """An explicit contact pair: only pairs have a time constant of their own for friction."""
    coefficient = settings.wheel_friction or robot.contact.wheel_friction
    pair = spec.add_pair(geomname1=FLOOR, geomname2=geom, condim=3)
    pair.friction[:2] = coefficient
    pair.solreffriction[:] = (2.0 * settings.inner_step, 1.0)
    _set_contact(pair, settings)
