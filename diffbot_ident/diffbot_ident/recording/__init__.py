# SPDX-License-Identifier: Apache-2.0
"""Identification from recordings: sources, segments, analyses and the command `identify`."""
