# SPDX-License-Identifier: Apache-2.0
"""A four-wheel omnidirectional robot: motion, friction and inertia, and how to identify them.

docs/theory/omni.md has the paper (Conceicao, Moreira, Costa, 2006), equations and derivations.
Body [V, Vn, W], V forward, Vn to the left, W counter-clockwise; wheels as in Fig. 1(b).
"""
