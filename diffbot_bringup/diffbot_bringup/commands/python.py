"""``diffbot python``: run Python where the suite can be imported."""

import os
import sys

SUMMARY = "run Python in the suite's environment, for example on a file of benchmarks/"


def main(argv: list[str]) -> int:
    """Become Python with these arguments; does not return."""
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *argv])
