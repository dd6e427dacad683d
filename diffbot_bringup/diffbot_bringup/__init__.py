# SPDX-License-Identifier: Apache-2.0
"""Start-up of the suite: the `diffbot` command, launch runner, plots and reports."""
