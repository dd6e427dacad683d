# SPDX-License-Identifier: Apache-2.0
"""What an estimate says of its robot: physical quantities, units, errors of geometry, its type."""
