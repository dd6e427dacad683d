# SPDX-License-Identifier: Apache-2.0
"""``diffbot python``: run Python where the suite can be imported, and the tests' fault table."""

import os
import sys
from pathlib import Path


def main(argv: list[str]) -> int:
    """Become Python with these arguments; does not return."""
    folders = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    if root := os.environ.get("DIFFBOT_ROOT"):
        os.environ["PYTHONPATH"] = os.pathsep.join([*folders, str(Path(root) / "test")])
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *argv])
