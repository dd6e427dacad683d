# SPDX-License-Identifier: Apache-2.0
"""The robots of 2002 and 2006, and ``diffbot reproduce``: published results beside ours."""
