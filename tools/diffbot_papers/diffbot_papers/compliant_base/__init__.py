# SPDX-License-Identifier: Apache-2.0
"""A mobile robot on a compliant base, identified by the motion that its arm excites (2002 paper).

Sujan, V. A. and Dubowsky, S. (2002): Metric based dynamic parameter identification for mobile
field manipulator systems. ASME DETC2002/MECH-34355. Equation numbers are that paper's.
"""

from __future__ import annotations
