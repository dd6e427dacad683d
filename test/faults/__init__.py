# SPDX-License-Identifier: Apache-2.0
"""The fault table: the suite's promises for faults, each tested by an attack."""

from __future__ import annotations
