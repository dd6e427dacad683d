#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`identify` on broken tables, SysId logs and bags: one sentence, no traceback, at most 10 s each.

    ./diffbot python benchmarks/broken_files.py [--files 200] [--seed 1000]

Files are generated and broken at random (made_recordings.broken_files). Prints a row for each kind:
the number of runs per exit status, the longest processor time, and violations; exit status 1 if
there are any.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from made_recordings.broken_files import broken, whole_files

from diffbot_ident.recording.identify import main as identify

LONGEST = 10.0  # s
ALLOWED = {0, 1, 2, 3}


def main() -> int:
    """Break files, and print the results of `identify`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1000)
    arguments = parser.parse_args()
    statuses: dict[str, Counter[int]] = defaultdict(Counter)
    slowest: dict[str, float] = defaultdict(float)
    findings = 0
    with tempfile.TemporaryDirectory() as scratch:
        kinds = list(whole_files(Path(scratch)).items())
        for number in range(arguments.files):
            name, whole = kinds[number % len(kinds)]
            rng = np.random.default_rng((arguments.seed, number))
            path = Path(scratch) / f"broken{whole.suffix}"
            path.write_bytes(broken(whole.read_bytes(), rng))
            status, seconds, problem = run(path, Path(scratch) / "out")
            statuses[name][status] += 1
            slowest[name] = max(slowest[name], seconds)
            if problem or seconds > LONGEST:
                findings += 1
                print(f"{name}, file {number}: {problem or f'{seconds:.1f} s'}")
    print("kind             files  exit status: count           longest CPU s")
    for name, counts in statuses.items():
        told = ", ".join(f"{status}: {count}" for status, count in sorted(counts.items()))
        print(f"{name:16} {sum(counts.values()):5d}  {told:28} {slowest[name]:9.1f}")
    print(f"{findings} findings")
    return int(findings > 0)


def run(path: Path, output: Path) -> tuple[int, float, str]:
    """Return exit status, time in s, and the violation; empty: none."""
    told, failed = io.StringIO(), io.StringIO()
    began = time.process_time()
    try:
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(failed):
            status = identify([str(path), "--no-pictures", "--output", str(output)])
    except (Exception, SystemExit):
        return -1, time.process_time() - began, traceback.format_exc().strip()[-600:]
    seconds = time.process_time() - began
    sentence = failed.getvalue().strip()
    if status not in ALLOWED:
        return status, seconds, f"exit status {status}"
    if status == 2 and (not sentence or "\n" in sentence or len(sentence) > 1500):
        return status, seconds, f"no sentence: {sentence[:300]!r}"
    return status, seconds, ""


if __name__ == "__main__":
    sys.exit(main())
