"""Numbers of Siwek et al. (2023), Tables 1-4, as printed."""

from __future__ import annotations

import numpy as np

from diffbot_ident.velocity.sigma import Sigma

NAMES = ("σ1", "σ2", "σ3", "σ4")
UNITS = ("s", "s", "", "")

# Table 1, identified values [sigma1, sigma2, sigma3, sigma4], and time in s.
TABLE_1 = np.array(
    [
        (4.09, 5.46, 0.97, 0.29),
        (3.14, 4.06, 0.81, 0.24),
        (3.14, 4.17, 0.83, 0.24),
        (3.49, 4.63, 0.85, 0.24),
        (3.37, 4.56, 0.84, 0.26),
    ]
)
TABLE_1_AVERAGE = (3.47, 4.58, 0.87, 0.25)
TABLE_1_DEVIATION = (0.35, 0.49, 0.06, 0.02)
TABLE_1_SECONDS = 6.13

# Table 2, initial values of the five tests, and the deviation of what was identified.
TABLE_2_STARTS = (
    Sigma(0.60, 0.71, 0.22, 0.12),
    Sigma(0.93, 0.73, 0.49, 0.58),
    Sigma(0.24, 0.46, 0.96, 0.55),
    Sigma(0.52, 0.23, 0.49, 0.62),
    Sigma(0.68, 0.39, 0.37, 0.99),
)
TABLE_2_AVERAGE = (3.39, 4.21, 0.84, 0.26)
TABLE_2_DEVIATION = (0.24, 0.21, 0.06, 0.03)
TABLE_3_AVERAGE = (3.65, 4.51, 0.85, 0.22)
TABLE_3_DEVIATION = (0.03, 0.02, 0.04, 0.01)

# The start of the simulations and laboratory tests with RLS (sections 4.3, 4.5).
RLS_START = TABLE_2_STARTS[3]

WAYS = ("L-M", "RLS", "RLS + L-M")
ERRORS = ("e_x", "e_y", "e_θ", "e_v", "e_ω")
ERROR_UNITS = ("m", "m", "rad", "m/s", "rad/s")
# Table 4 by way: largest errors, and the regulation time in s.
SIMULATION = {
    "L-M": ((0.007, 0.007, 0.021, 0.001, 0.007), 8.2),
    "RLS": ((0.009, 0.016, 0.022, 0.001, 0.015), 7.8),
    "RLS + L-M": ((0.005, 0.002, 0.001, 0.001, 0.017), 4.8),
}
LABORATORY = {
    "L-M": ((0.033, 0.046, 0.2, 0.023, 0.18), 2.9),
    "RLS": ((0.021, 0.013, 0.025, 0.011, 0.033), 7.5),
    "RLS + L-M": ((0.009, 0.008, 0.012, 0.001, 0.033), 1.6),
}
# The best errors of position and heading in Table 4.
BEST_BAND = (0.005, 0.002, 0.001)

# The simulated robot's true sigma: what the rows of Table 1 average to.
TRUE = Sigma(*TABLE_1.mean(axis=0).tolist())
