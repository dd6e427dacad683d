# SPDX-License-Identifier: Apache-2.0
"""Compiled files that a full disk cut off: modules are compiled anew."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import diffbot_bringup.workspace

SHIELD = Path(diffbot_bringup.workspace.__file__).with_name("whole_bytecode.py")
PROGRAM = (
    "exec(open({shield!r}).read(), {{}})\nimport collections, contextlib, json; print('works')"
)


def python(folder, program):
    """Run a Python without site packages whose compiled files, of all modules, are in a folder."""
    variables = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder)}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.run(
        [sys.executable, "-S", "-c", program], env=variables, capture_output=True, text=True
    )


@pytest.mark.parametrize("size", [0, 10, 16, 100])
def test_modules_of_the_standard_library_may_be_cut_off(tmp_path, size):
    program = PROGRAM.format(shield=str(SHIELD))
    assert python(tmp_path, program).stdout == "works\n"
    damaged = [*tmp_path.rglob("collections/*.pyc"), *tmp_path.rglob("json/*.pyc")]
    damaged += [path for path in tmp_path.rglob("*.pyc") if path.name.startswith("contextlib.")]
    assert len(damaged) > 4
    for path in damaged:
        path.write_bytes(path.read_bytes()[:size])
    for _ in range(2):  # the first one removes them, the second one writes them anew
        run = python(tmp_path, program)
        assert run.stdout == "works\n", run.stderr
    assert all(path.stat().st_size > size for path in damaged)
