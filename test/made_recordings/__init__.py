# SPDX-License-Identifier: Apache-2.0
"""Recordings with a known truth, made for tests and benchmarks of `identify` and `fleet`."""
