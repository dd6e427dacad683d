# SPDX-License-Identifier: Apache-2.0
"""Dry friction of the wheels in MuJoCo, accurate enough for identification.

MuJoCo models dry friction of a joint by a soft constraint (`frictionloss`): it computes the torque
that stops the joint within a time constant, 20 ms by default, and limits it to the friction. At low
speed a wheel therefore feels a damper instead of friction, and a wheel at rest creeps.

Here the time constant is two inner steps, the minimum of MuJoCo, which gives the torque that stops
the wheel within the step. This torque accounts for the mass of the whole robot and for the floor,
as the constraint is solved together with the contacts. What remains is the constraint's compliance,
1e-4 of an inverse inertia: by default that of the wheel alone, here a hundredth of that of a
rolling robot, so that a wheel at 99.9 % of its limit creeps by 2e-9 rad/s and not 4e-6. The solver
must then be more accurate than by default. benchmarks/friction.py prints the result.

Friction that differs by direction is modelled by a constant torque and a symmetric limit. If static
friction falls to Coulomb friction, the limit changes with speed, and MuJoCo's inner steps are
called one by one; all other robots do them in one call.
"""

from __future__ import annotations

import mujoco

from diffbot_description import DynamicParameters, FrictionLaw, Robot, wheel_friction

# Share of the inverse inertia of a rolling robot that scales the constraint's compliance.
COMPLIANCE = 0.01
# Relative tolerance of the solver; MuJoCo's default is 1e-8.
TOLERANCE = 1e-14


class WheelJointFriction:
    """Friction of the wheel joints of a compiled model.

    Args:
        model: The model, changed in place; viscous friction is part of its joints.
        robot: The robot; its friction is used.
        dofs: Degrees of freedom of the wheel joints [left, right].
    """

    def __init__(self, model: mujoco.MjModel, robot: Robot, dofs: list[int]) -> None:
        self._model = model
        self._robot = robot
        self._dofs = dofs
        self._laws: tuple[FrictionLaw[float], ...] = ()

    def load(self, parameters: DynamicParameters, mass: float = 0.0, x: float = 0.0) -> None:
        """Take a payload into account; see wheel_friction.

        Args:
            parameters: K5 to K8, including the payload.
            mass: Mass of the payload, kg.
            x: Position of the payload ahead of the axle, m.
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
        """Set the time constant so that friction stops a wheel within one inner step, s."""
        self._model.dof_solref[self._dofs] = (2.0 * inner_step, 1.0)

    def step(self, data: mujoco.MjData, torque: tuple[float, float], count: int) -> None:
        """Do `count` inner steps with torques [left, right] in N m."""
        if all(law.static is None for law in self._laws):
            data.qfrc_applied[self._dofs] = [
                tau - offset for tau, offset in zip(torque, self._offsets, strict=True)
            ]
            mujoco.mj_step(self._model, data, nstep=count)
            return
        half_step = 0.5 * self._model.opt.timestep
        for _ in range(count):
            # Speed at the middle of the step, extrapolated by the last step's acceleration.
            middle = data.qvel[self._dofs] + half_step * data.qacc[self._dofs]
            left, right = middle.tolist()
            self._set_limits((left, right))
            data.qfrc_applied[self._dofs] = [
                tau - offset for tau, offset in zip(torque, self._offsets, strict=True)
            ]
            mujoco.mj_step(self._model, data)

    def _set_limits(self, speeds: tuple[float, float]) -> None:
        """Set dry friction in both directions for speeds [left, right] in rad/s."""
        offsets = []
        for dof, law, speed in zip(self._dofs, self._laws, speeds, strict=True):
            forward, backward = law.dry(speed, 1.0), law.dry(speed, -1.0)
            self._model.dof_frictionloss[dof] = 0.5 * (forward + backward)
            offsets.append(0.5 * (forward - backward))
        self._offsets = offsets
