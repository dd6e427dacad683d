# SPDX-License-Identifier: Apache-2.0
"""Entry points of the suite: the `diffbot` command, its launch runner and the recorder."""
