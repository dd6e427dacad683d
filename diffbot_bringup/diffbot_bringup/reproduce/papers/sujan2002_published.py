"""Tables 1 and 2 of Sujan and Dubowsky (2002) as printed."""

from __future__ import annotations

import numpy as np

# Constant and variable excitation, in the order of compliant_base.parameters.NAMES.
TABLE_1_CONSTANT = np.array(
    [4.021, 0.123, 0.054, 0.119, 0.045, 0.071, 0.037, 0.030, 0.512, -1.053]
    + [142.554, 139.956, 22.368, 78.665, 105.061, 133.714]
    + [1103.281, 1094.529, 390.469, 945.103, 1950.426, 2402.537]
)
TABLE_1_VARIABLE = np.array(
    [3.655, 0.144, 0.089, 0.177, 0.011, 0.047, 0.014, 0.012, 0.360, 0.042]
    + [78.362, 75.559, 16.757, 195.264, 266.254, 333.860]
    + [979.494, 1244.836, 375.479, 1934.569, 2394.257, 2891.637]
)
TABLE_1_AVERAGES = (108.8, 18.9)

# Name, unit, true value, constant excitation, variable excitation.
TABLE_2 = (
    ("inertia x", "kg m²", 0.072, 0.041, 0.035),
    ("c.g. y", "m", 0.054356, -0.072, 0.072),
    ("c.g. z", "m", 0.036195, -0.091, 0.052),
    ("damping pitch", "N m s/rad", 1.5, 7.543, 1.459),
    ("stiffness pitch", "N m/rad", 317.0, 354.711, 327.885),
)
TABLE_2_AVERAGES = (208.4, 26.8)

# Section 6.1: CPU time of one evaluation step on a Pentium III at 750 MHz, s.
EVALUATION = 0.075
