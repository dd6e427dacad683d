# SPDX-License-Identifier: Apache-2.0
"""Make and keep the environment that ./diffbot runs in.

These modules use the standard library only and import nothing of the rest of the suite, because
they run before any environment exists.
"""
