# SPDX-License-Identifier: Apache-2.0
"""Laws of the suite and of others on the same simulated robots: `bench --control`."""
