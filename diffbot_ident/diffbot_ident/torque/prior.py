# SPDX-License-Identifier: Apache-2.0
"""What is known about a robot before its first sample; it is never forgotten."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_ident.torque.axis_fit import AxisPrior
from diffbot_ident.torque.estimate import Four
from diffbot_ident.torque.friction_fit import friction_terms


@dataclass(frozen=True)
class Prior:
    """Prior knowledge of the parameters, before the first sample.

    Attributes:
        values: [K5, K6, K7, K8].
        relative: Standard deviations of the values, relative to their size, > 0.
        friction: [viscous left, right in N m s/rad, Coulomb left, right in N m].
        friction_std: Standard deviations of the friction, in its units, > 0.
    """

    values: Four
    relative: Four = (0.5, 0.5, 0.5, 0.5)
    friction: Four = (0.0, 0.0, 0.0, 0.0)
    friction_std: Four = (math.inf,) * 4

    def of_axes(
        self, geometry: WheelGeometry, turning: bool = False
    ) -> tuple[AxisPrior, AxisPrior]:
        """Return the prior of the parameters of the linear and of the angular axis.

        The axes' friction parameters are K7 or K8 times friction, so the prior couples them to K7
        and K8. Where the floor resists turning, nothing is known about the parameter of omega.
        """
        k, spread = np.array(self.values), np.array(self.relative) * np.abs(self.values)
        friction, std = np.array(self.friction), np.array(self.friction_std)
        results = []
        for product, gain, terms in zip((0, 1), (2, 3), friction_terms(geometry), strict=True):
            torques = terms @ friction  # per K7 or K8
            mean = np.concatenate((k[[product, gain]], k[gain] * torques))
            # Zero coefficients keep an infinite uncertainty out.
            spreads = k[gain] * terms * np.where(terms != 0.0, std, 0.0)
            variance = np.square(spreads).sum(axis=1)
            if turning and gain == 3:
                variance[1] = math.inf
            # Each friction parameter obeys: parameter - torque * gain = 0, with this variance.
            apart = np.column_stack((np.zeros(4), -torques, np.eye(4)))
            information = apart.T @ (apart / variance[:, None])
            information[[0, 1], [0, 1]] += 1.0 / spread[[product, gain]] ** 2
            results.append(AxisPrior(mean, information))
        return results[0], results[1]
