# SPDX-License-Identifier: Apache-2.0
"""Rows of the fault table, by group."""

from __future__ import annotations
