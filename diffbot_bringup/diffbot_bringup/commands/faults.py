# SPDX-License-Identifier: Apache-2.0
"""``diffbot faults``: the fault table, each promise of the nodes attacked.

The table is a package of the tests, test/faults in the checkout.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main(argv: list[str]) -> int:
    """Run the rows, print the table and write it; returns the exit status."""
    root = os.environ.get("DIFFBOT_ROOT", "")
    if not root:
        print("diffbot faults: run it as ./diffbot faults in the checkout", file=sys.stderr)
        return 2
    sys.path.insert(0, str(Path(root) / "test"))
    from faults.command import main as run

    return int(run(argv))
