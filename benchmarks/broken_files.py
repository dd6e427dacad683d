#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Broken and hostile files: one sentence, no traceback, no code runs, at most 10 s and 500 MB each.

    ./diffbot python benchmarks/broken_files.py [--files 200] [--hostile 500] [--seed 1000]

Tables, SysId logs and bags are broken at random (made_recordings.broken_files) and given to
`identify`. Hostile files of every kind that the suite reads (made_recordings.hostile_files) are
given to the command that reads them, each in a process of its own. Prints a row for each kind:
the number of runs per exit status, the longest processor time, the largest memory, how many answers
name a limit, and violations; exit status 1 if there are any.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmark_tables import options
from made_recordings.broken_files import broken, whole_files
from made_recordings.hostile_files import CANARY, MAKERS, make

import diffbot_bringup.cli as bringup
import diffbot_description.describe_command as describe
import diffbot_description.robot_urdf as robot_urdf
import diffbot_export.command as export

# Loaded once, not in each run.
from diffbot_bringup.commands import launch as _launch  # noqa: F401
from diffbot_recordings import identify as recording
from diffbot_recordings.identify import main as identify
from diffbot_report import progress

LONGEST, LARGEST = 10.0, 500.0  # s, MB
LONGEST_SENTENCE = 1700
# Names of the hostile files.
NAMES = re.compile(r"hostile|shapes\.urdf|m\.(dae|obj|stl)")
ALLOWED = {0, 1, 2, 3}
COMMANDS = {
    "describe": describe.main,
    "robot_urdf": robot_urdf.main,
    "identify": recording.main,
    "export": export.main,
    "launch": lambda words: bringup.main(["launch", *words]),
}


def main() -> int:
    """Break files, make hostile ones, and print what the commands do."""
    parser = options(__doc__)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--hostile", type=int, default=500)
    parser.add_argument("--first", type=int, default=0, help="number of the first hostile file")
    parser.add_argument("--seed", type=int, default=1000)
    arguments = parser.parse_args()
    findings = _hostile(arguments.first, arguments.hostile, arguments.seed)
    findings += _broken(arguments.files, arguments.seed)
    print(f"{findings} findings")
    return int(findings > 0)


def _broken(files: int, seed: int) -> int:
    """Give broken files to `identify`; return the number of violations."""
    statuses: dict[str, Counter[int]] = defaultdict(Counter)
    slowest: dict[str, float] = defaultdict(float)
    findings = 0
    with tempfile.TemporaryDirectory() as scratch:
        kinds = list(whole_files(Path(scratch)).items())
        for number in range(files):
            name, whole = kinds[number % len(kinds)]
            rng = np.random.default_rng((seed, number))
            path = Path(scratch) / f"broken{whole.suffix}"
            path.write_bytes(broken(whole.read_bytes(), rng))
            status, seconds, problem = run(path, Path(scratch) / f"out{number}")
            statuses[name][status] += 1
            slowest[name] = max(slowest[name], seconds)
            if problem or seconds > LONGEST:
                findings += 1
                print(f"{name}, file {number}: {problem or f'{seconds:.1f} s'}")
    print("kind             files  exit status: count           longest CPU s")
    for name, counts in statuses.items():
        reported = ", ".join(f"{status}: {count}" for status, count in sorted(counts.items()))
        print(f"{name:16} {sum(counts.values()):5d}  {reported:28} {slowest[name]:9.1f}")
    return findings


@dataclass(frozen=True)
class Run:
    """What a command did with a hostile file.

    Attributes:
        status: Its exit status; negative: the signal that ended it.
        seconds: Processor time, with that of the processes it started, s.
        memory: Largest resident memory of one process, MB.
        said: What it printed to standard error.
        printed: What it printed to standard output.
    """

    status: int
    seconds: float
    memory: float
    said: str
    printed: str

    def problem(self, folder: Path) -> str:
        """Return the violation; empty: none."""
        shown = {c for c in self.said + self.printed if c != "\n"}
        if (folder / CANARY).exists():
            return "CODE RAN"
        if self.status not in ALLOWED or "Traceback" in self.said:
            return f"exit status {self.status}: {self.said.strip()[-600:]}"
        if any(unicodedata.category(character) == "Cc" for character in shown):
            return f"control characters: {self.said + self.printed!r:.300}"
        if self.seconds > LONGEST or self.memory > LARGEST:
            return f"{self.seconds:.1f} s, {self.memory:.0f} MB: {self.said.strip()[:200]}"
        sentence = self.said.strip()
        if self.status == 2 and (not sentence or "\n" in sentence):
            return f"no sentence: {sentence[:300]!r}"
        if self.status == 2 and (len(sentence) > LONGEST_SENTENCE or not NAMES.search(sentence)):
            return f"does not name the file, or is too long: {sentence[:300]!r}"
        return ""


def _hostile(first: int, files: int, seed: int) -> int:
    """Give hostile files to the commands that read them; return the number of violations."""
    runs: dict[str, list[Run]] = defaultdict(list)
    findings = 0
    for number in range(first, first + files):
        name = MAKERS[number % len(MAKERS)].__name__
        with tempfile.TemporaryDirectory(prefix="hostile-") as place:
            folder = Path(place)
            words = _alone(lambda: make(number, seed, folder), folder / "words")  # noqa: B023
            hostile = run_hostile(words.split("\0"), folder)
            runs[name].append(hostile)
            if problem := hostile.problem(folder):
                findings += 1
                print(f"{name}, file {number}: {problem}", flush=True)
    print("kind             files  exit status: count    CPU s  memory MB  name a limit")
    for name, each in runs.items():
        counts = sorted(Counter(run.status for run in each).items())
        reported = ", ".join(f"{status}: {count}" for status, count in counts)
        limits = sum("limit" in run.said + run.printed for run in each)
        seconds, memory = max(run.seconds for run in each), max(run.memory for run in each)
        print(f"{name:16} {len(each):5d}  {reported:20} {seconds:6.1f} {memory:10.0f} {limits:13d}")
    return findings


def _alone(make_words: object, target: Path) -> str:
    """Call a function that returns words in a process of its own, whose memory ends with it."""
    child = os.fork()
    if child == 0:
        target.write_text("\0".join(make_words()), encoding="utf-8")  # type: ignore[operator]
        os._exit(0)
    os.waitpid(child, 0)
    words = target.read_text(encoding="utf-8")
    target.unlink()
    return words


def run_hostile(words: Sequence[str], folder: Path) -> Run:
    """Run a command in a process of its own; return what it did."""
    outputs = [folder / name for name in ("said", "printed")]
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        for descriptor, path in zip((2, 1), outputs, strict=True):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), descriptor)
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))  # for this computer's sake
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
        signal.alarm(600)
        progress.PATIENCE = 1e6  # no lines of progress between the sentences
        status = 99
        try:
            status = COMMANDS[words[0]](list(words[1:]))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    _, ended, used = os.wait4(child, 0)
    said, printed = (path.read_text(encoding="utf-8", errors="replace") for path in outputs)
    status = os.waitstatus_to_exitcode(ended)
    return Run(status, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000.0, said, printed)


def run(path: Path, output: Path) -> tuple[int, float, str]:
    """Return exit status, time in s, and the violation; empty: none."""
    reported, failed = io.StringIO(), io.StringIO()
    began = time.process_time()
    try:
        with contextlib.redirect_stdout(reported), contextlib.redirect_stderr(failed):
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
