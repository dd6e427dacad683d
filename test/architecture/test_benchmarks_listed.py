# SPDX-License-Identifier: Apache-2.0
"""benchmarks/README.md lists each script once, as it describes itself; each one loads."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks"
# What ./diffbot names to Fast DDS.
PROFILE = {"FASTDDS_DEFAULT_PROFILES_FILE": str(ROOT / "config" / "fastdds_local.xml")}
# In a process of their own, as their names are short; prints those that do not load.
LOAD = """
import importlib, pathlib, sys
sys.path[:0] = sys.argv[1:]
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.py")):
    try:
        importlib.import_module(path.stem)
    except (Exception, SystemExit) as error:
        print(f"{path.name}: {type(error).__name__}: {error}")
"""


def first_sentence(file: Path) -> str:
    """First paragraph of a script's docstring, in one line, without its full stop."""
    text = ast.get_docstring(ast.parse(file.read_text())) or ""
    return " ".join(text.split("\n\n")[0].split()).rstrip(".")


def test_each_benchmark_is_listed_once_as_it_describes_itself():
    rows = re.findall(
        r"^\| \[`(\w+\.py)`\]\(\1\) \| (.+) \|$", (FOLDER / "README.md").read_text(), re.M
    )
    listed = {name: text for name, text in rows}
    assert len(listed) == len(rows), "a script is listed twice"
    assert listed == {file.name: first_sentence(file) for file in FOLDER.glob("*.py")}


def test_each_benchmark_loads():
    """Nobody runs all of them after a change: names that are gone would be noticed much later."""
    pytest.importorskip("distributed")
    pytest.importorskip("rclpy")
    words = [sys.executable, "-c", LOAD, str(FOLDER), str(ROOT / "test")]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env={**PROFILE, **os.environ}
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
