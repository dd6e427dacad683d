# SPDX-License-Identifier: Apache-2.0
"""Dry friction of the wheels in MuJoCo, exact enough to identify a robot by it.

MuJoCo holds a joint with dry friction by a soft constraint (`frictionloss`): it asks for the
torque that takes the joint's speed away within a time constant, 20 ms by default, and cuts it off
at the friction. Slower than that a wheel feels a damper and no friction, and one at rest creeps.
Here the time constant is two inner steps, the least that MuJoCo takes, which is the torque that
stops the wheel within the step: with the mass of whole robot and floor in it, as the constraint is
solved together with the contacts. Left over is the constraint's compliance, 1e-4 of the wheel's
inertia; it is taken relative to a hundredth of the inertia of a rolling robot and not to that of
the wheel alone, so that a wheel at 99.9 % of its limit creeps by 2e-9 rad/s and not 4e-6. The
solver then has to be more exact than by default. benchmarks/friction.py prints what comes out.

Friction that differs by direction is a constant torque and a symmetric limit. Where static
friction falls to Coulomb friction the limit changes with speed, and MuJoCo's inner steps are done
one by one; all other robots do them in one call.
"""

from __future__ import annotations

import mujoco

from diffbot_description import DynamicParameters, FrictionLaw, Robot, wheel_friction

# Of the inertia of a rolling robot: what the constraint's compliance is relative to.
COMPLIANCE = 0.01
# Of the solver, relative; by default 1e-8.
TOLERANCE = 1e-14


class WheelJointFriction:
    """Friction of the wheel joints of a compiled model.

    Args:
        model: changed in place; its joints have viscous friction of their own.
        robot: its friction.
        dofs: of the wheel joints [left, right].
    """

    def __init__(self, model: mujoco.MjModel, robot: Robot, dofs: list[int]) -> None:
        self._model = model
        self._robot = robot
        self._dofs = dofs
        self._laws: tuple[FrictionLaw[float], ...] = ()

    def load(self, parameters: DynamicParameters, mass: float = 0.0, x: float = 0.0) -> None:
        """Take a payload into account; see wheel_friction.

        Args:
            parameters: K5 to K8 with the payload.
            mass: of the payload, kg.
            x: of the payload, m ahead of the axle.
        """
        self._laws = wheel_friction(self._robot, mass, x)
        self._set_limits((0.0, 0.0))
        if not self._model.dof_frictionloss.any():
            return
        self._model.opt.tolerance = TOLERANCE
        half, radius = self._robot.wheels.half_track, self._robot.wheels.radius
        rolling = (parameters.k7 - half * parameters.k8) / radius
        self._model.dof_invweight0[self._dofs] = COMPLIANCE * rolling

    def set_inner_step(self, inner_step: float) -> None:
        """Stop a wheel within one inner step, s."""
        self._model.dof_solref[self._dofs] = (2.0 * inner_step, 1.0)

    def step(self, data: mujoco.MjData, torque: tuple[float, float], count: int) -> None:
        """Do inner steps with torques [left, right] in N m."""
        if all(law.static is None for law in self._laws):
            data.qfrc_applied[self._dofs] = [
                tau - offset for tau, offset in zip(torque, self._offsets, strict=True)
            ]
            mujoco.mj_step(self._model, data, nstep=count)
            return
        half_step = 0.5 * self._model.opt.timestep
        for _ in range(count):
            # The speed in the middle of the step, as the last step changed it.
            middle = data.qvel[self._dofs] + half_step * data.qacc[self._dofs]
            left, right = middle.tolist()
            self._set_limits((left, right))
            data.qfrc_applied[self._dofs] = [
                tau - offset for tau, offset in zip(torque, self._offsets, strict=True)
            ]
            mujoco.mj_step(self._model, data)

    def _set_limits(self, speeds: tuple[float, float]) -> None:
        """Dry friction in both directions for speeds [left, right] in rad/s."""
        offsets = []
        for dof, law, speed in zip(self._dofs, self._laws, speeds, strict=True):
            forward, backward = law.dry(speed, 1.0), law.dry(speed, -1.0)
            self._model.dof_frictionloss[dof] = 0.5 * (forward + backward)
            offsets.append(0.5 * (forward - backward))
        self._offsets = offsets
