# SPDX-License-Identifier: Apache-2.0
"""Estimators of K5..K8 and friction from wheel angles and torques."""
