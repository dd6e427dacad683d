# SPDX-License-Identifier: Apache-2.0
"""A mobile robot on a compliant base, identified by the motion that its arm excites.

docs/theory/compliant_base.md has the paper (Sujan and Dubowsky, 2002), equations and derivations.
"""

from __future__ import annotations
