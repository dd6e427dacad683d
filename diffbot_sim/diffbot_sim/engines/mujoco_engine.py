# SPDX-License-Identifier: Apache-2.0
"""Full contact physics of a robot's URDF on a floor in MuJoCo; see mujoco_model.py."""

from __future__ import annotations

import contextlib
import ctypes
import math
from functools import cache
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from diffbot_description import DynamicParameters, FrictionLaw, Robot, wheel_friction
from diffbot_description.robot import Pair
from diffbot_sim.engines.caster_drag import CasterDrag
from diffbot_sim.engines.contact_engine import ContactEngine
from diffbot_sim.engines.mujoco_model import (
    LEAST_SLIP_TIME,
    SOLVER_TOLERANCE,
    ContactSettings,
    specification,
    wheel_joint_settings,
)
from diffbot_sim.simulator import (
    LARGEST_TILT,
    SETTLING_TIME,
    Triple,
    check_payload,
    check_pose,
    roll_pitch_yaw,
)

PAYLOAD = "payload"
# Smallest share of the weight that each wheel must carry.
LEAST_LOAD = 0.01


@cache
def _stop_timers() -> None:
    """Stop the clock of MuJoCo's profiler, which takes an eighth of the time of a step."""
    with contextlib.suppress(OSError, ValueError):  # not Linux, or named otherwise
        (library,) = Path(mujoco.__file__).parent.glob("libmujoco.so*")
        ctypes.c_void_p.in_dll(ctypes.CDLL(str(library)), "mjcb_time").value = None


