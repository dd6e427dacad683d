#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Coverage-guided fuzzing of the parsers of external input.

    ./diffbot python benchmarks/fuzz.py [--parser NAME ...] [--seconds 60]

For any input, the parser must return, or raise ValueError with one clear line, within 5 s and 1 GB.
Anything else is a finding; it is printed with the end of its traceback, and its input is kept. The
engine is libFuzzer through atheris, not part of the set-up (uv is in .diffbot/uv/venv/bin):

    uv pip install --python .diffbot/venv/bin/python --target .diffbot/fuzz/lib atheris

Inputs that reach new code are kept in .diffbot/fuzz/NAME, and the next run starts from them. Exit
status: 0 nothing found, 1 findings, 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from benchmark_tables import options
from fuzz_targets import ROOT, TARGETS, Target

from diffbot_bringup.workspace.packages import find_packages

FOLDER = ROOT / ".diffbot" / "fuzz"
TIMEOUT, MEMORY = 5, 1024  # limits for one input, s and MB
LONGEST = 4096  # bytes of an input, unless a seed is longer
LINE = 1500  # longest message, characters, in addition to what it repeats of a short input


def main() -> int:
    """Run the command."""
    parser = options(__doc__)
    parser.add_argument("--parser", choices=TARGETS, action="append", help="default: all")
    parser.add_argument("--seconds", type=float, default=60.0, help="time for each parser, s")
    parser.add_argument("--child", choices=TARGETS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    sys.path.append(str(FOLDER / "lib"))
    try:
        import atheris  # noqa: F401
    except ImportError:
        uv = ROOT / ".diffbot/uv/venv/bin/uv"
        command = f"{uv} pip install --python {sys.executable} --target {FOLDER / 'lib'} atheris"
        print(f"fuzz: atheris is not installed; install it with: {command}", file=sys.stderr)
        return 2
    if given.child:
        return _child(given.child, given.seconds)
    results = [_run(name, given.seconds) for name in given.parser or TARGETS]
    return int(any(results))


def _run(name: str, seconds: float) -> int:
    """Fuzz one parser in separate processes; return the number of findings."""
    corpus, findings = FOLDER / name, FOLDER / "findings" / name
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(TARGETS[name].seeds()):
        (corpus / f"seed-{number}").write_bytes(seed)
    end, before, runs, cover = time.monotonic() + seconds, set(findings.iterdir()), 0, ""
    while (left := end - time.monotonic()) > 1.0:
        # A hang or too much memory ends a child; the next one continues.
        words = [sys.executable, __file__, "--child", name, "--seconds", str(int(left))]
        result = subprocess.run(words, stderr=subprocess.PIPE, text=True, errors="replace")
        counts = re.findall(r"#(\d+)\s.*cov: (\d+) ft: (\d+)", result.stderr)
        done = re.findall(r"Done (\d+) runs", result.stderr)
        runs += int(done[-1]) if done else int(counts[-1][0]) if counts else 0
        cover = f"{counts[-1][1]} edges, {counts[-1][2]} features" if counts else cover
        if "libFuzzer: timeout" in result.stderr:
            print(f"{name}: HANG of more than {TIMEOUT} s", flush=True)
        if "libFuzzer: out-of-memory" in result.stderr:
            print(f"{name}: MEMORY beyond {MEMORY} MB", flush=True)
        if not counts:
            print(result.stderr[-2000:], file=sys.stderr)
            return 1
    new = sorted(set(findings.iterdir()) - before)
    size = sum(1 for _ in corpus.iterdir())
    print(f"{name}: {runs} runs, {cover}, {size} inputs kept, {len(new)} findings", flush=True)
    for path in new:
        print(f"  {path}")
    return len(new)


def _child(name: str, seconds: float) -> int:
    import atheris

    target = TARGETS[name]
    packages = list(_packages())
    # What this file has imported is imported again, with instruments.
    for module in [each for each in sys.modules if each.partition(".")[0] in packages]:
        del sys.modules[module]
    with atheris.instrument_imports(include=packages):
        _import(target)
    findings = FOLDER / "findings" / name
    file = Path(tempfile.mkdtemp(dir="/dev/shm")) / f"input{target.suffix}"
    known: set[str] = set()
    longest = max(LONGEST, *(len(seed) + 512 for seed in target.seeds()))

    def one(data: bytes) -> None:
        file.write_bytes(data)
        problem = _problem(target, file)
        if problem and (kind := problem.splitlines()[0]) not in known:
            known.add(kind)
            print(f"{name}: {problem}", flush=True)
            (findings / re.sub(r"\W+", "_", kind)[:100]).write_bytes(data)

    words = [
        sys.argv[0], f"-max_total_time={int(seconds)}", f"-timeout={TIMEOUT}",
        f"-rss_limit_mb={MEMORY}", f"-artifact_prefix={findings}/", f"-max_len={longest}",
        f"-dict={_dictionary(name, target)}", "-print_final_stats=1", str(FOLDER / name),
    ]  # fmt: skip
    atheris.Setup(words, one)
    atheris.Fuzz()
    return 0


def _problem(target: Target, file: Path) -> str:
    """Return the violation in the parser's response to an input; empty: none."""
    try:
        target.read(file)
    except target.documented as error:
        text = str(error)
        limit = LINE + 5 * file.stat().st_size  # it may repeat its input, escaped
        if type(error).__module__ == "builtins" and type(error) is not ValueError:
            return _where(error)  # UnicodeDecodeError and such do not name the file
        if not text.strip() or "\n" in text or len(text) > limit:
            return f"unclear message, {_where(error)}\n    {text[:300]!r}"
    except Exception as error:
        return _where(error)
    return ""


def _where(error: Exception) -> str:
    """Return the kind of the error and the last line of the suite in its traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "/diffbot_" in f.filename or "/pose2d_" in f.filename]
    last = (own or frames)[-1]
    place = f"{os.path.basename(last.filename)}:{last.lineno}"
    return f"{type(error).__name__} in {place}\n    {str(error)[:300]}"


def _packages() -> set[str]:
    """Return the packages whose coverage guides the fuzzing: the suite and its Python parsers."""
    suite = {package.name for package in find_packages(ROOT)}
    return suite | {"yaml", "rosbags", "fuzz_targets"}


def _import(target: Target) -> None:
    """Load the parser's imports by reading a seed once."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"seed{target.suffix}"
        for seed in target.seeds():
            file.write_bytes(seed)
            _problem(target, file)


def _dictionary(name: str, target: Target) -> Path:
    """Write a dictionary of the seeds' words, which random mutation hardly finds."""
    extra = [b"&a ", b"*a", b"<<: *a", b"!!int ", b"!!float ", b".nan", b".inf", b"1e400", b"[[[["]
    results = {word for seed in target.seeds() for word in re.findall(rb"[\w./:$%-]{2,30}", seed)}
    quoted = [
        '"' + "".join(f"\\x{byte:02x}" for byte in word) + '"'
        for word in [*extra, *sorted(results)]
    ]
    path = FOLDER / f"{name}.dict"
    path.write_text("\n".join(quoted[:400]) + "\n")
    return path


if __name__ == "__main__":
    sys.exit(main())
