# SPDX-License-Identifier: Apache-2.0
"""Tracking by velocity commands: (9)-(12) of Siwek et al. (2023), after Klancar et al. (2005)."""