class MujocoSimulator(ContactEngine):
    """A robot with contacts, pitch and roll; see Simulator for the interface.

    Runs are bit-identical. `settings` are for measurements; the defaults are the best known.

    Raises:
        ValueError: The robot cannot stand on its wheels and casters.
    """

    def __init__(self, robot: Robot, settings: ContactSettings | None = None) -> None:
        _stop_timers()
        self._settings = settings or ContactSettings()
        super().__init__("MuJoCo", robot, self._settings.inner_step)
        spec = specification(robot, self._settings)
        spec.worldbody.first_body().add_body(name=PAYLOAD)
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)
        joints = [self._model.joint(name) for name in robot.joints.first]
        self._angle = [int(joint.qposadr[0]) for joint in joints]
        self._speed = [int(joint.dofadr[0]) for joint in joints]
        self._wheels = [int(joint.bodyid[0]) for joint in joints]
        self._friction = WheelJointFriction(self._model, robot, self._speed)
        self._friction.load(self.parameters())
        self._drag = CasterDrag(robot, self.parameters())
        self._inner_step = 0.0  # s; not set yet
        self._stand = self._settled()
        self.paused = False
        self.reset()

    def reset(self, pose: Triple = (0.0, 0.0, 0.0)) -> None:
        x, y, theta = check_pose(pose)
        mujoco.mj_resetData(self._model, self._data)
        turn = np.array([math.cos(theta / 2), 0.0, 0.0, math.sin(theta / 2)])
        mujoco.mju_mulQuat(self._data.qpos[3:7], turn, self._stand[3:7])
        self._data.qpos[:3] = x, y, self._stand[2]
        mujoco.mj_forward(self._model, self._data)
        self.time = 0.0
        self._theta = theta

    def _do_steps(self, count: int, torque: Pair, push: Pair, drag: Pair = (0.0, 0.0)) -> None:
        if self._drag.exists:
            force, moment = drag
            yaw = self._yaw()
            c, s = math.cos(yaw), math.sin(yaw)
            # The force acts on the ground, below the body's origin: a pitching moment.
            lever = -self._bare.wheel_radius * force
            self._data.qfrc_applied[:6] = c * force, s * force, 0.0, 0.0, lever, moment
        self._friction.step(self._data, torque, push, count)

    def _is_lost(self) -> bool:
        return bool(self._data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number)

    def wheel_angles(self) -> Pair:
        """See Simulator.wheel_angles.

        Set back by half an inner step, by which MuJoCo's angles are ahead of its velocities.
        """
        half_step = 0.5 * self._model.opt.timestep
        left, right = (
            float(self._data.qpos[angle] - half_step * self._data.qvel[speed])
            for angle, speed in zip(self._angle, self._speed, strict=True)
        )
        return left, right

    def wheel_velocities(self) -> Pair:
        """See Simulator.wheel_velocities; relative to the body, as encoders see them."""
        qvel = self._data.qvel
        return float(qvel[self._speed[0]]), float(qvel[self._speed[1]])

    def pose(self) -> Triple:
        """See Simulator.pose; corrected to the time of the velocities, like the wheel angles."""
        half_step = 0.5 * self._model.opt.timestep
        x, y = (self._data.qpos[:2] - half_step * self._data.qvel[:2]).tolist()
        return x, y, self._theta - half_step * self.velocity()[1]

    def _velocity(self, heading: float) -> Pair:
        vx, vy, _, *spin = self._data.qvel[:6].tolist()
        w, x, y, z = self._data.qpos[3:7].tolist()
        up = (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y))
        v = vx * math.cos(heading) + vy * math.sin(heading)
        return v, sum(a * b for a, b in zip(up, spin, strict=True))

    def close(self) -> None:
        """See Simulator.close."""

    def set_payload(self, mass: float, x: float, z: float, yaw_inertia: float) -> None:
        check_payload(mass, x, z, yaw_inertia)
        before = self._payload
        self._load(mass, x, z, yaw_inertia)
        try:
            self._settled()
        except ValueError:
            self._load(*before)
            raise

    def contact_loads(self) -> Triple:
        """Return the floor's normal forces on the left wheel, the right wheel and the rest, N."""
        return _contact_loads(self._model, self._data, self._wheels)

    def attitude(self) -> Triple:
        """Return the height of the axle's midpoint (m), and roll and pitch of the body (rad)."""
        roll, pitch, _ = roll_pitch_yaw(*self._data.qpos[3:7].tolist())
        return float(self._data.qpos[2]), roll, pitch

    def _load(self, mass: float, x: float, z: float, yaw_inertia: float) -> None:
        self._payload = (mass, x, z, yaw_inertia)
        body = self._model.body(PAYLOAD)
        body.mass[:] = mass
        body.ipos[:] = (x, 0.0, z)
        body.inertia[:] = yaw_inertia
        mujoco.mj_setConst(self._model, mujoco.MjData(self._model))
        self._friction.load(self.parameters(), mass, x)
        self._drag = CasterDrag(self._robot, self.parameters(), mass, x)

    def _set_inner_step(self, inner_step: float) -> None:
        if inner_step == self._inner_step:
            return
        super()._set_inner_step(inner_step)
        self._model.opt.timestep = inner_step
        stable = max(self._settings.friction_time_constant, LEAST_SLIP_TIME * inner_step)
        self._model.pair_solreffriction[:, 0] = stable
        self._friction.set_inner_step(inner_step)

    def _yaw(self) -> float:
        return roll_pitch_yaw(*self._data.qpos[3:7].tolist())[2]

    def _settled(self) -> NDArray[np.float64]:
        """Return the positions after SETTLING_TIME on the floor without torque, checked."""
        data = mujoco.MjData(self._model)
        self._set_inner_step(self._settings.inner_step)
        data.qpos[2] = self._bare.wheel_radius
        mujoco.mj_step(self._model, data, nstep=round(SETTLING_TIME / self._model.opt.timestep))
        tilt = 2.0 * math.hypot(data.qpos[4], data.qpos[5])
        *wheels, _ = _contact_loads(self._model, data, self._wheels)
        weight = -self._model.opt.gravity[2] * self._model.body_mass.sum()
        if not (tilt < LARGEST_TILT and min(wheels) > LEAST_LOAD * weight):
            mass, x, z, _ = self._payload
            load = f" with a payload of {mass:.3g} kg at x = {x:.3g} m, z = {z:.3g} m"
            raise ValueError(
                f"{self._robot.name} cannot stand: put on its wheels{load if mass else ''} it "
                f"leans {math.degrees(tilt):.1f} degrees after {SETTLING_TIME} s and its wheels "
                f"carry {wheels[0]:.3g} and {wheels[1]:.3g} of {weight:.3g} N; bring the centre "
                "of mass between wheels and casters, and the casters' lowest points to the height "
                "of the wheels'"
            )
        return np.array(data.qpos)


