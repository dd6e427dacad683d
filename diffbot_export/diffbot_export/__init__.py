# SPDX-License-Identifier: Apache-2.0
"""What was identified, as files that other software reads."""
