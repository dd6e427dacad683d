# SPDX-License-Identifier: Apache-2.0
"""A differential-drive robot as three separate rigid bodies held together by constraints.

This knows nothing of the closed form, of M_e or of I_e. Coordinates (11): body x, y, theta; left
wheel x, y, theta, spin; right wheel likewise. The body's x, y are its own centre of mass. The
equations of motion are M q'' = Q + A(q)^T lambda with A(q) q' = 0; A's derivative along the motion
comes from complex-step differentiation, which is exact to rounding.
"""

from __future__ import annotations

import numpy as np

from diffbot_description import RobotModel

BODY, LEFT, RIGHT = slice(0, 3), slice(3, 7), slice(7, 11)


def constraint_matrix(model: RobotModel, q: np.ndarray) -> np.ndarray:
    """Return A(q) (10, 11); its rows are axle joints (3 per wheel) and rolling (2 per wheel)."""
    rows = []
    theta = q[2]
    for wheel, side in ((LEFT, 1.0), (RIGHT, -1.0)):
        first = wheel.start
        # The wheel's centre is the body's point (-d, side b), in the body's own frame.
        px, py = -model.com_offset, side * model.half_track
        kept = np.zeros((3, 11), dtype=q.dtype)
        kept[0, [0, first]] = 1, -1
        kept[0, 2] = -np.sin(theta) * px - np.cos(theta) * py
        kept[1, [1, first + 1]] = 1, -1
        kept[1, 2] = np.cos(theta) * px - np.sin(theta) * py
        kept[2, [2, first + 2]] = 1, -1
        heading = q[first + 2]
        rolling = np.zeros((2, 11), dtype=q.dtype)
        rolling[0, first : first + 2] = np.cos(heading), np.sin(heading)
        rolling[0, first + 3] = -model.wheel_radius
        rolling[1, first : first + 2] = -np.sin(heading), np.cos(heading)
        rows += [kept, rolling]
    return np.vstack(rows)


def mass_matrix(model: RobotModel) -> np.ndarray:
    """Return the diagonal mass matrix (11, 11) of the three free bodies."""
    wheel = [
        model.wheel_mass,
        model.wheel_mass,
        model.wheel_inertia_yaw,
        model.wheel_inertia_spin,
    ]
    return np.diag([model.mass_body, model.mass_body, model.inertia_body, *wheel, *wheel])


def configuration(model: RobotModel, theta: float) -> np.ndarray:
    """Return q (11,) with the axle's midpoint at the origin and heading theta [rad]."""
    c, s = np.cos(theta), np.sin(theta)
    d, b = model.com_offset, model.half_track
    return np.array(
        [d * c, d * s, theta, -b * s, b * c, theta, 0.0, b * s, -b * c, theta, 0.0], dtype=float
    )


def accelerations(
    model: RobotModel, theta: float, velocity: tuple[float, float], torque: tuple[float, float]
) -> tuple[float, float]:
    """Return (v', w') of the axle's midpoint [m/s^2, rad/s^2].

    ``velocity``: (v, w) [m/s, rad/s]; ``torque``: (left, right) [N m]. A wheel motor's reaction
    on the body acts about the axle, across the plane, so it does no work here.
    """
    q = configuration(model, theta)
    a = constraint_matrix(model, q)
    qd = _admissible_velocity(a, velocity)
    step = 1e-30
    a_dot = constraint_matrix(model, q + 1j * step * qd).imag / step
    force = np.zeros(11)
    force[6], force[10] = torque
    mass = mass_matrix(model)
    # Both wheels' no-side-slip rows say the same of one rigid robot: the last one is left out.
    a, a_dot = a[:-1], a_dot[:-1]
    count = len(a)
    # Scaled rows and columns keep the system well conditioned for every size of robot.
    system = np.block([[mass, -a.T], [a, np.zeros((count, count))]])
    right = np.concatenate([force, -a_dot @ qd])
    scale = 1 / np.sqrt(np.concatenate([np.diag(mass), np.full(count, 1 / mass[0, 0])]))
    qdd = (scale * np.linalg.solve(scale[:, None] * system * scale, scale * right))[:11]
    # Both wheels roll, so the midpoint's forward speed is the mean of r times their spin.
    forward = model.wheel_radius * (qdd[6] + qdd[10]) / 2
    return float(forward), float(qdd[2])


def _admissible_velocity(a: np.ndarray, velocity: tuple[float, float]) -> np.ndarray:
    """Return the q' (11,) that keeps all constraints and has the wanted (v, w)."""
    wanted = np.zeros((2, 11))
    wanted[0, [6, 10]] = 0.5  # mean wheel speed, times r below
    wanted[1, 2] = 1.0
    radius = -a[3, 6]
    system = np.vstack([a, wanted])
    right = np.concatenate([np.zeros(len(a)), [velocity[0] / radius, velocity[1]]])
    qd, _, rank, _ = np.linalg.lstsq(system, right, rcond=None)
    assert rank == 11
    return qd
