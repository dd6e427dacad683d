# SPDX-License-Identifier: Apache-2.0
"""The executables of this package; see diffbot_node/executables.py."""

from __future__ import annotations

from diffbot_node.executables import Executable

ident = Executable("diffbot_ident.ident_node", "IdentNode")
velocity_ident = Executable("diffbot_ident.velocity_ident_node", "VelocityIdentNode")
dynamics_estimator = Executable("diffbot_ident.estimator_node", "EstimatorNode")
