# SPDX-License-Identifier: Apache-2.0
"""Torques that excite a robot for identification, within its room and speed limits."""
