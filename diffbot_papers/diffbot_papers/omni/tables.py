"""What Conceicao, Moreira and Costa (2006) print: Tables 1 to 6. Data only.

Source: Dynamic parameters identification of an omni-directional mobile robot, Proceedings of the
3rd International Conference on Informatics in Control, Automation and Robotics (ICINCO 2006),
pp. 565-570, DOI 10.5220/0001220805650570. Order of axes: [V, Vn, W].
"""

from __future__ import annotations

from typing import NamedTuple

MASS = 35.0
"""M, weighed, kg; section 3."""

GRAVITY = 9.8
"""g of (21), m/s^2."""

DISC_RADIUS = 0.25
"""r_m of (20), m."""

SAMPLE_PERIOD = 0.04
"""s, of Figs. 6 and 7, which count samples. Not printed: 1.3 m/s take 33 samples to stop there, and
with the friction of Table 5 and M they take 1.3 s."""


class Friction(NamedTuple):
    """Friction of the axes [V, Vn, W]; of [V, Vn] alone where the paper gives none of W.

    Attributes:
        viscous: [B_v, B_vn, B_w], N/(m/s), N/(m/s), N m/(rad/s).
        coulomb: [C_v, C_vn, C_w], N, N, N m.
    """

    viscous: tuple[float, ...]
    coulomb: tuple[float, ...]


TABLE_1_SPEEDS = (0.6, 0.8, 1.0, 1.2)
"""Applied V, Vn in m/s and W in rad/s: the same four numbers for each."""

TABLE_1_FORCES = (
    (30.585, 31.459, 31.874, 32.765),
    (30.285, 30.814, 31.174, 32.106),
    (5.556, 5.730, 5.842, 6.009),
)
"""Resulting F_v and F_vn in N, Gamma in N m."""

TABLE_2 = Friction((3.45, 2.90, 0.73), (28.55, 28.46, 5.12))
"""Friction by method 1."""

TABLE_3_PER_MASS = Friction((0.11, 0.10), (0.86, 0.87))
"""Coefficients B / M in 1/s and C / M in m/s^2 of method 2, as printed in its equations."""

TABLE_3 = Friction((4.01, 3.77), (30.35, 30.76))
"""Friction by method 2."""


class HangingRow(NamedTuple):
    """One experiment of Table 4.

    Attributes:
        load: m_o, the falling mass, kg; section 3.3.
        torque: Gamma, N m.
        acceleration: dW/dt, rad/s^2.
        inertia: J as printed, kg m^2.
    """

    load: float
    torque: float
    acceleration: float
    inertia: float


TABLE_4 = (
    HangingRow(0.510, 1.2495, 0.9126, 1.3691),
    HangingRow(0.510, 1.2495, 0.8942, 1.3974),
    HangingRow(0.510, 1.2495, 0.8947, 1.3965),
    HangingRow(1.0, 2.4500, 1.7512, 1.3990),
)
"""Inertia by method 3."""

TABLE_5_MEAN = Friction((3.73, 3.34, 0.73), (29.45, 29.61, 5.12))
"""Means of methods 1 and 2 (of method 1 alone for W)."""

TABLE_6_METHODS_1_2 = 1.358
"""J by methods 1 and 2, kg m^2."""

TABLE_6_METHOD_3 = 1.390
"""J by method 3, mean of Table 4, kg m^2."""

TABLE_6_MEAN = 1.374
"""Mean of both, kg m^2."""
