"""A four-wheel omnidirectional robot: motion, friction and inertia, and how to identify them.

A. Scolari Conceicao, A. P. Moreira, P. J. Costa: Dynamic parameters identification of an
omni-directional mobile robot, ICINCO 2006. Where each equation is:

    (1)-(3)    body: F = M dV/dt + B V + C sgn V        viscous_coulomb.py, simulation.py
    (4)-(6)    body forces from wheel forces            kinematics.py
    (7)-(10)   DC motors, gears, supply limit           motor.py
    (11)-(12)  pose and wheel speeds, and the inverse   kinematics.py
    (13)-(15)  method 1, steady speed                   steady_fit.py
    (16)-(18)  method 2, coasting                       coasting.py, coasting_fit.py,
               as printed: Euler and least squares      coasting_published.py
    (18)       methods 1 + 2, inertia                   coasting_inertia.py
    (19)-(21)  method 3, hanging inertia                hanging.py
    Tables     what the paper prints                    published.py

The experiments as simulations: steady_experiment.py, coasting_experiment.py, hanging.py, with the
robot of robot.py, its speed loop of speed_loop.py and the noise of sensors.py.

Order everywhere: body velocities [V, Vn, W], V forward, Vn to the left, W counter-clockwise; wheels
[1, 2, 3, 4] as in Fig. 1(b). Arrays may have any number of leading dimensions, such as runs.
"""

from __future__ import annotations
