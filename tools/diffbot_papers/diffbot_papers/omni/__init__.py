# SPDX-License-Identifier: Apache-2.0
"""A four-wheel omnidirectional robot: motion, friction and inertia, and how to identify them.

A. Scolari Conceicao, A. P. Moreira, P. J. Costa: Dynamic parameters identification of an
omni-directional mobile robot, ICINCO 2006. Equations and modules:

    (1)-(12)   friction, wheels, motors, pose           model.py
    (13)-(15)  method 1, steady speed                   identification.py
    (16)-(18)  methods 2 and 1 + 2, coasting            coasting.py
    (19)-(21)  method 3, hanging inertia                identification.py
    Tables     printed values                           conceicao2006.py

experiments.py simulates the experiments.

Order throughout: body velocities [V, Vn, W], V forward, Vn to the left, W counter-clockwise; wheels
[1, 2, 3, 4] as in Fig. 1(b). Arrays may have any number of leading dimensions, such as runs.
"""
