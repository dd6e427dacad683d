# SPDX-License-Identifier: Apache-2.0
"""The commands that run inside an environment; each module has main(argv)."""
