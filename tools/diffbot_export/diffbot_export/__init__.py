# SPDX-License-Identifier: Apache-2.0
"""Export of identified parameters to files that other software reads."""
