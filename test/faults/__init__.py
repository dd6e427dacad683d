# SPDX-License-Identifier: Apache-2.0
"""The fault table: what the suite promises when something goes wrong, each promise attacked."""

from __future__ import annotations
