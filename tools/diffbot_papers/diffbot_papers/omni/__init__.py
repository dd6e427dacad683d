# SPDX-License-Identifier: Apache-2.0
"""A four-wheel omnidirectional robot: motion, friction and inertia, and how to identify them.

docs/theory/omni.md has the paper (Conceicao, Moreira, Costa, 2006), equations and derivations.
Order throughout: body [V, Vn, W], V forward, Vn to the left, W counter-clockwise; wheels [1, 2, 3,
4] as in Fig. 1(b). Arrays may have any leading dimensions, such as runs.
"""
