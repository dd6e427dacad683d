# SPDX-License-Identifier: Apache-2.0
"""Stages of the recommended estimator of K5..K8, friction and delay: regression.py."""
