# SPDX-License-Identifier: Apache-2.0
"""Dynamics of robots that take velocity commands: sigma1..sigma4 of the 2023 paper."""
