# SPDX-License-Identifier: Apache-2.0
"""What the machine refuses becomes a sentence; other errors stay what they are."""

import errno
import os
import subprocess
import sys

import pytest

from diffbot_description.terminal_text import refusal_of_machine


def test_files_are_named_with_the_reason():
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/a/b")
    assert refusal_of_machine(full) == "/a/b: No space left on device"
    assert refusal_of_machine(OSError("b was not written")) == "b was not written"


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        ImportError("x.so: failed to map segment from shared object"),
        ImportError("many lines\nOriginal error was: libx.so: cannot allocate memory in TLS"),
    ],
)
def test_too_little_memory_is_said(error):
    assert "not enough memory" in refusal_of_machine(error)


def test_errors_of_a_program_are_none_of_the_machine():
    for error in (ImportError("No module named 'x'"), RuntimeError("no"), ValueError("memory")):
        assert refusal_of_machine(error) is None
    assert "thread" in refusal_of_machine(RuntimeError("can't start new thread"))


def test_a_library_that_gets_no_memory_says_what_is_looked_for():
    """The words of this machine's loader."""
    text = """
import resource, sys
from diffbot_description.terminal_text import refusal_of_machine
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 3_000_000,) * 2)
try:
    import numpy
except BaseException as error:
    sys.exit(refusal_of_machine(error))
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("not enough memory"), done.stderr
