# SPDX-License-Identifier: Apache-2.0
"""Samples before they become rows: when readings were taken, and the wheels' speeds then."""
