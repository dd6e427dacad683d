# SPDX-License-Identifier: Apache-2.0
"""`identify` as its tests run it."""

import json

import numpy as np

from diffbot_recordings.identify import main
from diffbot_recordings.samples import EFFORTS, POSITIONS, WHEELS


def identify(tmp_path, *arguments, pictures=False):
    """Exit status and summary.json of `identify`, if there is one; None without.

    The first folder of results is `out`: a second run there is refused.
    """
    number = len(list(tmp_path.glob("out*"))) or ""
    output = tmp_path / f"out{number}"
    quick = () if pictures else ("--no-pictures",)
    status = main([*map(str, arguments), *quick, "--output", str(output)])
    path = output / "summary.json"
    return status, json.loads(path.read_text()) if path.exists() else None


TORQUE_COLUMNS = ("time", *POSITIONS, *WHEELS, *EFFORTS)


def torque_rows(samples):
    """Rows of TORQUE_COLUMNS from joint samples, shape (n, 7)."""
    return np.array([(s.stamp, *s.position, *s.velocity, *s.effort) for s in samples])


def write_table(path, rows, header=TORQUE_COLUMNS):
    """Write rows of numbers below a header; return the path."""
    lines = [",".join(f"{value:.9g}" for value in row) for row in rows]
    path.write_text("\n".join((",".join(header), *lines)) + "\n")
    return path