# Share of the inverse inertia of a rolling robot that scales the constraint's compliance.
COMPLIANCE = 0.01


class WheelJointFriction:
    """Friction of the wheel joints `dofs` [left, right] of a compiled model, changed in place."""

    def __init__(self, model: mujoco.MjModel, robot: Robot, dofs: list[int]) -> None:
        self._model = model
        self._robot = robot
        self._dofs = dofs
        self._laws: tuple[FrictionLaw[float], ...] = ()
        self._geared = self._sticks = False

    def load(self, parameters: DynamicParameters, mass: float = 0.0, x: float = 0.0) -> None:
        """Take a payload (kg, at x m) into account, and K5 to K8 with it; see wheel_friction."""
        self._laws = wheel_friction(self._robot, mass, x)
        self._geared = any(law.gear_loss for law in self._laws)
        self._sticks = any(law.static is not None for law in self._laws)
        self._set_limits((0.0, 0.0), (0.0, 0.0))
        if not self._geared and not self._model.dof_frictionloss.any():
            return
        self._model.opt.tolerance = SOLVER_TOLERANCE
        half, radius = self._robot.wheels.half_track, self._robot.wheels.radius
        rolling = (parameters.k7 - half * parameters.k8) / radius
        self._model.dof_invweight0[self._dofs] = COMPLIANCE * rolling

    def set_inner_step(self, inner_step: float) -> None:
        """Set what depends on the inner step, s."""
        for side, dof in enumerate(self._dofs):
            settings = wheel_joint_settings(self._robot, side, inner_step)
            self._model.dof_solref[dof] = settings.friction_solref
            self._model.dof_armature[dof] = settings.armature

    def step(self, data: mujoco.MjData, torque: Pair, push: Pair, count: int) -> None:
        """Do `count` inner steps with the torques of Simulator.step."""
        total = torque[0] + push[0], torque[1] + push[1]
        # Attributes of MuJoCo's objects are views that each access makes anew, slowly.
        applied = data.qfrc_applied
        if not self._sticks:
            if self._geared:
                self._set_limits((0.0, 0.0), torque)
            for dof, both, offset in zip(self._dofs, total, self._offsets, strict=True):
                applied[dof] = both - offset
            mujoco.mj_step(self._model, data, nstep=count)
            return
        half_step = 0.5 * self._model.opt.timestep
        wheels = [
            (dof, law.under(tau), both)
            for dof, law, tau, both in zip(self._dofs, self._laws, torque, total, strict=True)
        ]
        velocity, acceleration = data.qvel, data.qacc
        limits = self._model.dof_frictionloss
        for _ in range(count):
            for dof, law, both in wheels:
                middle = float(velocity[dof]) + half_step * float(acceleration[dof])
                limits[dof], offset = _dry_friction(law, middle)
                applied[dof] = both - offset
            mujoco.mj_step(self._model, data)

    def _set_limits(self, speeds: Pair, torque: Pair) -> None:
        offsets = []
        for dof, law, speed, tau in zip(self._dofs, self._laws, speeds, torque, strict=True):
            self._model.dof_frictionloss[dof], offset = _dry_friction(law.under(tau), speed)
            offsets.append(offset)
        self._offsets = offsets


def _dry_friction(law: FrictionLaw[float], speed: float) -> Pair:
    """Return mean and half difference, N m, of dry friction in both directions."""
    forward = law.dry(speed, 1.0)
    if law.coulomb_backward is None:
        return forward, 0.0
    backward = law.dry(speed, -1.0)
    return 0.5 * (forward + backward), 0.5 * (forward - backward)


def _contact_loads(model: mujoco.MjModel, data: mujoco.MjData, wheels: list[int]) -> Triple:
    """Return the floor's normal forces on the two wheels' bodies and on the rest, N."""
    loads = [0.0, 0.0, 0.0]
    force = np.zeros(6)
    for i in range(data.ncon):
        mujoco.mj_contactForce(model, data, i, force)
        body = int(model.geom_bodyid[max(data.contact[i].geom)])
        loads[wheels.index(body) if body in wheels else 2] += float(force[0])
    return loads[0], loads[1], loads[2]
