# SPDX-License-Identifier: Apache-2.0
"""The closed form against MuJoCo's mass matrix of the URDF, in space.

MuJoCo reads the URDF by its own means and gives the mass matrix and the velocity forces of the
floating robot with turning wheels. Here the ground is added as exact constraints: the body stays
level, and the lowest point of each wheel stands still. No contact solver takes part.
"""

import numpy as np
import pytest
from strict_urdf import model_of

from diffbot_description import closed_form, load_robot, urdf

mujoco = pytest.importorskip("mujoco")


class SpatialRobot:
    """A robot that rolls on exact constraints; generalised velocity (8,)."""

    def __init__(self, robot):
        spec = mujoco.MjSpec.from_string(urdf(robot))
        spec.body("base_link").add_freejoint()
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.radius = robot.wheels.radius
        self.half_track = robot.wheels.half_track
        self.wheels = [self.model.body(f"{side}_wheel_link").id for side in ("left", "right")]

    def constraints(self, position):
        """Return A (9, 8): no height, roll or pitch rate; contact points at rest."""
        self.data.qpos[:] = position
        mujoco.mj_forward(self.model, self.data)
        level = np.zeros((3, 8))
        level[[0, 1, 2], [2, 3, 4]] = 1
        rows = [level]
        for wheel in self.wheels:
            jacobian = np.zeros((3, 8))
            point = self.data.xpos[wheel] - [0, 0, self.radius]
            mujoco.mj_jac(self.model, self.data, jacobian, None, point, wheel)
            rows.append(jacobian)
        return np.vstack(rows)

    def accelerations(self, velocity, torque):
        """Return (v', w') at heading 0 for (v, w) and torque (left, right)."""
        v, w = velocity
        start = np.array([0, 0, self.radius, 1, 0, 0, 0, 0.3, -0.7])
        spin = [(v - w * self.half_track) / self.radius, (v + w * self.half_track) / self.radius]
        rate = np.array([v, 0, 0, 0, 0, w, *spin])
        a_dot = self._constraint_rate(start, rate)
        a = self.constraints(start)
        assert a @ rate == pytest.approx(np.zeros(9), abs=1e-12)
        self.data.qvel[:] = rate
        mujoco.mj_forward(self.model, self.data)
        mass = np.zeros((8, 8))
        for row, unit in zip(mass, np.eye(8), strict=True):
            mujoco.mj_mulM(self.model, self.data, row, unit)
        force = -self.data.qfrc_bias.copy()
        force[6:] += torque
        # Some constraints say the same: the least-squares solution has the right acceleration.
        system = np.block([[mass, -a.T], [a, np.zeros((9, 9))]])
        right = np.concatenate([force, -a_dot @ rate])
        qdd = np.linalg.lstsq(system, right, rcond=None)[0]
        return qdd[0], qdd[5]

    def _constraint_rate(self, start, rate, step=1e-4):
        sides = []
        for sign in (1, -1):
            position = start.copy()
            mujoco.mj_integratePos(self.model, position, rate, sign * step)
            sides.append(self.constraints(position))
        return (sides[0] - sides[1]) / (2 * step)


@pytest.mark.parametrize("name", ["twil", "agv"])
def test_closed_form_is_the_motion_in_space(name):
    robot = load_robot(name)
    spatial = SpatialRobot(robot)
    k = closed_form(model_of(urdf(robot)))
    rng = np.random.default_rng(2)
    for _ in range(50):
        (v, w), (left, right) = rng.uniform(-2, 2, 2), rng.uniform(-5, 5, 2)
        result = spatial.accelerations((v, w), (left, right))
        terms_v = [k.k5 * w**2, k.k7 * left, k.k7 * right]
        terms_w = [k.k6 * v * w, k.k8 * left, -k.k8 * right]
        # 1e-6: the constraints' rate is a finite difference.
        assert result[0] == pytest.approx(sum(terms_v), abs=1e-6 * max(map(abs, terms_v)))
        assert result[1] == pytest.approx(sum(terms_w), abs=1e-6 * max(map(abs, terms_w)))
