# SPDX-License-Identifier: Apache-2.0
"""Torques that make a robot tell its parameters, within its room and speed."""
