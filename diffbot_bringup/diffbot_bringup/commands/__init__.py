# SPDX-License-Identifier: Apache-2.0
"""The commands that run inside an environment; see ../cli.py."""
