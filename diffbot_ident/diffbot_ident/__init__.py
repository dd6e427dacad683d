# SPDX-License-Identifier: Apache-2.0
"""Identification of the dynamic parameters K5..K8 of differential-drive robots."""
