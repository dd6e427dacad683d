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
    """Prior knowledge of the parameters, before the first sample; standard deviations > 0.

    Attributes:
        values: [K5, K6, K7, K8]; `relative`: their relative standard deviations.
        friction: [viscous left, right in N m s/rad, Coulomb left, right in N m]; `friction_std`.
    """

    values: Four
    relative: Four = (0.5, 0.5, 0.5, 0.5)
    friction: Four = (0.0, 0.0, 0.0, 0.0)
    friction_std: Four = (math.inf,) * 4

    def of_axes(
        self, geometry: WheelGeometry, turning: bool = False
    ) -> tuple[AxisPrior, AxisPrior]:
        """Return the prior of the linear and of the angular axis.

        Their friction parameters are K7 or K8 times friction. With `turning`, that of omega is
        unknown.
        """
        k, spread = np.array(self.values), np.array(self.relative) * np.abs(self.values)
        friction, std = np.array(self.friction), np.array(self.friction_std)
        results = []
        for product, gain, terms in zip((0, 1), (2, 3), friction_terms(geometry), strict=True):
            torques = terms @ friction  # per K7 or K8
            mean = np.concatenate((k[[product, gain]], k[gain] * torques))
            # No 0 times infinity.
            spreads = k[gain] * terms * np.where(terms != 0.0, std, 0.0)
            variance = np.square(spreads).sum(axis=1)
            if turning and gain == 3:
                variance[1] = math.inf
            # parameter - torque * gain = 0, with this variance.
            apart = np.column_stack((np.zeros(4), -torques, np.eye(4)))
            information = apart.T @ (apart / variance[:, None])
            information[[0, 1], [0, 1]] += 1.0 / spread[[product, gain]] ** 2
            results.append(AxisPrior(mean, information))
        return results[0], results[1]
